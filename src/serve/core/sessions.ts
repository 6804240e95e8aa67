// The sessions of a server: opens and closes them, alone and in groups, sees to it that no more episodes are under way than there
// are slots, and has those again that another process left behind.

import { EventEmitter } from 'node:events';
import { LRUCache } from 'lru-cache';
import type { Info } from '../../core/environment.js';
import { type ReverieError, reverieError } from '../../core/errors.js';
import type { Servable } from '../../run/servable.js';
import { Histories, type SessionHistory } from './history.js';
import { Deadline, Quotas, SESSION_LIMITS, type SessionLimits, Slots } from './limits.js';
import { type NewSession, Session, type SessionHost } from './session.js';
import {
  type CloseReason,
  type OpenRequest,
  type Owner,
  type QuotaLimits,
  type RepeatOptions,
  type ResetRequest,
  type SessionEvent,
  type SessionState,
  type SlotLease,
  type StepRequest,
  sessionKey,
  type Turn,
  unguessable,
} from './session-contract.js';
import { type KeptState, SessionStore, SnapshotStore } from './session-store.js';
import { chosenEpisode, environmentOf } from './tasks.js';

export interface SessionsOptions {
  readonly limits?: Partial<SessionLimits>;
  /** What each owner may take; without limit unless given. */
  readonly quotaOf?: (owner: Owner) => QuotaLimits;
}

/**
 * @param persist  folder that sessions are written to, so that they outlive the process; one server a folder. A reset, step,
 *   restore, fork or snapshot that was answered is durable, and so are the answers that repeated requests get. Sessions continue
 *   where the last answer left them, at their next request; those whose environment has changed are closed (`version`).
 * @throws RUN_IN_USE where another server has the folder, FILE_INVALID, STORAGE_FAILED, STORAGE_FULL
 */
export async function openSessions(
  served: readonly Servable[],
  { persist, ...options }: SessionsOptions & { readonly persist?: string } = {},
): Promise<Sessions> {
  const store = persist === undefined ? undefined : await SessionStore.open(persist);
  try {
    return new Sessions(served, options, store);
  } catch (error) {
    await store?.close();
    throw error;
  }
}

/** Closed sessions that are still known as such. */
const REMEMBERED_GONE = 10_000;
/** Seconds for an environment to close. */
const CLOSE_SECONDS = 30;
/** Sessions of one group, at most. */
const MOST_OF_GROUP = 1024;

export class Sessions implements SessionHost {
  readonly environments: ReadonlyMap<string, Servable>;
  /** The one served where a client names none. */
  readonly defaultEnv: Servable;
  readonly events = new EventEmitter<{ event: [SessionEvent] }>();
  readonly limits: SessionLimits;
  private readonly quotas: Quotas;
  private readonly slots: Slots;
  private readonly snapshots: SnapshotStore;
  private readonly histories = new Histories();
  /** By `sessionKey`. */
  private readonly sessions = new Map<string, Session>();
  private readonly gone = new LRUCache<string, CloseReason>({ max: REMEMBERED_GONE });
  private readonly closed: Record<CloseReason, number> = { client: 0, idle: 0, drain: 0, lost: 0, version: 0 };
  private readonly removals = new Set<Promise<void>>();
  private readonly reaper: NodeJS.Timeout;
  private isDraining = false;
  /** Sessions so far whose first episode was left open. */
  private unseeded = 0;
  /** Episodes that are no sessions, and what is to be told when one ends. */
  private leased = 0;
  private onRelease = () => {};

  /** @param store  writes sessions down, and what it has is there again; closed by `drain` */
  constructor(
    served: readonly Servable[],
    { limits, quotaOf }: SessionsOptions = {},
    readonly store?: SessionStore,
  ) {
    this.environments = new Map(served.map((one) => [one.name, one]));
    this.defaultEnv = served[0];
    this.limits = { ...SESSION_LIMITS, ...limits };
    this.quotas = new Quotas(quotaOf);
    this.slots = new Slots(this.limits.slots, this.limits.slotWaitSeconds * 1000);
    this.snapshots = new SnapshotStore(this.limits.snapshots, (owner, id) => store?.forgetSnapshot(owner, id));
    this.events.on('event', (event) => this.histories.record(event));
    if (store !== undefined) this.recall(store);
    this.reaper = setInterval(() => this.reap(), Math.min(this.limits.idleSeconds * 250, 10_000)).unref();
  }

  /** Sessions open, episodes that hold a slot (active) or wait for one, and sessions closed so far, by reason. */
  get counts() {
    return { open: this.sessions.size, ...this.slots.counts, closed: { ...this.closed } };
  }

  /** Takes no slot. An id is its owner's own: others may have the same. @throws ENV_NOT_SERVED, SESSION_EXISTS, QUOTA_EXCEEDED, SERVER_DRAINING */
  open({ env, id = unguessable(), owner }: OpenRequest): SessionState {
    return this.add({ served: environmentOf(this, env), id, owner }).state;
  }

  /**
   * Starts an episode; waits for a slot where all are taken.
   * @throws SESSION_UNKNOWN, SESSION_GONE, CAPACITY_REACHED, TASK_UNKNOWN, SNAPSHOT_UNKNOWN, SNAPSHOT_MISMATCH, STEP_DEADLINE
   */
  async reset(id: string, request: ResetRequest, owner: Owner, signal?: AbortSignal): Promise<Turn> {
    const session = this.owned(id, owner);
    const { requestId, ...content } = request;
    return session.ask('reset', content, { requestId, signal }, (deadline) => this.begin(session, content, deadline));
  }

  /** @throws SESSION_UNKNOWN, SESSION_GONE, ENV_NOT_RESET, ACTION_OUT_OF_SPACE, STEP_DEADLINE, QUOTA_EXCEEDED; the state is unchanged then */
  async step(id: string, request: StepRequest, owner: Owner, signal?: AbortSignal): Promise<Turn> {
    const session = this.owned(id, owner);
    const { action, requestId, timeoutSeconds: seconds } = request;
    return session.ask('step', action, { requestId, signal, seconds }, async (deadline) => {
      session.running();
      this.quotas.takeSteps(owner);
      await this.takeSlot(session, deadline);
      const act = () => session.act(action, deadline);
      return session.take((done) => ({ kind: 'step', action, ...done }), deadline, act);
    });
  }

  /** Keeps the state under an id, the hash of its content. @throws SESSION_UNKNOWN, ENV_NOT_RESET, STEP_DEADLINE, REQUEST_CONFLICT */
  async snapshot(id: string, owner: Owner, options: RepeatOptions = {}) {
    const session = this.owned(id, owner);
    return session.ask('snapshot', null, options, async (deadline) => {
      const kept = this.snapshots.put(owner, await session.save(deadline));
      await this.store?.keepSnapshot(owner, kept);
      return { id: kept.id, env: kept.env, stepCount: kept.stepCount };
    });
  }

  /**
   * Continues from a snapshot of the same environment; same episode, counts as they were.
   * @param options  `seed`: what follows is drawn from it instead of the snapshot's own stream
   * @throws SNAPSHOT_UNKNOWN, SNAPSHOT_MISMATCH, CAPACITY_REACHED, STEP_DEADLINE, REQUEST_CONFLICT
   */
  async restore(
    id: string,
    snapshot: string,
    owner: Owner,
    { seed, ...options }: RepeatOptions & { readonly seed?: number } = {},
  ): Promise<Turn> {
    const session = this.owned(id, owner);
    const kept = this.snapshots.get(owner, snapshot);
    return session.ask('restore', { snapshot, seed }, options, async (deadline) => {
      if (!isOver(kept)) await this.takeSlot(session, deadline);
      const episode = () => session.load(session.episode?.id ?? unguessable(), kept, deadline, seed);
      return session.take((done) => ({ kind: 'restored', ...done }), deadline, episode);
    });
  }

  /**
   * New sessions in the state of this one; each takes a slot where the episode is running. Forks do not wait for slots,
   * as the one that is forked holds one itself: all are had at once, or none and CAPACITY_REACHED.
   * @param options  `seeds`: one a fork, from which what follows is drawn; without, all go on as the one they come from would
   * @throws as snapshot; CAPACITY_REACHED, QUOTA_EXCEEDED, SERVER_DRAINING; no new session is left then
   */
  async fork(
    id: string,
    count: number,
    owner: Owner,
    { seeds, ...options }: RepeatOptions & { readonly seeds?: readonly number[] } = {},
  ): Promise<readonly SessionState[]> {
    const parent = this.owned(id, owner);
    return parent.ask('fork', { count, seeds }, options, async (deadline) => {
      checkGroup(count, seeds);
      const { served, turn } = parent;
      const hasSlot = parent.status === 'running';
      this.requireRoom(owner, count);
      const kept = await parent.save(deadline);
      if (hasSlot) this.slots.takeNow(count);
      const fork = () => ({ id: unguessable(), served, owner, hasSlot, parent: id });
      const forks = await this.together(Array.from({ length: count }, fork), (all) =>
        Promise.all(all.map((one, i) => branch(one, kept, turn.info, deadline, seeds?.[i]))),
      );
      return forks.map(([one]) => one.state);
    });
  }

  /**
   * New sessions that all are where one reset leads: what the user says first, the seed and the state are the same. Waits
   * until there are slots for all of them. With `seeds`, one a member, they part from there.
   * @throws as open and reset; GROUP_INVALID; no new session is left then
   */
  async openGroup(
    { env, owner, count, seeds }: OpenRequest & { readonly count: number; readonly seeds?: readonly number[] },
    reset: ResetRequest,
  ) {
    const served = environmentOf(this, env);
    checkGroup(count, seeds);
    this.requireRoom(owner, count);
    const deadline = new Deadline(this.limits.stepSeconds);
    try {
      await this.slots.take(deadline, count);
      const leader = { id: unguessable(), served, owner, hasSlot: true };
      const rest = Array.from({ length: count - 1 }, () => ({ ...leader, id: unguessable(), parent: leader.id }));
      const members = await this.together([leader, ...rest], async ([first, ...others]) => {
        const begun = await first.perform(deadline, async () => {
          const turn = await this.begin(first, reset, deadline);
          return { turn, kept: await first.save(deadline) };
        });
        const branched = (one: Session, seed?: number, id?: string) =>
          branch(one, begun.kept, begun.turn.info, deadline, seed, id);
        const own = seeds === undefined ? begun.turn : branched(first, seeds[0], begun.turn.episodeId);
        return Promise.all([own, ...others.map((one, i) => branched(one, seeds?.[i + 1]))]);
      });
      return members.map(([one, turn]) => ({ session: one.state, turn }));
    } finally {
      deadline.end();
    }
  }

  /**
   * Slots for episodes that are no sessions (rows of a vector session), all of them or none.
   * @throws CAPACITY_REACHED, QUOTA_EXCEEDED, SERVER_DRAINING
   */
  async holdSlots(count: number, owner: Owner): Promise<SlotLease> {
    this.requireRoom(owner, count);
    // Before the wait: another request must not take the same room meanwhile.
    this.quotas.countSessions(owner, count);
    const deadline = new Deadline(this.limits.stepSeconds);
    try {
      await this.slots.take(deadline, count);
    } catch (error) {
      this.quotas.countSessions(owner, -count);
      throw error;
    } finally {
      deadline.end();
    }
    this.leased += count;
    return {
      takeSteps: (steps) => this.quotas.takeSteps(owner, steps),
      release: () => {
        this.quotas.countSessions(owner, -count);
        this.slots.release(count);
        this.leased -= count;
        this.onRelease();
      },
    };
  }

  /** What it is a session of. */
  environmentOf(id: string, owner: Owner): Servable {
    return this.owned(id, owner).served;
  }

  state(id: string, owner: Owner): SessionState {
    return this.owned(id, owner).state;
  }

  /** The last turn again, without a step. @throws ENV_NOT_RESET */
  observe(id: string, owner: Owner): Turn {
    return this.owned(id, owner).turn;
  }

  /** Says that it is still wanted. */
  touch(id: string, owner: Owner): void {
    this.owned(id, owner).touch();
  }

  async close(id: string, owner: Owner): Promise<void> {
    await this.remove(this.owned(id, owner), 'client');
  }

  /** Those of one owner; of all, where no owner is given. */
  list(owner?: Owner): readonly SessionState[] {
    const all = [...this.sessions.values()];
    return all.filter((session) => owner === undefined || session.owner === owner).map((session) => session.state);
  }

  /**
   * What happened in the episode a session is in, or was in when it was closed, as far as it is kept. For the operator.
   * @param key  as `sessionKey` makes it @throws SESSION_UNKNOWN
   */
  history(key: string): SessionHistory {
    const session = this.sessions.get(key);
    const kept = this.histories.of(key);
    if (session !== undefined) return { session: session.state, steps: kept?.steps ?? [] };
    if (kept !== undefined) return kept;
    throw reverieError('SESSION_UNKNOWN', { id: key });
  }

  /**
   * Takes no new sessions; resolves once those that are there were closed, by their clients or after `seconds`. Slots that
   * are still held then are for the caller to take back.
   */
  async drain(seconds: number): Promise<void> {
    this.isDraining = true;
    const patience = new Deadline(seconds);
    const emptied = new Promise<void>((resolve) => {
      const look = () => this.sessions.size + this.leased === 0 && resolve();
      this.events.on('event', look);
      this.onRelease = look;
      look();
    });
    await patience.race(emptied).catch(() => {});
    patience.end();
    await Promise.all([...this.sessions.values()].map((session) => this.remove(session, 'drain')));
    await Promise.all(this.removals);
    clearInterval(this.reaper);
    await this.store?.close();
  }

  /** Observers that fail are warned of; what they look at has happened all the same. */
  announce(event: SessionEvent): void {
    try {
      this.events.emit('event', event);
    } catch (error) {
      process.emitWarning(error as Error);
    }
  }

  /** An episode that is over needs no slot; the next reset takes one again. */
  onRest(session: Session): void {
    if (session.hasSlot && session.status !== 'running') this.releaseSlot(session);
  }

  private async begin(session: Session, request: ResetRequest, deadline: Deadline): Promise<Turn> {
    const { seed, snapshot, episodeId = unguessable() } = request;
    const kept = snapshot === undefined ? undefined : this.snapshots.get(session.owner, snapshot);
    const chosen = kept === undefined ? chosenEpisode(session.served, request) : {};
    // As for rows of a batch: sessions that leave all open begin by their numbers, not all alike.
    const isOpen = session.episode === undefined && (chosen.seed ?? chosen.task) === undefined;
    const start = isOpen && kept === undefined ? { seed: this.unseeded++ } : chosen;
    if (kept === undefined || !isOver(kept)) await this.takeSlot(session, deadline);
    const play = () =>
      kept === undefined ? session.begin(episodeId, start, deadline) : session.load(episodeId, kept, deadline, seed);
    return session.take((done) => ({ kind: 'reset', ...done }), deadline, play);
  }

  /** Before `more` sessions are opened. @throws SERVER_DRAINING, QUOTA_EXCEEDED */
  private requireRoom(owner: Owner, more: number): void {
    if (this.isDraining) throw reverieError('SERVER_DRAINING');
    this.quotas.requireSessions(owner, more);
  }

  /** @throws SESSION_EXISTS, SERVER_DRAINING, QUOTA_EXCEEDED */
  private add(wanted: NewSession): Session {
    this.requireRoom(wanted.owner, 1);
    if (this.sessions.has(sessionKey(wanted.owner, wanted.id))) throw reverieError('SESSION_EXISTS', { id: wanted.id });
    const session = this.place(wanted);
    // Durable soon, and at the latest with its first reset: before that there is nothing to lose.
    const kept = this.store?.keep({ record: session.record(), snapshot: undefined });
    kept?.catch((error: Error) => process.emitWarning(error));
    this.announce({ kind: 'opened', session: session.state });
    return session;
  }

  /** All of them with their turns, or nothing is left of them; their slots were taken before. @throws as `add`; what `work` throws */
  private async together(
    wanted: readonly NewSession[],
    work: (sessions: readonly Session[]) => Promise<Turn[]>,
  ): Promise<(readonly [Session, Turn])[]> {
    const added: Session[] = [];
    try {
      for (const one of wanted) added.push(this.add(one));
      const turns = await work(added);
      return added.map((one, i) => [one, turns[i]]);
    } catch (error) {
      if (wanted[0].hasSlot) this.slots.release(wanted.length - added.length);
      await Promise.all(added.map((one) => this.remove(one, 'lost')));
      throw error;
    }
  }

  private place(wanted: NewSession): Session {
    const session = new Session(this, wanted);
    this.sessions.set(session.key, session);
    this.gone.delete(session.key);
    this.quotas.countSessions(session.owner, 1);
    return session;
  }

  /** What another process left behind; sessions wake at their next request. */
  private recall(store: SessionStore): void {
    for (const [owner, snapshot] of store.snapshots()) this.snapshots.recall(owner, snapshot);
    for (const { record, snapshot, answers } of store.sessions()) {
      const { id, owner, parent, openedAt, env, episode } = record;
      const key = sessionKey(owner, id);
      const served = this.environments.get(env);
      const isDamaged = episode !== undefined && snapshot === undefined;
      if (served === undefined || served.version !== record.version || isDamaged) {
        this.bury(key, isDamaged ? 'lost' : 'version');
        store.forget(key).catch((error: Error) => process.emitWarning(error));
        continue;
      }
      const session = this.place({ served, id, owner, parent, openedAt, left: { episode, snapshot } });
      session.touch();
      for (const { id: requestId, print, turn } of answers) session.remember(requestId, print, Promise.resolve(turn));
    }
  }

  /** @throws as `Slots.take` */
  private async takeSlot(session: Session, deadline: Deadline): Promise<void> {
    if (session.hasSlot) return;
    await this.slots.take(deadline);
    session.hasSlot = true;
  }

  private releaseSlot(session: Session): void {
    session.hasSlot = false;
    this.slots.release();
  }

  /** Resolves once it is closed and has given back its slot, whatever closes it. */
  private async remove(session: Session, reason: CloseReason): Promise<void> {
    if (this.sessions.get(session.key) !== session) return;
    this.sessions.delete(session.key);
    this.quotas.countSessions(session.owner, -1);
    this.bury(session.key, reason);
    const removal = this.closeSession(session, reason);
    this.removals.add(removal);
    await removal.finally(() => this.removals.delete(removal));
  }

  private async closeSession(session: Session, reason: CloseReason): Promise<void> {
    const { state } = session;
    await session.shut(this.unknown(session.id, session.owner));
    // An environment that fails or hangs as it is closed is no reason to keep its slot.
    const grace = new Deadline(CLOSE_SECONDS);
    await grace.race(session.closeEnvironment()).catch((error: Error) => process.emitWarning(error));
    grace.end();
    if (session.hasSlot) this.releaseSlot(session);
    this.announce({ kind: 'closed', session: state, reason });
    // What is drained continues after a restart, where sessions are kept.
    if (reason !== 'drain') await this.store?.forget(session.key);
  }

  private bury(key: string, reason: CloseReason): void {
    this.closed[reason]++;
    this.gone.set(key, reason);
  }

  /** A session of another owner is as unknown as one that never was. @throws SESSION_UNKNOWN, SESSION_GONE, SERVER_DRAINING */
  private owned(id: string, owner: Owner): Session {
    const session = this.sessions.get(sessionKey(owner, id));
    if (session !== undefined) return session;
    throw this.unknown(id, owner);
  }

  private unknown(id: string, owner: Owner): ReverieError {
    const reason = this.gone.get(sessionKey(owner, id));
    if (reason === undefined) return reverieError('SESSION_UNKNOWN', { id });
    // The next server has it.
    if (reason === 'drain' && this.store !== undefined) return reverieError('SERVER_DRAINING');
    return reverieError('SESSION_GONE', { id, reason, idleSeconds: this.limits.idleSeconds });
  }

  private reap(): void {
    const before = Date.now() - this.limits.idleSeconds * 1000;
    for (const session of this.sessions.values()) {
      if (session.busy || session.lastUsedAt >= before) continue;
      this.remove(session, 'idle').catch((error: Error) => process.emitWarning(error));
    }
  }
}

/** A session of a group in the state of another. */
function branch(
  fork: Session,
  kept: KeptState,
  info: Info,
  deadline: Deadline,
  seed?: number,
  id = unguessable(),
): Promise<Turn> {
  const parent = fork.state.parent ?? fork.id;
  const play = async () => {
    const episode = await fork.load(id, kept, deadline, seed);
    return { ...episode, turn: { ...episode.turn, info } };
  };
  return fork.perform(deadline, () => fork.take((done) => ({ kind: 'forked', parent, ...done }), deadline, play));
}

function checkGroup(count: number, seeds: readonly number[] | undefined): void {
  const isCount = Number.isInteger(count) && count >= 1 && count <= MOST_OF_GROUP;
  if (isCount && (seeds === undefined || seeds.length === count)) return;
  const problem = isCount ? `${seeds?.length} seeds were given` : 'that is no number of sessions';
  throw reverieError('GROUP_INVALID', { count, problem, most: MOST_OF_GROUP });
}

function isOver({ terminated, truncated }: { readonly terminated: boolean; readonly truncated: boolean }): boolean {
  return terminated || truncated;
}
