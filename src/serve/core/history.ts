// What happened in the current episode of each session: for the page, recordings and the operator. Kept in memory alone and
// bounded: steps of an episode, bytes of all. The sessions used least recently make way first; a closed one stays until then.

import { LRUCache } from 'lru-cache';
import { Packr } from 'msgpackr';
import type { Json } from '../../core/canonical-json.js';
import {
  type Action,
  type SessionEvent,
  type SessionHistory,
  type SessionState,
  sessionKey,
  type Turn,
} from './session-contract.js';
import { publicInfo } from './tasks.js';

interface HistoryLimits {
  /** Steps kept of an episode: the latest. */
  readonly steps: number;
  /** Bytes kept of all sessions, roughly counted. */
  readonly bytes: number;
}

const HISTORY_LIMITS: HistoryLimits = { steps: 2_000, bytes: 64 << 20 };

/** No session may have more than this share of the bytes. */
const SHARE = 1 / 8;
/** Sessions are weighed in units of this share of all bytes: not each step makes one heavier. */
const UNIT = 1 / 16_384;
/** Milliseconds between which the cache is not told that a session is used. */
const LULL = 1000;
/** Of a session without its steps, as measured. */
const SESSION_BYTES = 1500;

interface Recorded {
  session: SessionState;
  readonly steps: EpisodeSteps;
  /** As the cache weighs it. */
  units: number;
  /** When the cache was told of it last, in milliseconds since the epoch. */
  reportedAt: number;
}

export class Histories {
  private readonly recorded: LRUCache<string, Recorded>;
  /** Bytes. */
  private readonly unit: number;

  constructor(private readonly limits: HistoryLimits = HISTORY_LIMITS) {
    this.unit = Math.max(1, limits.bytes * UNIT);
    this.recorded = new LRUCache({ maxSize: limits.bytes });
  }

  record(event: SessionEvent): void {
    const { session } = event;
    const key = sessionKey(session.owner, session.id);
    const known = this.recorded.peek(key);
    if (event.kind === 'step') {
      this.append(session, known ?? newlyRecorded(session), stepOf(event.action, event.turn, event.seconds));
    } else if (event.kind === 'reset') {
      this.append(session, newlyRecorded(session), stepOf(null, event.turn, event.seconds));
    } else if (event.kind === 'restored') this.branch(session, key, event.turn);
    else if (event.kind === 'forked') this.branch(session, sessionKey(session.owner, event.parent), event.turn);
    else if (known !== undefined) known.session = session;
  }

  /**
   * The episode a session is in, or was in when it was closed; undefined where nothing of it is kept.
   * @param isOperator  `info` as the environment gave it; else only what a client may see of it
   */
  of(key: string, isOperator: boolean): SessionHistory | undefined {
    const recorded = this.recorded.peek(key);
    if (recorded === undefined) return undefined;
    const steps = recorded.steps.all().map(({ action, turn, seconds, at }) => {
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

  /** What led to the turn of a snapshot stays known where the session it is of still has it. */
  private branch(session: SessionState, from: string, turn: Turn): void {
    const steps = this.recorded.peek(from)?.steps.endingWith(turn);
    if (steps === undefined) this.append(session, newlyRecorded(session), stepOf(null, turn, 0));
    else this.keep({ ...newlyRecorded(session), steps }, Date.now());
  }

  private append(session: SessionState, recorded: Recorded, next: EpisodeStep): void {
    const { steps } = recorded;
    recorded.session = session;
    steps.push(next);
    while (steps.length > this.limits.steps || steps.bytes > this.limits.bytes * SHARE) steps.dropOldest();
    this.keep(recorded, next.at);
  }

  /** Tells the cache that a session is used, and what it weighs. */
  private keep(recorded: Recorded, at: number): void {
    const units = Math.ceil((recorded.steps.bytes + SESSION_BYTES) / this.unit);
    if (units === recorded.units && at - recorded.reportedAt < LULL) return;
    // As a new object: the cache takes the same one for unchanged, and its size too.
    const kept = { ...recorded, units, reportedAt: at };
    const { owner, id } = recorded.session;
    this.recorded.set(sessionKey(owner, id), kept, { size: Math.ceil(units * this.unit) });
  }
}

function newlyRecorded(session: SessionState): Recorded {
  return { session, steps: new EpisodeSteps(), units: 0, reportedAt: 0 };
}

/** A copy in JSON; rows as lists. */
function asJson(value: unknown): Json {
  const text = JSON.stringify(value, (_, one) => (one instanceof Float32Array ? Array.from(one) : one));
  return text === undefined ? null : (JSON.parse(text) as Json);
}

/** One turn, with what led to it. */
export interface EpisodeStep {
  /** null where the episode began, or continues from a snapshot. */
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

export function stepOf(action: Action | null, turn: Turn, seconds: number): EpisodeStep {
  const bytes = STEP_BYTES + roughBytes(action) + roughBytes(turn.observation) + roughBytes(turn.info);
  return { action, turn, seconds, at: Date.now(), bytes };
}

/** About what a value holds in memory, without writing it out. */
function roughBytes(value: unknown): number {
  if (typeof value === 'string') return 16 + value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  let bytes = 32;
  for (const key in value) bytes += 8 + roughBytes((value as Record<string, unknown>)[key]);
  return bytes;
}

const BLOCK_STEPS = 64;
const packer = new Packr({ moreTypes: true, useRecords: false });

/**
 * Steps side by side. A full block of rows is packed: as objects they would be many and live long, and the garbage collector
 * would take as long over a step of numbers as the step itself.
 */
interface Block {
  readonly length: number;
  readonly bytes: number;
  readonly steps: readonly EpisodeStep[] | Buffer;
}

function blockOf(steps: readonly EpisodeStep[]): Block {
  const bytes = steps.reduce((sum, step) => sum + step.bytes, 0);
  const isPacked = steps.length >= BLOCK_STEPS && steps.every(({ turn }) => turn.observation instanceof Float32Array);
  return { length: steps.length, bytes, steps: isPacked ? packer.pack(steps.map(withoutRest)) : steps };
}

/** What is kept of a step, where it is copied. */
function withoutRest({ turn, ...step }: EpisodeStep): EpisodeStep {
  const { observation, reward, terminated, truncated, info, stepCount, return: sum } = turn;
  return { ...step, turn: { observation, reward, terminated, truncated, info, stepCount, return: sum } };
}

function stepsIn({ steps }: Block): readonly EpisodeStep[] {
  return Buffer.isBuffer(steps) ? packer.unpack(steps) : steps;
}

export class EpisodeSteps {
  length = 0;
  bytes = 0;
  /** They do not change, and may be those of others, too. */
  private blocks: Block[] = [];
  private latest: EpisodeStep[] = [];

  push(step: EpisodeStep): void {
    this.latest.push(step);
    this.length++;
    this.bytes += step.bytes;
    if (this.latest.length < BLOCK_STEPS) return;
    this.blocks.push(blockOf(this.latest));
    this.latest = [];
  }

  dropOldest(): void {
    const [first] = this.blocks;
    const [oldest, ...rest] = first === undefined ? this.latest : stepsIn(first);
    if (first === undefined) this.latest = rest;
    else if (rest.length === 0) this.blocks.shift();
    else this.blocks[0] = { length: rest.length, bytes: first.bytes - oldest.bytes, steps: rest };
    this.length--;
    this.bytes -= oldest.bytes;
  }

  /** A copy that ends with `turn`; undefined where that is not among them. */
  endingWith(turn: EpisodeStep['turn']): EpisodeSteps | undefined {
    const blocks = [...this.blocks, blockOf(this.latest)];
    for (let at = blocks.length - 1; at >= 0; at--) {
      const steps = stepsIn(blocks[at]);
      const found = steps.findLastIndex((step) => isSame(step.turn, turn));
      if (found < 0) continue;
      const copy = new EpisodeSteps();
      copy.blocks = blocks.slice(0, at);
      copy.length = copy.blocks.reduce((sum, { length }) => sum + length, 0);
      copy.bytes = copy.blocks.reduce((sum, { bytes }) => sum + bytes, 0);
      for (const step of steps.slice(0, found + 1)) copy.push(step);
      return copy;
    }
    return undefined;
  }

  all(): readonly EpisodeStep[] {
    return [...this.blocks.flatMap(stepsIn), ...this.latest];
  }
}

/** Rows are the same if their numbers are. */
function isSame(one: EpisodeStep['turn'], other: EpisodeStep['turn']): boolean {
  if (one.stepCount !== other.stepCount || one.return !== other.return) return false;
  const [mine, theirs] = [one.observation, other.observation];
  if (!(mine instanceof Float32Array && theirs instanceof Float32Array)) return mine === theirs;
  return mine.length === theirs.length && mine.every((value, i) => value === theirs[i]);
}
