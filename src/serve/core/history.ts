// What happened in the current episode of each session, for the page. Kept in memory alone and bounded: steps of an episode,
// bytes of all. The sessions used least recently make way first; a closed one stays until then.

import { LRUCache } from 'lru-cache';
import type { Json } from '../../core/canonical-json.js';
import {
  type Action,
  type SessionEvent,
  type SessionHistory,
  type SessionState,
  sessionKey,
  type Turn,
} from './session-contract.js';

interface HistoryLimits {
  /** Steps kept of an episode: the latest. */
  readonly steps: number;
  /** Bytes kept of all sessions, roughly counted. */
  readonly bytes: number;
}

const HISTORY_LIMITS: HistoryLimits = { steps: 1_000, bytes: 32 << 20 };

/** No session may have more than this share of the bytes. */
const SHARE = 1 / 8;
/** Of a session, and of a step without its values, as measured. */
const SESSION_BYTES = 1500;
const STEP_BYTES = 170;

/** One turn, with what led to it: null where the episode began, or resumes from a snapshot. */
interface Step {
  readonly action: Action | null;
  readonly turn: Turn;
  readonly seconds: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly bytes: number;
}

interface Recorded {
  readonly session: SessionState;
  readonly steps: Step[];
  readonly bytes: number;
}

export class Histories {
  private readonly recorded: LRUCache<string, Recorded>;

  constructor(private readonly limits: HistoryLimits = HISTORY_LIMITS) {
    this.recorded = new LRUCache({ maxSize: limits.bytes });
  }

  record(event: SessionEvent): void {
    const { session, kind } = event;
    const known = this.recorded.peek(sessionKey(session.owner, session.id));
    if (kind === 'step') this.add(session, known, event.action, event.turn, event.seconds);
    else if (kind === 'reset') this.add(session, undefined, null, event.turn, event.seconds);
    else if (kind === 'restored') this.branch(session, session.id, event.turn);
    else if (kind === 'forked') this.branch(session, event.parent, event.turn);
    else if (known !== undefined) this.keep({ ...known, session });
  }

  /** The episode a session is in, or was in when it was closed; undefined where nothing of it is kept. */
  of(key: string): SessionHistory | undefined {
    const recorded = this.recorded.peek(key);
    if (recorded === undefined) return undefined;
    const steps = recorded.steps.map(({ action, turn, seconds, at }) => {
      const { observation, reward, terminated, truncated, info, stepCount: index } = turn;
      const shown = { action: asJson(action), observation: asJson(observation), info: asJson(info) };
      return { index, ...shown, reward, terminated, truncated, seconds, at };
    });
    return { session: recorded.session, steps };
  }

  /** What led to the turn of a snapshot stays known where the session it is of still has it. */
  private branch(session: SessionState, from: string, turn: Turn): void {
    const steps = this.recorded.peek(sessionKey(session.owner, from))?.steps ?? [];
    const kept = steps.slice(0, steps.findLastIndex((step) => isSame(step.turn, turn)) + 1);
    if (kept.length === 0) this.add(session, undefined, null, turn, 0);
    else this.keep({ session, steps: kept, bytes: SESSION_BYTES + kept.reduce((sum, step) => sum + step.bytes, 0) });
  }

  private add(
    session: SessionState,
    known: Recorded | undefined,
    action: Action | null,
    turn: Turn,
    seconds: number,
  ): void {
    const bytes = STEP_BYTES + roughBytes(action) + roughBytes(turn.observation) + roughBytes(turn.info);
    const steps = known?.steps ?? [];
    steps.push({ action, turn, seconds, at: Date.now(), bytes });
    let all = (known?.bytes ?? SESSION_BYTES) + bytes;
    const most = this.limits.bytes * SHARE;
    while (steps.length > this.limits.steps || (all > most && steps.length > 1)) all -= steps.shift()!.bytes;
    this.keep({ session, steps, bytes: all });
  }

  /** As a new object each time: the cache takes the same one for unchanged, and its size too. */
  private keep(recorded: Recorded): void {
    const { owner, id } = recorded.session;
    this.recorded.set(sessionKey(owner, id), recorded, { size: Math.ceil(recorded.bytes) });
  }
}

/** A copy in JSON; rows as lists. */
function asJson(value: unknown): Json {
  const text = JSON.stringify(value, (_, one) => (one instanceof Float32Array ? Array.from(one) : one));
  return text === undefined ? null : (JSON.parse(text) as Json);
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

/** Rows are the same if their numbers are. */
function isSame(one: Turn, other: Turn): boolean {
  if (one.stepCount !== other.stepCount || one.return !== other.return) return false;
  const [mine, theirs] = [one.observation, other.observation];
  if (!(mine instanceof Float32Array && theirs instanceof Float32Array)) return mine === theirs;
  return mine.length === theirs.length && mine.every((value, i) => value === theirs[i]);
}
