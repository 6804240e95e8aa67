// Actions and observations of a server of OpenEnv as rows of numbers: which servers have them, and how a row is written there.

import { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import type { BoxSpace, VectorSpace } from '../../core/spaces.js';
import {
  type Answer,
  type Failed,
  type Moved,
  type Place,
  type PlaceFaults,
  PlaceLost,
  ReplayedEnvironment,
  type Request,
} from '../replayed/replayed-environment.js';
import { type Frame, OpenEnvSocket } from './openenv/socket.js';
import { rewardSchema, ServerHttp } from './server-http.js';

/** How an action of numbers is sent. */
export interface NumberActions {
  readonly space: VectorSpace;
  encode(row: Float32Array): JsonObject;
}

/** Keys of every observation that are not what is seen. */
const BESIDE = ['done', 'reward', 'metadata', 'ended', 'evaluation', 'instructions'];

/** Actions with one field, a list of numbers or one of several integers; else why they are no numbers. */
export function numberActions(schema: JsonObject): NumberActions | string {
  const { metadata: _, ...own } = (schema['properties'] ?? {}) as Record<string, JsonObject>;
  const [[key, field] = [], ...others] = Object.entries(own);
  if (key === undefined || field === undefined || others.length > 0) {
    return `actions have the fields ${Object.keys(own).join(', ') || 'none'}, and not one alone`;
  }
  if (field['type'] === 'array') {
    const space = boxOf(field);
    if (space === undefined) return `"${key}" is a list whose length its schema does not tell`;
    return { space, encode: (row) => ({ [key]: Array.from(row) }) };
  }
  const space = choiceOf(field);
  if (space === undefined) return `"${key}" is neither a list of numbers nor an integer within bounds`;
  return { space, encode: ([choice]) => ({ [key]: choice }) };
}

/** The space of observations that look like this one: bounds where the schema tells them for its one list. */
export function observedSpace(schema: JsonObject, first: readonly number[]): BoxSpace {
  const fields = Object.entries((schema['properties'] ?? {}) as Record<string, JsonObject>);
  const seen = fields.filter(([key]) => !BESIDE.includes(key));
  const told = seen.length === 1 ? boxOf(seen[0][1]) : undefined;
  if (told !== undefined && told.low.length === first.length) return told;
  return { type: 'box', shape: [first.length], low: first.map(() => null), high: first.map(() => null) };
}

/** All numbers of an observation, in the order of its keys; truth values count as 0 and 1. Else what is no number. */
export function observedNumbers(observation: JsonObject): number[] | string {
  const numbers: number[] = [];
  for (const [key, value] of Object.entries(observation)) {
    if (BESIDE.includes(key) || value === null) continue;
    const stray = numbersIn(value, numbers);
    if (stray !== undefined) return `"${key}" holds ${JSON.stringify(stray).slice(0, 80)}`;
  }
  return numbers.length === 0 ? 'it holds no number at all' : numbers;
}

/** Adds them to `found`; answers what is none. */
function numbersIn(value: Json, found: number[]): Json | undefined {
  if (typeof value === 'number') found.push(value);
  else if (typeof value === 'boolean') found.push(value ? 1 : 0);
  else if (Array.isArray(value) || isJsonObject(value)) {
    for (const part of Object.values(value)) {
      const stray = numbersIn(part as Json, found);
      if (stray !== undefined) return stray;
    }
  } else return value;
  return undefined;
}

/** Bounds an element (`low`, `high`) are those of our own servers; JSON Schema has one for all. */
function boxOf(field: JsonObject): BoxSpace | undefined {
  const { items, minItems, maxItems, low, high, shape } = field;
  const { minimum = null, maximum = null } = (items ?? {}) as Record<string, number | null>;
  const lows = low as readonly (number | null)[] | undefined;
  const size = lows?.length ?? (minItems === maxItems && typeof minItems === 'number' ? minItems : undefined);
  if (size === undefined) return undefined;
  const filled = (bound: number | null) => Array.from({ length: size }, () => bound);
  return {
    type: 'box',
    shape: (shape as readonly number[] | undefined) ?? [size],
    low: lows ?? filled(minimum),
    high: (high as readonly (number | null)[] | undefined) ?? filled(maximum),
  };
}

function choiceOf({ type, minimum, maximum, enum: values }: JsonObject): VectorSpace | undefined {
  if (type !== 'integer') return undefined;
  const isRun = Array.isArray(values) && values.every((value, i) => value === Number(values[0]) + i);
  if (isRun) return { type: 'discrete', start: Number(values[0]), n: values.length };
  if (typeof minimum !== 'number' || typeof maximum !== 'number') return undefined;
  return { type: 'discrete', start: minimum, n: maximum - minimum + 1 };
}

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

/** @throws SERVER_UNREACHABLE, REMOTE_TIMEOUT, SERVER_REFUSED, SERVER_ANSWER_INVALID: also where it is none of numbers */
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

  /** @throws SERVER_ANSWER_INVALID for one of another length, too */
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

  /** @throws PlaceLost, REMOTE_TIMEOUT, SERVER_ANSWER_INVALID */
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
