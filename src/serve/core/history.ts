// What happened in the current episode of each session, for whoever looks on: the page, recordings, the operator. Kept in
// memory alone and bounded: steps of an episode, bytes of all; the sessions used least recently make way first, and a
// closed one stays until then.

import { LRUCache } from 'lru-cache';
import type { Json } from '../../core/json.js';
import { type Moment, momentOf } from './moment.js';
import { MomentBlock } from './moment-block.js';
import type { Action, SessionEvent, SessionHistory, SessionState, Turn } from './session-contract.js';
import { publicInfo } from './turn.js';

export interface HistoryLimits {
  /** Steps kept of an episode: the latest. */
  readonly steps: number;
  /** Bytes kept of all sessions, roughly counted. */
  readonly bytes: number;
}

export const HISTORY_LIMITS: HistoryLimits = { steps: 2_000, bytes: 64 << 20 };

/** No session may have more than this share of the bytes. */
const SHARE = 1 / 8;
/** Sessions are weighed in blocks of this share of all bytes: not each step makes one heavier. */
const BLOCK = 1 / 16_384;
/** Milliseconds between which the cache is not told that a session is used. */
const LULL = 1000;
/** Of a session without its steps, as measured. */
const SESSION_BYTES = 1500;

interface Recorded {
  session: SessionState;
  readonly moments: Moments;
  /** As the cache weighs it. */
  blocks: number;
  /** When the cache was told of it last, in milliseconds since the epoch. */
  toldAt: number;
}

export class Histories {
  private readonly recorded: LRUCache<string, Recorded>;
  /** Bytes. */
  private readonly block: number;

  constructor(private readonly limits: HistoryLimits = HISTORY_LIMITS) {
    this.block = Math.max(1, limits.bytes * BLOCK);
    this.recorded = new LRUCache({ maxSize: limits.bytes });
  }

  /** Takes down what a session's event tells. */
  record(event: SessionEvent): void {
    const { session } = event;
    if (event.kind === 'step') this.append(session, event.action, event.turn, event.seconds);
    else if (event.kind === 'reset') this.begin(session, event.turn, event.seconds);
    else if (event.kind === 'restored') this.goOn(session, session.id, event.turn);
    else if (event.kind === 'forked') this.goOn(session, event.parent, event.turn);
    else {
      const known = this.recorded.peek(session.id);
      if (known !== undefined) known.session = session;
    }
  }

  /**
   * The episode a session is in, or was in when it was closed; undefined where nothing of it is kept.
   * @param isOperator  `info` as the environment gave it; else only what a client may see of it
   */
  of(id: string, isOperator: boolean): SessionHistory | undefined {
    const recorded = this.recorded.peek(id);
    if (recorded === undefined) return undefined;
    const steps = recorded.moments.all().map(({ action, turn, seconds, at }) => {
      const { observation, reward, terminated, truncated, info, stepCount: index } = turn;
      return {
        index,
        action: asJson(action),
        observation: asJson(observation),
        reward,
        terminated,
        truncated,
        info: asJson(isOperator ? info : publicInfo(info)),
        seconds,
        at,
      };
    });
    return { session: recorded.session, steps };
  }

  private begin(session: SessionState, turn: Turn, seconds: number): void {
    this.keep(session, newlyRecorded(session), momentOf(null, turn, seconds));
  }

  /** What led to the turn of a snapshot stays known where the session it is of still has it. */
  private goOn(session: SessionState, from: string, turn: Turn): void {
    const moments = this.recorded.peek(from)?.moments.endingWith(turn);
    if (moments === undefined) this.begin(session, turn, 0);
    else this.tell({ ...newlyRecorded(session), moments }, Date.now());
  }

  private append(session: SessionState, action: Action, turn: Turn, seconds: number): void {
    this.keep(session, this.recorded.peek(session.id) ?? newlyRecorded(session), momentOf(action, turn, seconds));
  }

  private keep(session: SessionState, recorded: Recorded, next: Moment): void {
    const { moments } = recorded;
    recorded.session = session;
    moments.push(next);
    while (moments.length > this.limits.steps || moments.bytes > this.limits.bytes * SHARE) moments.dropOldest();
    this.tell(recorded, next.at);
  }

  /** Tells the cache that a session is used, and what it holds. */
  private tell(recorded: Recorded, at: number): void {
    const blocks = Math.ceil((recorded.moments.bytes + SESSION_BYTES) / this.block);
    if (blocks === recorded.blocks && at - recorded.toldAt < LULL) return;
    // As a new object: the cache takes the same one for unchanged, and its size too.
    const told = { ...recorded, blocks, toldAt: at };
    this.recorded.set(recorded.session.id, told, { size: Math.ceil(blocks * this.block) });
  }
}

function newlyRecorded(session: SessionState): Recorded {
  return { session, moments: new Moments(), blocks: 0, toldAt: 0 };
}

/** A copy in JSON; rows as lists. */
function asJson(value: unknown): Json {
  const text = JSON.stringify(value, (_, one) => (one instanceof Float32Array ? Array.from(one) : one));
  return text === undefined ? null : (JSON.parse(text) as Json);
}

// The turns of an episode as histories keep them: numbers and rows in columns. As objects they would be many and live long,
// and the garbage collector would take as long over a step of numbers as the step itself.

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
