// The sessions of a server: what facades ask, done under its limits. See session-contract.ts for what is promised.

import type { EventEmitter } from 'node:events';
import { reverieError } from '../../core/errors.js';
import type { Servable } from '../../run/index.js';
import { Deadline } from './deadline.js';
import { Histories } from './history.js';
import { recallSessions } from './recall.js';
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
import { SessionHouse } from './session-house.js';
import type { SessionKeeper } from './session-keeper.js';
import { SESSION_LIMITS, type SessionLimits } from './session-limits.js';
import { SnapshotStore } from './snapshot-store.js';
import { chosenEpisode } from './task-choice.js';
import { TurnPlayer } from './turn-player.js';
import { unguessable } from './unguessable.js';

export { SESSION_LIMITS, type SessionLimits } from './session-limits.js';

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
  private readonly house: SessionHouse;
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
    this.house = new SessionHouse({ limits: { ...SESSION_LIMITS, ...limits }, quotaOf, keeper });
    this.player = new TurnPlayer(this.house);
    this.groups = new SessionGroups(this.house, this.player);
    const keptFor = (owner: Owner) => this.house.quotas.limitsOf(owner).snapshots ?? Number.POSITIVE_INFINITY;
    const forget = (owner: Owner, id: string) => keeper?.forgetSnapshot(owner, id);
    this.snapshots = new SnapshotStore(this.house.limits.snapshots, keptFor, forget);
    this.events = this.house.events;
    this.events.on('event', (event) => this.histories.record(event));
    if (keeper !== undefined) recallSessions(keeper, this.house, this.snapshots, this.environments);
  }

  get counts(): SessionCounts {
    const { registry, slots } = this.house;
    const { active, waiting, size } = slots;
    return { open: registry.size, active, waiting, slots: size, closed: { ...registry.closed } };
  }

  /** How many wait for a slot; `counts` tells of everything. */
  get waiting(): number {
    return this.house.slots.waiting;
  }

  open({ env, id = unguessable(), owner }: OpenRequest): SessionState {
    return this.house.add({ served: this.servedAs(env), id, owner }).state;
  }

  async reset(id: string, request: ResetRequest, owner: Owner, signal?: AbortSignal): Promise<Turn> {
    const session = this.house.registry.owned(id, owner);
    const { requestId, timeoutSeconds, ...content } = request;
    const repeatable = { id: requestId, kind: 'reset', content };
    return this.ask(session, repeatable, { signal, seconds: timeoutSeconds }, (deadline) =>
      this.begin(session, request, deadline),
    );
  }

  async step(id: string, request: StepRequest, owner: Owner, signal?: AbortSignal): Promise<Turn> {
    const session = this.house.registry.owned(id, owner);
    const { action, requestId, timeoutSeconds } = request;
    const repeatable = { id: requestId, kind: 'step', content: action };
    return this.ask(session, repeatable, { signal, seconds: timeoutSeconds }, async (deadline) => {
      session.running();
      this.house.quotas.requireSpend(owner);
      this.house.quotas.takeStep(owner);
      if (!session.hasSlot) await this.house.takeSlot(session, deadline);
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
    const session = this.house.registry.owned(id, owner);
    return this.ask(session, { id: requestId, kind: 'snapshot', content: null }, { signal }, async (deadline) => {
      const kept = this.snapshots.put(owner, await session.look(deadline, () => session.save()));
      await this.house.keeper?.keepSnapshot(owner, kept);
      const { id: ref, env, stepCount } = kept;
      return { id: ref, env, stepCount };
    });
  }

  async restore(id: string, snapshot: string, owner: Owner, options: RestoreRequest = {}): Promise<Turn> {
    const session = this.house.registry.owned(id, owner);
    const kept = this.snapshots.get(owner, snapshot);
    const { requestId, signal, seed } = options;
    const repeatable = { id: requestId, kind: 'restore', content: { snapshot, seed } };
    return this.ask(session, repeatable, { signal }, async (deadline) => {
      if (!isOver(kept)) await this.house.takeSlot(session, deadline);
      return this.player.take(session, deadline, {
        play: () => session.load(session.episode?.id ?? unguessable(), kept, seed),
        tell: ({ session: state, turn }) => ({ kind: 'restored', session: state, turn }),
        request: requestOf(repeatable),
      });
    });
  }

  async fork(id: string, count: number, owner: Owner, options: ForkRequest = {}): Promise<readonly SessionState[]> {
    const parent = this.house.registry.owned(id, owner);
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
    return this.house.limits.idleSeconds;
  }

  holdSlots(count: number, owner: Owner): Promise<SlotLease> {
    return this.house.lend(count, owner);
  }

  environmentOf(id: string, owner: Owner): Servable {
    return this.house.registry.owned(id, owner).served;
  }

  state(id: string, owner: Owner): SessionState {
    return this.house.registry.owned(id, owner).state;
  }

  observe(id: string, owner: Owner): Turn {
    return this.house.registry.owned(id, owner).turn;
  }

  touch(id: string, owner: Owner): void {
    this.house.registry.owned(id, owner).touch();
  }

  async close(id: string, owner: Owner): Promise<void> {
    await this.house.remove(this.house.registry.owned(id, owner), 'client');
  }

  list(owner?: Owner): readonly SessionState[] {
    const all = this.house.registry.all();
    return all.filter((session) => owner === undefined || session.owner === owner).map((session) => session.state);
  }

  history(id: string, owner?: Owner): SessionHistory {
    const session = this.house.registry.get(id);
    const kept = this.histories.of(id, owner === undefined);
    const owned = session?.owner ?? kept?.session.owner;
    if (owned === undefined || (owner !== undefined && owner !== owned)) throw this.house.registry.unknown(id, owner);
    return { session: session?.state ?? kept!.session, steps: kept?.steps ?? [] };
  }

  /** What an owner's sessions have cost so far. */
  spentBy(owner: Owner): Spend {
    return this.house.quotas.spentBy(owner);
  }

  /** Takes no new sessions; resolves once those that are there were closed, by their clients or after `seconds`. */
  drain(seconds: number): Promise<void> {
    return this.house.drain(seconds);
  }

  private async begin(session: Session, request: ResetRequest, deadline: Deadline): Promise<Turn> {
    const { seed, snapshot, episodeId = unguessable(), requestId } = request;
    this.house.quotas.requireSpend(session.owner);
    const kept = snapshot === undefined ? undefined : this.snapshots.get(session.owner, snapshot);
    const chosen = kept === undefined ? chosenEpisode(session.served, request) : {};
    if (kept === undefined || !isOver(kept)) await this.house.takeSlot(session, deadline);
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
    const deadline = new Deadline(Math.min(seconds, this.house.limits.stepSeconds));
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
