// Turns of an episode as histories keep them, and what they weigh: numbers and rows in columns. As objects they would be many
// and live long, and the garbage collector would take as long over a step of numbers as the step itself.

import type { Info } from '../../env/index.js';
import type { Action, Turn } from './session-contract.js';

/** One turn, with what led to it. */
export interface Moment {
  /** null where the episode began, or went on from a snapshot. */
  readonly action: Action | null;
  readonly turn: Pick<Turn, 'observation' | 'reward' | 'terminated' | 'truncated' | 'info' | 'stepCount' | 'return'>;
  readonly seconds: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Roughly, what it takes in memory. */
  readonly bytes: number;
}

/** Of a step without its values, as measured. */
const STEP_BYTES = 170;

export function momentOf(action: Action | null, turn: Turn, seconds: number): Moment {
  const bytes = STEP_BYTES + keptBytes(action) + keptBytes(turn.observation) + roughBytes(turn.info);
  return { action, turn, seconds, at: Date.now(), bytes };
}

/** Rows are elements of a column. */
function keptBytes(value: unknown): number {
  return value instanceof Float32Array ? 4 * value.length : roughBytes(value);
}

/** About what a value holds in memory, without writing it out. */
function roughBytes(value: unknown): number {
  if (typeof value === 'string') return 16 + value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (ArrayBuffer.isView(value)) return 64 + value.byteLength;
  let bytes = 32;
  for (const key in value) bytes += 8 + roughBytes((value as Record<string, unknown>)[key]);
  return bytes;
}

// A few turns in columns that are allocated at once.

/** Numbers of a turn, by their place. */
const STEP_COUNT = 0;
const REWARD = 1;
const RETURN = 2;
const SECONDS = 3;
const AT = 4;
const BYTES = 5;
const FLAGS = 6;
/** How many elements its rows have; NO_ROW: a value of another kind. */
const ACTION = 7;
const OBSERVATION = 8;
const COUNT = 9;

const NO_ROW = -1;
const TERMINATED = 1;
const TRUNCATED = 2;
const HAS_REWARD = 4;
const HAS_RETURN = 8;

class MomentBlock {
  length = 0;
  private readonly numbers: Float64Array;
  /** One after the other. */
  private rows: Float32Array | undefined;
  private rowsEnd = 0;
  /** Of each turn: action, observation (undefined where they are rows) and info. */
  private readonly values: unknown[] = [];

  constructor(private readonly size: number) {
    this.numbers = new Float64Array(size * COUNT);
  }

  get isFull(): boolean {
    return this.length === this.size;
  }

  push({ action, turn, seconds, at, bytes }: Moment): void {
    const { numbers } = this;
    const { stepCount, reward, return: sum, observation, info } = turn;
    const from = this.length++ * COUNT;
    numbers[from + STEP_COUNT] = stepCount;
    numbers[from + REWARD] = reward ?? 0;
    numbers[from + RETURN] = sum ?? 0;
    numbers[from + SECONDS] = seconds;
    numbers[from + AT] = at;
    numbers[from + BYTES] = bytes;
    numbers[from + FLAGS] = flagsOf(turn);
    numbers[from + ACTION] = this.put(action);
    numbers[from + OBSERVATION] = this.put(observation);
    this.values.push(info);
  }

  bytesOf(at: number): number {
    return this.numbers[at * COUNT + BYTES];
  }

  get bytes(): number {
    let sum = 0;
    for (let at = 0; at < this.length; at++) sum += this.bytesOf(at);
    return sum;
  }

  /** Where a turn is; rows are the same if their numbers are. */
  find({ stepCount, return: sum, observation }: Moment['turn']): number | undefined {
    for (let at = 0; at < this.length; at++) {
      if (this.numbers[at * COUNT + STEP_COUNT] !== stepCount) continue;
      const { turn } = this.all()[at];
      if (turn.return === sum && isSame(turn.observation, observation)) return at;
    }
    return undefined;
  }

  /** A copy of the first `count`. */
  start(count: number): MomentBlock {
    const copy = new MomentBlock(this.size);
    for (const moment of this.all().slice(0, count)) copy.push(moment);
    return copy;
  }

  all(): readonly Moment[] {
    let rowsEnd = 0;
    const valueAt = (place: number, length: number) => {
      if (length === NO_ROW) return this.values[place];
      rowsEnd += length;
      return this.rows!.slice(rowsEnd - length, rowsEnd);
    };
    return Array.from({ length: this.length }, (_, at) => {
      const numbers = this.numbers.subarray(at * COUNT, (at + 1) * COUNT);
      return readMoment(numbers, {
        action: valueAt(at * 3, numbers[ACTION]) as Action | null,
        observation: valueAt(at * 3 + 1, numbers[OBSERVATION]),
        info: this.values[at * 3 + 2] as Info,
      });
    });
  }

  /** Takes a value down. Answers how many elements of `rows` it takes. */
  private put(value: unknown): number {
    if (!(value instanceof Float32Array)) {
      this.values.push(value);
      return NO_ROW;
    }
    this.values.push(undefined);
    const rows = this.roomFor(value.length);
    for (let i = 0; i < value.length; i++) rows[this.rowsEnd + i] = value[i];
    this.rowsEnd += value.length;
    return value.length;
  }

  private roomFor(more: number): Float32Array {
    const { rows, rowsEnd, size, length } = this;
    if (rows !== undefined && rows.length >= rowsEnd + more) return rows;
    // As if those to come were as long as those that are there.
    const grown = new Float32Array(Math.ceil(((rowsEnd + more) * size) / length) + more);
    if (rows !== undefined) grown.set(rows.subarray(0, rowsEnd));
    this.rows = grown;
    return grown;
  }
}

function isSame(one: unknown, other: unknown): boolean {
  if (!(one instanceof Float32Array && other instanceof Float32Array)) return one === other;
  return one.length === other.length && one.every((value, i) => value === other[i]);
}

function flagsOf({ terminated, truncated, reward, return: sum }: Moment['turn']): number {
  return (
    (terminated ? TERMINATED : 0) |
    (truncated ? TRUNCATED : 0) |
    (reward === null ? 0 : HAS_REWARD) |
    (sum === null ? 0 : HAS_RETURN)
  );
}

type Values = Pick<Moment, 'action'> & Pick<Moment['turn'], 'observation' | 'info'>;

function readMoment(numbers: Float64Array, { action, observation, info }: Values): Moment {
  const flags = numbers[FLAGS];
  const turn = {
    observation,
    info,
    stepCount: numbers[STEP_COUNT],
    reward: flags & HAS_REWARD ? numbers[REWARD] : null,
    return: flags & HAS_RETURN ? numbers[RETURN] : null,
    terminated: (flags & TERMINATED) !== 0,
    truncated: (flags & TRUNCATED) !== 0,
  };
  return { action, turn, seconds: numbers[SECONDS], at: numbers[AT], bytes: numbers[BYTES] };
}

/** Turns. */
const SMALLEST_BLOCK = 8;
const LARGEST_BLOCK = 64;

export class Moments {
  length = 0;
  bytes = 0;
  /** Those that are full do not change, and may be those of others, too. */
  private blocks: MomentBlock[] = [];
  /** Of the first block, how many were dropped. */
  private dropped = 0;

  push(moment: Moment): void {
    let block = this.blocks.at(-1);
    if (block === undefined || block.isFull) {
      block = new MomentBlock(Math.min(Math.max(this.length, SMALLEST_BLOCK), LARGEST_BLOCK));
      this.blocks.push(block);
    }
    block.push(moment);
    this.length++;
    this.bytes += moment.bytes;
  }

  dropOldest(): void {
    const [block] = this.blocks;
    this.bytes -= block.bytesOf(this.dropped);
    this.length--;
    this.dropped++;
    if (this.dropped < block.length) return;
    this.blocks.shift();
    this.dropped = 0;
  }

  /** A copy that ends with `turn`; undefined where that is not among them. */
  endingWith(turn: Moment['turn']): Moments | undefined {
    for (let last = this.blocks.length - 1; last >= 0; last--) {
      const found = this.blocks[last].find(turn);
      if (found !== undefined) return last === 0 && found < this.dropped ? undefined : this.copy(last, found + 1);
    }
    return undefined;
  }

  all(): readonly Moment[] {
    return this.blocks.flatMap((block) => block.all()).slice(this.dropped);
  }

  /** As far as the first `count` of the block `last`. */
  private copy(last: number, count: number): Moments {
    const copy = new Moments();
    copy.blocks = [...this.blocks.slice(0, last), this.blocks[last].start(count)];
    copy.dropped = this.dropped;
    copy.length = copy.blocks.reduce((sum, { length }) => sum + length, -this.dropped);
    copy.bytes = copy.blocks.reduce((sum, { bytes }) => sum + bytes, 0);
    for (let i = 0; i < this.dropped; i++) copy.bytes -= this.blocks[0].bytesOf(i);
    return copy;
  }
}
