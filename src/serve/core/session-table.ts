// The sessions of a server: what facades ask, done under its limits. See session-contract.ts for what is promised.

import { EventEmitter } from 'node:events';
import { LRUCache } from 'lru-cache';
import { ReverieError, reverieError } from '../../errors.js';
import type { Servable } from '../../run/index.js';
import { withDeadline } from './deadline.js';
import { Histories } from './history.js';
import { Session } from './session.js';
import type {
  CloseReason,
  OpenRequest,
  Owner,
  ResetRequest,
  SessionCounts,
  SessionEvent,
  SessionHistory,
  SessionState,
  Sessions,
  SnapshotRef,
  StepRequest,
  Turn,
} from './session-contract.js';
import { Slots } from './slots.js';
import { SnapshotStore } from './snapshot-store.js';
import { chosenTask } from './task-choice.js';
import { unguessable } from './unguessable.js';

export interface SessionLimits {
  /** Episodes under way at once. */
  readonly slots: number;
  /** Seconds a reset waits for a slot. */
  readonly slotWaitSeconds: number;
  /** Seconds without a request after which a session is closed. */
  readonly idleSeconds: number;
  /** Seconds a reset or step may take. OpenEnv's clients give up after 60. */
  readonly stepSeconds: number;
  /** Snapshots kept for each owner. */
  readonly snapshots: number;
}

export const SESSION_LIMITS: SessionLimits = {
  slots: 1024,
  slotWaitSeconds: 30,
  idleSeconds: 900,
  stepSeconds: 55,
  snapshots: 256,
};

/** Closed sessions that are still known as such. */
const REMEMBERED_GONE = 10_000;

type Events = { event: [SessionEvent] };

export class SessionTable implements Sessions {
  readonly environments: ReadonlyMap<string, Servable>;
  readonly defaultEnv: Servable;
  /** Emits `event`. */
  readonly events = new EventEmitter<Events>();
  private readonly sessions = new Map<string, Session>();
  private readonly gone = new LRUCache<string, CloseReason>({ max: REMEMBERED_GONE });
  private readonly slots: Slots;
  private readonly snapshots: SnapshotStore;
  private readonly histories = new Histories();
  private readonly limits: SessionLimits;
  private readonly reaper: NodeJS.Timeout;
  private draining = false;

  constructor(served: readonly Servable[], limits: Partial<SessionLimits> = {}) {
    this.limits = { ...SESSION_LIMITS, ...limits };
    this.environments = new Map(served.map((one) => [one.name, one]));
    this.defaultEnv = served[0];
    this.slots = new Slots(this.limits.slots, this.limits.slotWaitSeconds * 1000);
    this.snapshots = new SnapshotStore(this.limits.snapshots);
    this.events.on('event', (event) => this.histories.record(event));
    this.reaper = setInterval(() => this.reap(), Math.min(this.limits.idleSeconds * 250, 10_000)).unref();
  }

  get counts(): SessionCounts {
    const { active, waiting, size } = this.slots;
    return { open: this.sessions.size, active, waiting, slots: size };
  }

  open({ env, id = unguessable(), owner }: OpenRequest): SessionState {
    return this.add(this.servedAs(env), id, owner).state;
  }

  reset(id: string, request: ResetRequest, owner: Owner, signal?: AbortSignal): Promise<Turn> {
    const session = this.owned(id, owner);
    return session.enqueue(async () => {
      await this.takeSlot(session, signal);
      const kept = request.snapshot === undefined ? undefined : this.snapshots.get(owner, request.snapshot);
      const episodeId = request.episodeId ?? unguessable();
      const task = kept === undefined ? chosenTask(session.served, request) : undefined;
      const { seed } = request;
      return this.timed(session, 'reset', signal, undefined, (deadline) =>
        kept === undefined ? session.begin(episodeId, { seed, task }, deadline) : session.load(episodeId, kept),
      );
    }, request.requestId);
  }

  step(id: string, request: StepRequest, owner: Owner, signal?: AbortSignal): Promise<Turn> {
    const session = this.owned(id, owner);
    return session.enqueue(async () => {
      const takeBack = await session.mark();
      const work = (deadline: AbortSignal) => session.act(request.action, deadline);
      return this.timed(session, 'step', signal, request, work, takeBack);
    }, request.requestId);
  }

  snapshot(id: string, owner: Owner): Promise<SnapshotRef> {
    const session = this.owned(id, owner);
    return session.alone(async () => this.snapshots.put(owner, await session.save()));
  }

  restore(id: string, snapshot: string, owner: Owner): Promise<Turn> {
    const session = this.owned(id, owner);
    const kept = this.snapshots.get(owner, snapshot);
    return session.alone(async () => {
      await this.takeSlot(session);
      const turn = await session.load(session.state.episodeId ?? unguessable(), kept);
      this.events.emit('event', { kind: 'restored', session: session.state, turn });
      return turn;
    });
  }

  async fork(id: string, count: number, owner: Owner): Promise<readonly SessionState[]> {
    const parent = this.owned(id, owner);
    const { id: snapshot } = await this.snapshot(id, owner);
    const kept = this.snapshots.get(owner, snapshot);
    const forks = Array.from({ length: count }, () => this.add(parent.served, unguessable(), owner, parent.id));
    try {
      await Promise.all(forks.map((fork) => this.branch(fork, kept)));
    } catch (error) {
      await Promise.all(forks.map((fork) => this.remove(fork, 'lost')));
      throw error;
    }
    return forks.map((fork) => fork.state);
  }

  state(id: string, owner: Owner): SessionState {
    return this.owned(id, owner).state;
  }

  observe(id: string, owner: Owner): Turn {
    return this.owned(id, owner).turn;
  }

  touch(id: string, owner: Owner): void {
    this.owned(id, owner).touch();
  }

  async close(id: string, owner: Owner): Promise<void> {
    await this.remove(this.owned(id, owner), 'client');
  }

  list(owner?: Owner): readonly SessionState[] {
    const all = [...this.sessions.values()];
    return all.filter((session) => owner === undefined || session.owner === owner).map((session) => session.state);
  }

  history(id: string, owner?: Owner): SessionHistory {
    const session = this.sessions.get(id);
    const kept = this.histories.of(id, owner === undefined);
    const owned = session?.owner ?? kept?.session.owner;
    if (owned === undefined || (owner !== undefined && owner !== owned)) throw this.unknown(id);
    return { session: session?.state ?? kept!.session, steps: kept?.steps ?? [] };
  }

  /** Takes no new sessions; resolves once those that are there were closed, by their clients or after `seconds`. */
  async drain(seconds: number): Promise<void> {
    this.draining = true;
    const until = Date.now() + seconds * 1000;
    while (this.sessions.size > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 50));
    await Promise.all([...this.sessions.values()].map((session) => this.remove(session, 'drain')));
    clearInterval(this.reaper);
  }

  private async branch(fork: Session, kept: Parameters<Session['load']>[1]): Promise<void> {
    await this.takeSlot(fork);
    await fork.alone(() => fork.load(unguessable(), kept));
    this.events.emit('event', { kind: 'forked', session: fork.state, parent: fork.state.parent! });
  }

  private add(served: Servable, id: string, owner: Owner, parent?: string): Session {
    if (this.draining) throw reverieError('SERVER_DRAINING');
    if (this.sessions.has(id)) throw reverieError('SESSION_EXISTS', { id });
    const session = new Session({ id, owner, served, parent, now: Date.now });
    this.sessions.set(id, session);
    this.gone.delete(id);
    this.events.emit('event', { kind: 'opened', session: session.state });
    return session;
  }

  private async takeSlot(session: Session, signal?: AbortSignal): Promise<void> {
    if (session.hasSlot) return;
    await this.slots.take(signal);
    if (this.sessions.has(session.id)) session.hasSlot = true;
    else {
      this.slots.release();
      throw this.unknown(session.id);
    }
  }

  /** Does `work` within the deadline and tells of it. A step that came too late is taken back. */
  private async timed(
    session: Session,
    kind: 'reset' | 'step',
    signal: AbortSignal | undefined,
    request: StepRequest | undefined,
    work: (deadline: AbortSignal) => Promise<Turn>,
    takeBack?: () => Promise<void>,
  ): Promise<Turn> {
    const started = performance.now();
    const wanted = request?.timeoutSeconds ?? this.limits.stepSeconds;
    const seconds = () => (performance.now() - started) / 1000;
    try {
      const turn = await withDeadline(Math.min(wanted, this.limits.stepSeconds), work, { signal, takeBack });
      const told = { session: session.state, turn, seconds: seconds() };
      if (request === undefined) this.events.emit('event', { kind: 'reset', ...told });
      else this.events.emit('event', { kind: 'step', action: request.action, ...told });
      return turn;
    } catch (error) {
      const code = error instanceof ReverieError ? error.code : kind.toUpperCase();
      this.events.emit('event', { kind: 'failed', session: session.state, code, seconds: seconds() });
      throw error;
    }
  }

  private async remove(session: Session, reason: CloseReason): Promise<void> {
    if (!this.sessions.delete(session.id)) return;
    this.gone.set(session.id, reason);
    const { state } = session;
    await session.end();
    if (session.hasSlot) this.slots.release();
    this.events.emit('event', { kind: 'closed', session: state, reason });
  }

  private reap(): void {
    const before = Date.now() - this.limits.idleSeconds * 1000;
    for (const session of this.sessions.values()) {
      if (!session.busy && session.lastUsedAt < before) void this.remove(session, 'idle');
    }
  }

  private servedAs(name: string | undefined): Servable {
    const served = name === undefined ? this.defaultEnv : this.environments.get(name);
    if (served !== undefined) return served;
    throw reverieError('ENV_NOT_SERVED', { env: name, known: [...this.environments.keys()].join(', ') });
  }

  /** A session of another owner is as unknown as one that never was. */
  private owned(id: string, owner: Owner): Session {
    const session = this.sessions.get(id);
    if (session?.owner === owner) return session;
    throw this.unknown(id);
  }

  private unknown(id: string) {
    const reason = this.gone.get(id);
    if (reason === undefined) return reverieError('SESSION_UNKNOWN', { id });
    return reverieError('SESSION_GONE', { id, reason, idleSeconds: this.limits.idleSeconds });
  }
}
