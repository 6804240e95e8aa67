// The sessions of a server: what facades ask, done under its limits. See session-contract.ts for what is promised.

import type { EventEmitter } from 'node:events';
import { reverieError } from '../../core/errors.js';
import type { Servable } from '../../run/serving/index.js';
import { Histories } from './history.js';
import { Deadline } from './queues.js';
import { SESSION_LIMITS, type SessionLimits } from './quotas.js';
import type { RepeatableRequest } from './request-memory.js';
import type { Session } from './session.js';
import type {
  ForkRequest,
  GroupMember,
  GroupRequest,
  OpenRequest,
  Owner,
  QuotaLimits,
  RepeatOptions,
  ResetRequest,
  RestoreRequest,
  SessionCounts,
  SessionEvent,
  SessionHistory,
  SessionState,
  Sessions,
  SlotLease,
  SnapshotRef,
  Spend,
  StepItem,
  StepOutcome,
  StepRequest,
  Turn,
} from './session-contract.js';
import { SessionGroups } from './session-groups.js';
import { sessionKey, unguessable } from './session-ids.js';
import type { KeptSession, SessionKeeper } from './session-keeper.js';
import { SessionManager } from './session-manager.js';
import { SnapshotStore } from './snapshot-store.js';
import { chosenEpisode } from './task-choice.js';
import { TurnPlayer } from './turn-player.js';

export { SESSION_LIMITS, type SessionLimits } from './quotas.js';

export interface SessionTableOptions {
  /** What each owner may take; without limit unless given. */
  readonly quotaOf?: (owner: Owner) => QuotaLimits;
  /** Writes sessions down, so that they outlive the process; what it has is there again. Closed by `drain`. */
  readonly keeper?: SessionKeeper;
}

type Events = { event: [SessionEvent] };

export class SessionTable implements Sessions {
  readonly environments: ReadonlyMap<string, Servable>;
  readonly defaultEnv: Servable;
  /** Emits `event`. */
  readonly events: EventEmitter<Events>;
  private readonly manager: SessionManager;
  private readonly player: TurnPlayer;
  private readonly groups: SessionGroups;
  private readonly snapshots: SnapshotStore;
  private readonly histories = new Histories();

  constructor(
    served: readonly Servable[],
    limits: Partial<SessionLimits> = {},
    { quotaOf, keeper }: SessionTableOptions = {},
  ) {
    this.environments = new Map(served.map((one) => [one.name, one]));
    this.defaultEnv = served[0];
    this.manager = new SessionManager({ limits: { ...SESSION_LIMITS, ...limits }, quotaOf, keeper });
    this.player = new TurnPlayer(this.manager);
    this.groups = new SessionGroups(this.manager, this.player);
    const keptFor = (owner: Owner) => this.manager.quotas.limitsOf(owner).snapshots ?? Number.POSITIVE_INFINITY;
    const forget = (owner: Owner, id: string) => keeper?.forgetSnapshot(owner, id);
    this.snapshots = new SnapshotStore(this.manager.limits.snapshots, keptFor, forget);
    this.events = this.manager.events;
    this.events.on('event', (event) => this.histories.record(event));
    if (keeper !== undefined) recallSessions(keeper, this.manager, this.snapshots, this.environments);
  }

  get counts(): SessionCounts {
    const { registry, slots } = this.manager;
    const { active, waiting, size } = slots;
    return { open: registry.size, active, waiting, slots: size, closed: { ...registry.closed } };
  }

  /** How many wait for a slot; `counts` tells of everything. */
  get waiting(): number {
    return this.manager.slots.waiting;
  }

  open({ env, id = unguessable(), owner }: OpenRequest): SessionState {
    return this.manager.add({ served: this.servedAs(env), id, owner }).state;
  }

  async reset(id: string, request: ResetRequest, owner: Owner, signal?: AbortSignal): Promise<Turn> {
    const session = this.manager.registry.owned(id, owner);
    const { requestId, timeoutSeconds, ...content } = request;
    const repeatable = { id: requestId, kind: 'reset', content };
    return this.ask(session, repeatable, { signal, seconds: timeoutSeconds }, (deadline) =>
      this.begin(session, request, deadline),
    );
  }

  async step(id: string, request: StepRequest, owner: Owner, signal?: AbortSignal): Promise<Turn> {
    const session = this.manager.registry.owned(id, owner);
    const { action, requestId, timeoutSeconds } = request;
    const repeatable = { id: requestId, kind: 'step', content: action };
    return this.ask(session, repeatable, { signal, seconds: timeoutSeconds }, async (deadline) => {
      session.running();
      this.manager.quotas.requireSpend(owner);
      this.manager.quotas.takeStep(owner);
      if (!session.hasSlot) await this.manager.takeSlot(session, deadline);
      return this.player.take(session, deadline, {
        play: () => session.act(action, deadline),
        tell: (told) => ({ kind: 'step', action, ...told }),
        isPaid: true,
        request: requestOf(repeatable),
      });
    });
  }

  async stepMany(items: readonly StepItem[], owner: Owner, signal?: AbortSignal): Promise<readonly StepOutcome[]> {
    return Promise.all(
      items.map(async ({ id, ...request }) => {
        try {
          return { id, turn: await this.step(id, request, owner, signal) };
        } catch (error) {
          return { id, error };
        }
      }),
    );
  }

  async snapshot(id: string, owner: Owner, { requestId, signal }: RepeatOptions = {}): Promise<SnapshotRef> {
    const session = this.manager.registry.owned(id, owner);
    return this.ask(session, { id: requestId, kind: 'snapshot', content: null }, { signal }, async (deadline) => {
      const kept = this.snapshots.put(owner, await session.look(deadline, () => session.save()));
      await this.manager.keeper?.keepSnapshot(owner, kept);
      const { id: ref, env, stepCount } = kept;
      return { id: ref, env, stepCount };
    });
  }

  async restore(id: string, snapshot: string, owner: Owner, options: RestoreRequest = {}): Promise<Turn> {
    const session = this.manager.registry.owned(id, owner);
    const kept = this.snapshots.get(owner, snapshot);
    const { requestId, signal, seed } = options;
    const repeatable = { id: requestId, kind: 'restore', content: { snapshot, seed } };
    return this.ask(session, repeatable, { signal }, async (deadline) => {
      if (!isOver(kept)) await this.manager.takeSlot(session, deadline);
      return this.player.take(session, deadline, {
        play: () => session.load(session.episode?.id ?? unguessable(), kept, seed),
        tell: ({ session: state, turn }) => ({ kind: 'restored', session: state, turn }),
        request: requestOf(repeatable),
      });
    });
  }

  async fork(id: string, count: number, owner: Owner, options: ForkRequest = {}): Promise<readonly SessionState[]> {
    const parent = this.manager.registry.owned(id, owner);
    const { requestId, signal, seeds } = options;
    const repeatable = { id: requestId, kind: 'fork', content: { count, seeds } };
    return this.ask(parent, repeatable, { signal }, (deadline) => this.groups.fork(parent, count, options, deadline));
  }

  async openGroup(
    { env, ...group }: GroupRequest,
    reset: ResetRequest,
    signal?: AbortSignal,
  ): Promise<readonly GroupMember[]> {
    const begin = (leader: Session, deadline: Deadline) => this.begin(leader, reset, deadline);
    return this.groups.open({ ...group, served: this.servedAs(env), begin }, signal);
  }

  get idleSeconds(): number {
    return this.manager.limits.idleSeconds;
  }

  holdSlots(count: number, owner: Owner): Promise<SlotLease> {
    return this.manager.lend(count, owner);
  }

  environmentOf(id: string, owner: Owner): Servable {
    return this.manager.registry.owned(id, owner).served;
  }

  state(id: string, owner: Owner): SessionState {
    return this.manager.registry.owned(id, owner).state;
  }

  observe(id: string, owner: Owner): Turn {
    return this.manager.registry.owned(id, owner).turn;
  }

  touch(id: string, owner: Owner): void {
    this.manager.registry.owned(id, owner).touch();
  }

  async close(id: string, owner: Owner): Promise<void> {
    await this.manager.remove(this.manager.registry.owned(id, owner), 'client');
  }

  list(owner?: Owner): readonly SessionState[] {
    const all = this.manager.registry.all();
    return all.filter((session) => owner === undefined || session.owner === owner).map((session) => session.state);
  }

  history(id: string, owner: Owner): SessionHistory {
    const found = this.historyAt(sessionKey(owner, id), false);
    if (found !== undefined) return found;
    throw this.manager.registry.unknown(id, owner);
  }

  /**
   * The same for the operator, with full `info`.
   * @param key  as `sessionKey` makes it
   * @throws SESSION_UNKNOWN
   */
  anyHistory(key: string): SessionHistory {
    const found = this.historyAt(key, true);
    if (found !== undefined) return found;
    throw reverieError('SESSION_UNKNOWN', { id: key });
  }

  /** What an owner's sessions have cost so far. */
  spentBy(owner: Owner): Spend {
    return this.manager.quotas.spentBy(owner);
  }

  /** Takes no new sessions; resolves once those that are there were closed, by their clients or after `seconds`. */
  drain(seconds: number): Promise<void> {
    return this.manager.drain(seconds);
  }

  private historyAt(key: string, isOperator: boolean): SessionHistory | undefined {
    const session = this.manager.registry.get(key);
    const kept = this.histories.of(key, isOperator);
    if (session === undefined) return kept;
    return { session: session.state, steps: kept?.steps ?? [] };
  }

  private async begin(session: Session, request: ResetRequest, deadline: Deadline): Promise<Turn> {
    const { seed, snapshot, episodeId = unguessable(), requestId } = request;
    this.manager.quotas.requireSpend(session.owner);
    const kept = snapshot === undefined ? undefined : this.snapshots.get(session.owner, snapshot);
    const chosen = kept === undefined ? chosenEpisode(session.served, request) : {};
    if (kept === undefined || !isOver(kept)) await this.manager.takeSlot(session, deadline);
    const { requestId: _, ...content } = request;
    return this.player.take(session, deadline, {
      play: () =>
        kept === undefined ? session.begin(episodeId, chosen, deadline) : session.load(episodeId, kept, seed),
      tell: (told) => ({ kind: 'reset', ...told }),
      isPaid: true,
      request: requestOf({ id: requestId, kind: 'reset', content }),
    });
  }

  /** Does what a request wants, once, in its turn, before its deadline. */
  private async ask<R>(
    session: Session,
    request: RepeatableRequest,
    { signal, seconds = Number.POSITIVE_INFINITY }: { readonly signal?: AbortSignal; readonly seconds?: number },
    work: (deadline: Deadline) => Promise<R>,
  ): Promise<R> {
    // Who has left already wants nothing.
    if (signal?.aborted) throw signal.reason;
    const deadline = new Deadline(Math.min(seconds, this.manager.limits.stepSeconds));
    return session.requests.ask(request, deadline, signal, () =>
      session.perform(deadline, () => work(deadline)).finally(() => deadline.end()),
    );
  }

  private servedAs(name: string | undefined): Servable {
    const served = name === undefined ? this.defaultEnv : this.environments.get(name);
    if (served !== undefined) return served;
    throw reverieError('ENV_NOT_SERVED', { env: name, known: [...this.environments.keys()].join(', ') });
  }
}

function requestOf({ id, kind, content }: RepeatableRequest) {
  return id === undefined ? undefined : { id, kind, content };
}

function isOver({ terminated, truncated }: { readonly terminated: boolean; readonly truncated: boolean }): boolean {
  return terminated || truncated;
}

// Sessions that another process left behind: they are there again, and wake at their next request.

/** Those whose environment is served no more, or in another version, are closed. */
function recallSessions(
  keeper: SessionKeeper,
  manager: SessionManager,
  snapshots: SnapshotStore,
  environments: ReadonlyMap<string, Servable>,
): void {
  for (const [owner, spend] of keeper.spends()) manager.quotas.recall(owner, spend);
  for (const [owner, snapshot] of keeper.snapshots()) snapshots.recall(owner, snapshot);
  for (const kept of keeper.sessions()) recall(kept, keeper, manager, environments);
}

function recall(
  { record, answers }: KeptSession,
  keeper: SessionKeeper,
  manager: SessionManager,
  environments: ReadonlyMap<string, Servable>,
): void {
  const { id, owner, env, version, parent, openedAt, episode } = record;
  const served = environments.get(env);
  if (served?.version !== version) {
    manager.registry.bury(id, owner, 'version');
    keeper.forget(sessionKey(owner, id)).catch((error: Error) => process.emitWarning(error));
    return;
  }
  const session = manager.place({ served, id, owner, parent, openedAt });
  session.touch();
  session.commit(episode);
  for (const { id: requestId, print, turn } of answers) session.requests.remember(requestId, print, turn);
}
