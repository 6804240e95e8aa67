// Opens an environment of a server, whatever its family.

import { z } from 'zod';
import type {
  Environment,
  EnvSnapshot,
  ResetOptions,
  ResetResult,
  RestoreOptions,
  Space,
  StepResult,
  TextSpace,
  ToolsSpace,
  VectorSpace,
} from '../../core/environment.js';
import { describeIssues, ReverieError, reverieError } from '../../core/errors.js';
import { type Asked, parsedJson, ServerHttp, SessionLost } from '../servers/server-http.js';
import type { Message } from '../tools/message.js';
import type { ToolsAction, ToolsObservation } from '../tools/tools-family.js';
import {
  type Codec,
  ConversationCodec,
  cardsSchema,
  type RemoteCard,
  type RemoteTask,
  rowCodec,
  sessionSchema,
  snapshotSchema,
  startSchema,
  stepSchema,
  tasksSchema,
  textCodec,
  type WireTurn,
} from './wire.js';

export interface RemoteOptions {
  /** Sent where the server asks for one; by default the password in the URL, or the variable REVERIE_TOKEN. */
  readonly token?: string;
  /** Until an answer is given up; the server itself gives up on a step after 55 s unless it was told otherwise. */
  readonly timeoutSeconds?: number;
  /** Name of the environment; the server's default one unless given. */
  readonly environment?: string;
}

/** Milliseconds between signs of life: a learner may think for longer than a server keeps an idle session. */
const TOUCH_MS = 60_000;

class RemoteEnvironment<Obs, Act> implements Environment<Obs, Act> {
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
    /** All that the server reports of it. */
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
   * it is not known whether the step was taken: the episode is lost, and `reset` or `restore` begins another.
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

  /** Of tools: the whole conversation so far. */
  get messages(): readonly Message[] {
    return this.codec.messages ?? [];
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

  /** Asks the session under an id of its own. What the server refused changed nothing; after any other failure it is not known. */
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
      throw this.connection.invalid('a turn', turn.observation, problem);
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

/** Numbers: a `VectorEnvironment`, without known functions. */
export type RemoteVectorEnvironment = Of<'vector', VectorSpace, Float32Array, Float32Array>;

/** Lines of text, of a game or of a screen. */
type RemoteTextEnvironment = Of<'text' | 'screen', TextSpace, string, string>;

/** Tools: domain and typed state stay on the server. */
export type RemoteToolsEnvironment = Of<'tools', ToolsSpace, ToolsObservation, ToolsAction>;

type Of<Family, Kind, Obs, Act> = RemoteEnvironment<Obs, Act> & {
  readonly family: Family;
  readonly observationSpace: Kind;
  readonly actionSpace: Kind;
};

export type AnyRemoteEnvironment = RemoteVectorEnvironment | RemoteTextEnvironment | RemoteToolsEnvironment;

/**
 * An environment that `reverie serve` serves at `url`, as one of this process. Close it: it holds a session there.
 * @throws REMOTE_URL_INVALID, SERVER_UNREACHABLE, REMOTE_TIMEOUT, REMOTE_REFUSED, SERVER_FAULT, ENV_NOT_SERVED
 */
export async function openRemote(url: string, options: RemoteOptions = {}): Promise<AnyRemoteEnvironment> {
  const connection = new RemoteConnection(url, options);
  try {
    const card = await cardOf(connection, options.environment);
    return new RemoteEnvironment(connection, card, codecOf(card)) as unknown as AnyRemoteEnvironment;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function cardOf(connection: RemoteConnection, name?: string): Promise<RemoteCard> {
  const { environments } = await connection.get('/v1/environments', cardsSchema);
  const found =
    name === undefined
      ? (environments.find((card) => card.isDefault) ?? environments[0])
      : environments.find((card) => card.name === name);
  if (found !== undefined) return found;
  throw reverieError('ENV_NOT_SERVED', { env: name, known: environments.map((card) => card.name).join(', ') });
}

/** By family; worlds of lines and of screens take one line of text. */
const CODECS: Readonly<Record<string, (card: RemoteCard) => unknown>> = {
  vector: ({ observationSpace, actionSpace }) => rowCodec(observationSpace as VectorSpace, actionSpace as VectorSpace),
  tools: ({ actionSpace }) => new ConversationCodec(actionSpace as ToolsSpace),
};

function codecOf(card: RemoteCard): Codec<unknown, unknown> {
  const make = CODECS[card.family] ?? (({ actionSpace }) => textCodec(actionSpace as TextSpace));
  return make(card) as Codec<unknown, unknown>;
}

const TIMEOUT_SECONDS = 70;
const TRIES = 4;
const FIRST_PAUSE_MS = 100;
const GONE = ['SESSION_UNKNOWN', 'SESSION_GONE'];

/** One server of environments. What got no answer is sent again: every request here changes nothing, or carries an id by which it counts once. */
class RemoteConnection {
  private readonly http: ServerHttp;

  /** @throws REMOTE_URL_INVALID */
  constructor(url: string, { token, timeoutSeconds = TIMEOUT_SECONDS }: RemoteOptions = {}) {
    if (!url.includes('://')) throw reverieError('REMOTE_URL_INVALID', { url });
    this.http = new ServerHttp('Reverie', url, timeoutSeconds, token);
  }

  /** @throws SERVER_UNREACHABLE, REMOTE_TIMEOUT, REMOTE_REFUSED, SERVER_FAULT; what `signal` is aborted with */
  async get<T>(path: string, schema: z.ZodType<T>): Promise<T> {
    return this.http.read(`GET ${path}`, await this.answer('GET', path), schema);
  }

  /** @throws as `get` */
  async post<T>(path: string, body: unknown, schema: z.ZodType<T>, signal?: AbortSignal): Promise<T> {
    return this.http.read(`POST ${path}`, await this.answer('POST', path, body, signal), schema);
  }

  /** For answers that have no body. @throws as `get` */
  async tell(method: 'POST' | 'DELETE', path: string): Promise<void> {
    await this.answer(method, path);
  }

  close(): Promise<void> {
    return this.http.close();
  }

  /** The error for an answer that is none of this API. */
  invalid(what: string, value: unknown, problem: string): Error {
    return this.http.invalid(what, JSON.stringify(value) ?? String(value), problem);
  }

  /** The body of an answer of success. */
  private async answer(method: Asked['method'], path: string, body?: unknown, signal?: AbortSignal): Promise<string> {
    const { status, text } = await this.exchanged(path, { method, body, signal });
    if (status >= 200 && status < 300) return text;
    const what = `${method} ${path}`;
    const { error } = (parsedJson(text) ?? {}) as { error?: { code?: unknown; message?: unknown; hint?: unknown } };
    if (typeof error?.code !== 'string')
      throw this.http.invalid(what, text, `status ${status}, and no error of this API`);
    const { code, message: problem, hint } = error;
    throw reverieError('REMOTE_REFUSED', { url: this.http.url, what, code, problem, hint: hint ?? '' });
  }

  private async exchanged(path: string, asked: Asked): Promise<{ status: number; text: string }> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.http.exchange(path, asked);
      } catch (error) {
        if (!(error instanceof SessionLost)) throw error;
        if (attempt === TRIES) throw error.cause;
      }
      await new Promise((resolve) => setTimeout(resolve, FIRST_PAUSE_MS * 2 ** (attempt - 1)));
    }
  }
}

/** Whether the server refused because it no longer knows the session. */
function isSessionGone(error: unknown): boolean {
  if (!(error instanceof ReverieError)) return false;
  return error.code === 'REMOTE_REFUSED' && GONE.includes(String(error.values['code']));
}
