// An environment of numbers on a server of OpenEnv: one connection, asked again after it broke. An episode that was under way is lived
// again there, from its seed; OpenEnv cannot begin a stream anew in mid-episode, so a fork goes on with the episode's own.

import { z } from 'zod';
import type { JsonObject } from '../../../core/canonical-json.js';
import { reverieError } from '../../../core/errors.js';
import {
  type Answer,
  type Failed,
  type Moved,
  type Place,
  type PlaceFaults,
  PlaceLost,
  type Request,
} from '../../replayed/place.js';
import { ReplayedEnvironment } from '../../replayed/replayed-environment.js';
import { rewardSchema, ServerHttp } from '../server-http.js';
import { type NumberActions, numberActions, observedNumbers, observedSpace } from './number-spaces.js';
import { type Frame, OpenEnvSocket } from './socket.js';

export interface NumberSpec {
  readonly url: string;
  readonly timeoutSeconds: number;
  /** How long a server that is gone is asked again. */
  readonly patienceSeconds: number;
  /** Steps before an episode is cut off here; null or undefined: never. */
  readonly maxEpisodeSteps?: number | null;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2000;
const object = z.record(z.string(), z.json());
const schemasSchema = z.looseObject({ action: object, observation: object });
const turnSchema = z.looseObject({ observation: object, reward: rewardSchema, done: z.boolean().nullish() });

/** @throws SERVER_UNREACHABLE, REMOTE_TIMEOUT, SERVER_FAULT, SERVER_FAULT: also where it is none of numbers */
export async function openNumbers(spec: NumberSpec): Promise<ReplayedEnvironment> {
  const http = new ServerHttp('OpenEnv', spec.url.replace(/^ws/, 'http'), spec.timeoutSeconds);
  try {
    const { action, observation } = await http.json('/schema', schemasSchema);
    const actions = numberActions(action as JsonObject);
    if (typeof actions === 'string') throw http.invalid('GET /schema', JSON.stringify(action), actions);
    const place = new NumberPlace(http, spec, actions);
    await place.begin(observation as JsonObject);
    const { maxEpisodeSteps = null } = spec;
    const configuration = JSON.stringify({ url: http.url, action, observation, maxEpisodeSteps });
    return new ReplayedEnvironment({ id: `openenv:${http.url}`, configuration }, place);
  } catch (error) {
    await http.close();
    // Nobody answers at all.
    throw (error as Error).name === 'ReverieError' ? error : ((error as Error).cause ?? error);
  }
}

class NumberPlace implements Place {
  spaces!: Place['spaces'];
  readonly faults: PlaceFaults;
  private lives = 1;
  private socket: OpenEnvSocket | undefined;
  private steps = 0;

  constructor(
    private readonly http: ServerHttp,
    private readonly spec: NumberSpec,
    private readonly actions: NumberActions,
  ) {
    const { protocol, url } = http;
    const lost = (calls: number, problem: string, cause?: unknown) =>
      reverieError('EPISODE_LOST', { protocol, url, calls, problem }, cause);
    this.faults = {
      failed: (what, problem) => http.refused(what, problem),
      died: (times, problem, cause) => lost(this.steps, `${times} connections in a row broke: ${problem}`, cause),
      otherwise: (seed, steps) => lost(steps, `seed ${seed} and the same actions came out elsewhere.`),
    };
  }

  /** An episode that only shows what observations look like. */
  async begin(schema: JsonObject): Promise<void> {
    const { observation } = this.turnOf('reset', await this.begun(0));
    const space = observedSpace(schema, this.numbersOf(observation));
    const { maxEpisodeSteps = null } = this.spec;
    this.spaces = { observation: space, action: this.actions.space, maxEpisodeSteps };
  }

  generation(): number {
    return this.lives;
  }

  async ask(request: Request): Promise<Answer> {
    switch (request.verb) {
      case 'reset':
        return this.reset(request.seed);
      case 'step':
        return this.step(request.action);
      case 'replay':
        return this.replay(request.lived.seed, request.lived.actions);
      case 'close':
        return undefined;
    }
  }

  pid(): undefined {
    return undefined;
  }

  close(): void {
    void this.socket?.close();
    void this.http.close();
  }

  private async reset(seed: number): Promise<Answer> {
    this.steps = 0;
    const frame = await this.begun(seed);
    return frame.type === 'error' ? failureIn(frame) : this.movedBy('reset', frame);
  }

  /** As soon as the server has a place: it tells only when it is asked for an episode that it has none. */
  private async begun(seed: number): Promise<Frame> {
    const until = performance.now() + this.spec.patienceSeconds * 1000;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      const frame = await this.answered({ type: 'reset', data: { seed } });
      const isFull = frame.type === 'error' && failureIn(frame).failed.type === 'CAPACITY_REACHED';
      if (!isFull || performance.now() > until) return frame;
      this.socket?.drop();
      this.socket = undefined;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  private async step(row: Float32Array): Promise<Answer> {
    const frame = await this.answered({ type: 'step', data: this.actions.encode(row) });
    if (frame.type === 'error') return failureIn(frame);
    this.steps++;
    return this.movedBy(`step ${this.steps}`, frame);
  }

  private async replay(seed: number, actions: readonly Float32Array[]): Promise<Answer> {
    let moved: Answer = await this.reset(seed);
    for (const row of actions) {
      if (moved === undefined || 'failed' in moved || moved.terminated) break;
      moved = await this.step(row);
    }
    return moved;
  }

  private movedBy(what: string, frame: Frame): Moved {
    const { observation, reward, done } = this.turnOf(what, frame);
    const isOver = this.steps > 0 && this.steps >= (this.spec.maxEpisodeSteps ?? Number.POSITIVE_INFINITY);
    const isCut = observation['ended'] === 'truncated';
    return {
      observation: Float32Array.from(this.numbersOf(observation)),
      reward: reward ?? 0,
      terminated: done === true && !isCut,
      truncated: (done === true && isCut) || (done !== true && isOver),
      steps: this.steps,
      info: {},
    };
  }

  /** @throws SERVER_FAULT for one of another length, too */
  private numbersOf(observation: JsonObject): number[] {
    const numbers = observedNumbers(observation);
    const invalid = (problem: string) => this.http.invalid('an observation', JSON.stringify(observation), problem);
    if (typeof numbers === 'string') throw invalid(numbers);
    const size = (this.spaces as Place['spaces'] | undefined)?.observation;
    const expected = size?.type === 'box' ? size.low.length : numbers.length;
    if (numbers.length !== expected) throw invalid(`${numbers.length} numbers, and not ${expected} as at first`);
    return numbers;
  }

  private turnOf(what: string, { type, data }: Frame): z.output<typeof turnSchema> {
    if (type !== 'observation') {
      throw this.http.invalid(what, JSON.stringify({ type, data }) ?? '', 'it is no frame of type "observation"');
    }
    return this.http.checked(what, data, turnSchema);
  }

  /** @throws PlaceLost, REMOTE_TIMEOUT, SERVER_FAULT */
  private async answered(frame: object): Promise<Frame> {
    const what = JSON.stringify(frame).slice(0, 120);
    this.socket ??= await this.connected();
    const answer = await this.socket.ask(frame, this.spec.timeoutSeconds);
    if (answer === 'late') {
      this.forget();
      throw this.http.late(what);
    }
    if (answer === undefined) {
      this.forget();
      throw new PlaceLost(`the connection was closed upon ${what}`);
    }
    if (answer.garbled !== undefined) throw this.http.invalid(what, answer.garbled, 'it is no JSON');
    return answer;
  }

  private forget(): void {
    this.socket?.drop();
    this.socket = undefined;
    this.lives++;
  }

  /** As soon as the server is there, or has a place. @throws SERVER_UNREACHABLE once patience is over */
  private async connected(): Promise<OpenEnvSocket> {
    const { url, headers, timeoutSeconds } = this.http;
    const until = performance.now() + this.spec.patienceSeconds * 1000;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        return await OpenEnvSocket.connect(`${url.replace(/^http/, 'ws')}/ws`, headers, timeoutSeconds);
      } catch (error) {
        if (performance.now() > until) throw this.http.unreachable((error as Error).message);
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

function failureIn({ data }: Frame): Failed {
  const { message = 'it failed', code = 'error' } = (data ?? {}) as { message?: string; code?: string };
  return { failed: { type: code, message } };
}
