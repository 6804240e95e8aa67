// An environment that lives on a server: the same contract, each verb one request. A request that got no answer is sent again
// under the same id, so a lost answer is not a second step.

import { z } from 'zod';
import type {
  Environment,
  EnvSnapshot,
  ResetOptions,
  ResetResult,
  RestoreOptions,
  Space,
  StepResult,
} from '../../core/environment.js';
import { describeIssues, reverieError } from '../../core/errors.js';
import type { Codec } from './codecs.js';
import { isSessionGone, type RemoteConnection } from './remote-connection.js';
import {
  type RemoteCard,
  type RemoteTask,
  sessionSchema,
  snapshotSchema,
  startSchema,
  stepSchema,
  tasksSchema,
  type WireTurn,
} from './wire-schemas.js';

/** Milliseconds between signs of life: a learner may think for longer than a server keeps an idle session. */
const TOUCH_MS = 60_000;

export class RemoteEnvironment<Obs, Act> implements Environment<Obs, Act> {
  readonly id: string;
  readonly family: RemoteCard['family'];
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly maxEpisodeSteps?: number;
  private session: string | undefined;
  private requests = 0;
  private phase: 'fresh' | 'running' | 'ended' | 'lost' = 'fresh';
  private busy = false;
  private closed = false;
  private readonly touching: NodeJS.Timeout;

  constructor(
    private readonly connection: RemoteConnection,
    /** All that the server tells of it. */
    readonly card: RemoteCard,
    private readonly codec: Codec<Obs, Act>,
  ) {
    this.id = card.name;
    this.family = card.family;
    this.observationSpace = card.observationSpace;
    this.actionSpace = card.actionSpace;
    if (card.maxEpisodeSteps !== undefined) this.maxEpisodeSteps = card.maxEpisodeSteps;
    this.touching = setInterval(() => this.touch(), TOUCH_MS);
    this.touching.unref();
  }

  /**
   * Starts an episode. A session that the server closed is opened anew where a seed is given; without one its stream is lost.
   * @throws ENV_CLOSED, ENV_BUSY, SERVER_UNREACHABLE, REMOTE_TIMEOUT, REMOTE_REFUSED, SERVER_FAULT
   */
  reset(options: ResetOptions = {}, signal?: AbortSignal): Promise<ResetResult<Obs>> {
    return this.alone(async () => {
      this.session ??= await this.opened();
      const turn = await this.started(options, signal);
      this.phase = 'running';
      return { observation: this.seen(turn), info: this.codec.infoOf(turn.info) };
    });
  }

  /**
   * The reward is 0 where an episode ended that could not be judged, as `info.verdict` then says. Where no answer came at all
   * nobody knows whether the step was taken: the episode is lost, and `reset` or `restore` begins another.
   * @throws ENV_NOT_RESET, ACTION_OUT_OF_SPACE, and as `reset`
   */
  step(action: Act, signal?: AbortSignal): Promise<StepResult<Obs>> {
    return this.alone(async () => {
      if (this.phase !== 'running') throw reverieError('ENV_NOT_RESET', { id: this.id });
      const turn = await this.asked('step', { action: this.codec.encode(action) }, stepSchema, signal);
      const { reward, terminated, truncated, info } = turn;
      const observation = this.seen(turn, action);
      if (terminated || truncated) this.phase = 'ended';
      return { observation, reward: reward ?? 0, terminated, truncated, info: this.codec.infoOf(info) };
    });
  }

  /** The server keeps the state, under an id that the snapshot holds; it keeps the latest of each token. @throws as `step` */
  snapshot(): Promise<EnvSnapshot> {
    return this.alone(async () => {
      if (this.phase === 'fresh' || this.phase === 'lost') throw reverieError('ENV_NOT_RESET', { id: this.id });
      const { id } = await this.asked('snapshot', {}, snapshotSchema);
      return { env: this.id, state: { snapshot: id, memory: this.codec.memory?.save() ?? null } };
    });
  }

  /** @throws SNAPSHOT_MISMATCH if it is of another environment, and as `reset` */
  restore(snapshot: EnvSnapshot, { seed }: RestoreOptions = {}): Promise<Obs> {
    return this.alone(async () => {
      const form = z.object({ snapshot: z.string(), memory: this.codec.memory?.form ?? z.null() });
      const saved = form.safeParse(snapshot.state);
      if (snapshot.env !== this.id || !saved.success) {
        throw reverieError('SNAPSHOT_MISMATCH', { from: snapshot.env, into: this.id });
      }
      this.session ??= await this.opened();
      const turn = await this.asked('restore', { snapshot: saved.data.snapshot, seed }, startSchema);
      const observation = this.seen(turn);
      this.codec.memory?.load(saved.data.memory);
      this.phase = turn.terminated || turn.truncated ? 'ended' : 'running';
      return observation;
    });
  }

  /** Tasks of a split, such as `train`: never how one is checked or solved. @throws as `reset` */
  async tasks(split: string): Promise<readonly RemoteTask[]> {
    const path = `/v1/environments/${encodeURIComponent(this.id)}/tasks?split=${encodeURIComponent(split)}`;
    return (await this.connection.get(path, tasksSchema)).tasks;
  }

  /** Ends the session; a server that is gone, or has ended it, is fine. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    clearInterval(this.touching);
    if (this.session !== undefined) await this.connection.tell('DELETE', this.path('')).catch(() => undefined);
    await this.connection.close();
  }

  private async started(options: ResetOptions, signal?: AbortSignal): Promise<WireTurn> {
    const { seed, task } = options;
    try {
      return await this.asked('reset', { seed, task }, startSchema, signal);
    } catch (error) {
      if (seed === undefined || !isSessionGone(error)) throw error;
      this.session = await this.opened();
      return this.asked('reset', { seed, task }, startSchema, signal);
    }
  }

  /** A session whose opening was not answered is opened twice: it holds no slot, and the server closes it as idle. */
  private async opened(): Promise<string> {
    return (await this.connection.post('/v1/sessions', { env: this.id }, sessionSchema)).id;
  }

  /** Asks the session under an id of its own. What the server refused changed nothing; after any other failure nobody knows. */
  private async asked<T>(verb: string, body: object, schema: z.ZodType<T>, signal?: AbortSignal): Promise<T> {
    const { phase } = this;
    this.phase = 'lost';
    const request = { ...body, request_id: String(++this.requests) };
    try {
      const answer = await this.connection.post(this.path(`/${verb}`), request, schema, signal);
      this.phase = phase;
      return answer;
    } catch (error) {
      if ((error as { code?: string }).code === 'REMOTE_REFUSED' && !isSessionGone(error)) this.phase = phase;
      throw error;
    }
  }

  private seen(turn: WireTurn, action?: Act): Obs {
    try {
      return this.codec.decode(turn.observation, action);
    } catch (error) {
      this.phase = 'lost';
      const problem = `observation: ${describeIssues(error as z.ZodError)}`;
      throw reverieError(
        'SERVER_FAULT',
        {
          problem: `What the server at ${this.connection.url} answered to a turn is not understood: ${problem}.`,
          hint: 'Check that it is reverie serve of this version, and that nothing between changes answers; docs/native-api.md has their form.',
        },
        error,
      );
    }
  }

  private path(verb: string): string {
    return `/v1/sessions/${encodeURIComponent(this.session!)}${verb}`;
  }

  /** Its failure is told by the request that comes next. */
  private touch(): void {
    if (this.session !== undefined) this.connection.tell('POST', this.path('/touch')).catch(() => undefined);
  }

  private async alone<R>(work: () => Promise<R>): Promise<R> {
    if (this.closed) throw reverieError('ENV_CLOSED', { id: this.id });
    if (this.busy) throw reverieError('ENV_BUSY', { id: this.id });
    this.busy = true;
    try {
      return await work();
    } finally {
      this.busy = false;
    }
  }
}
