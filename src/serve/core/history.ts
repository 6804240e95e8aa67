// What happened in the current episode of each session, for the page. Kept in memory alone and bounded: steps of an episode,
// bytes of all. The sessions used least recently make way first; a closed one stays until then.

import { LRUCache } from 'lru-cache';
import { type Action, type SessionEvent, type SessionState, sessionKey, type Turn } from './session-contract.js';

/** Steps kept of an episode, the latest, and bytes of all sessions, roughly counted. */
const HISTORY_LIMITS = { steps: 1_000, bytes: 32 << 20 };
/** No session may have more than this share of the bytes. */
const SHARE = 1 / 8;
/** Of a session, and of a step without its values, as measured. */
const SESSION_BYTES = 1500;
const STEP_BYTES = 170;

/** One turn, with what led to it: null where the episode began, or resumes from a snapshot. */
export interface HistoryStep {
  readonly action: Action | null;
  readonly turn: Turn;
  readonly seconds: number;
  readonly bytes: number;
}

export interface SessionHistory {
  /** As it is, or was last. */
  readonly session: SessionState;
  /** The latest; the first is that of a reset unless some were forgotten. */
  readonly steps: readonly HistoryStep[];
}

interface Recorded extends SessionHistory {
  readonly steps: HistoryStep[];
  readonly bytes: number;
}

export class Histories {
  private readonly recorded: LRUCache<string, Recorded>;

  constructor(private readonly limits = HISTORY_LIMITS) {
    this.recorded = new LRUCache({ maxSize: limits.bytes });
  }

  record(event: SessionEvent): void {
    const { session } = event;
    const from = event.kind === 'forked' ? event.parent : session.id;
    const known = this.recorded.peek(sessionKey(session.owner, from));
    if (!('turn' in event)) {
      if (known !== undefined) this.keep({ ...known, session });
      return;
    }
    const { turn, seconds } = event;
    if (event.kind === 'step') {
      this.add(session, known, { action: event.action, turn, seconds });
      return;
    }
    // What led to the turn of a snapshot stays known where the session it is of still has it.
    const isSame = ({ turn: { observation, stepCount } }: HistoryStep) =>
      stepCount === turn.stepCount && observation === turn.observation;
    const steps = event.kind === 'reset' ? [] : (known?.steps ?? []);
    const kept = steps.slice(0, steps.findLastIndex(isSame) + 1);
    if (kept.length === 0) this.add(session, undefined, { action: null, turn, seconds });
    else this.keep({ session, steps: kept, bytes: kept.reduce((sum, { bytes }) => sum + bytes, SESSION_BYTES) });
  }

  /** The episode a session is in, or was in when it was closed; undefined where nothing of it is kept. */
  of(key: string): SessionHistory | undefined {
    return this.recorded.peek(key);
  }

  private add(session: SessionState, known: Recorded | undefined, step: Omit<HistoryStep, 'bytes'>): void {
    const { action, turn } = step;
    const bytes = STEP_BYTES + roughBytes(action) + roughBytes(turn.observation) + roughBytes(turn.info);
    const steps = known?.steps ?? [];
    steps.push({ ...step, bytes });
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

/** About what a value holds in memory, without writing it out. */
function roughBytes(value: unknown): number {
  if (typeof value === 'string') return 16 + value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  let bytes = 32;
  for (const key in value) bytes += 8 + roughBytes((value as Record<string, unknown>)[key]);
  return bytes;
}
