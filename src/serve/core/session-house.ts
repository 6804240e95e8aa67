// Opens and closes sessions, and sees to it that no more episodes are under way than there are slots.

import { EventEmitter } from 'node:events';
import { reverieError } from '../../core/errors.js';
import type { EnvSnapshot, Info, ToolsStepInfo } from '../../env/index.js';
import type { Servable } from '../../run/index.js';
import { Deadline } from './deadline.js';
import { Session } from './session.js';
import type { CloseReason, Owner, QuotaLimits, SessionEvent, SlotLease, Spend } from './session-contract.js';
import { recordOf, type SessionKeeper } from './session-keeper.js';
import type { SessionLimits } from './session-limits.js';
import { SessionRegistry } from './session-registry.js';
import { Slots } from './slots.js';

type Events = { event: [SessionEvent] };

export interface NewSession {
  readonly served: Servable;
  readonly id: string;
  readonly owner: Owner;
  readonly parent?: string;
  /** It was given one of the slots its maker has taken. */
  readonly hasSlot?: boolean;
  /** Milliseconds since the epoch; now unless given. */
  readonly openedAt?: number;
}

export interface HouseOptions {
  readonly limits: SessionLimits;
  readonly quotaOf?: (owner: Owner) => QuotaLimits;
  /** Writes sessions down, so that they outlive the process. */
  readonly keeper?: SessionKeeper;
}

export class SessionHouse {
  readonly events = new EventEmitter<Events>();
  readonly registry: SessionRegistry;
  readonly slots: Slots;
  readonly quotas: Quotas;
  readonly limits: SessionLimits;
  readonly keeper: SessionKeeper | undefined;
  private readonly reaper: NodeJS.Timeout;
  private readonly removals = new Set<Promise<void>>();
  private readonly lent = new Map<Owner, number>();
  private isDraining = false;

  constructor({ limits, quotaOf, keeper }: HouseOptions) {
    this.limits = limits;
    this.keeper = keeper;
    this.quotas = new Quotas(quotaOf);
    this.registry = new SessionRegistry(limits.idleSeconds);
    this.slots = new Slots(limits.slots, limits.slotWaitSeconds * 1000);
    this.reaper = setInterval(() => this.reap(), Math.min(limits.idleSeconds * 250, 10_000)).unref();
  }

  /** Before `count` sessions are opened. @throws SERVER_DRAINING, QUOTA_EXCEEDED */
  requireRoom(owner: Owner, count: number): void {
    if (this.isDraining) throw reverieError('SERVER_DRAINING');
    this.quotas.requireSessions(owner, this.registry.countOf(owner) + (this.lent.get(owner) ?? 0), count);
  }

  /** @throws SESSION_EXISTS, SERVER_DRAINING, QUOTA_EXCEEDED */
  add(wanted: NewSession): Session {
    this.requireRoom(wanted.owner, 1);
    this.registry.requireFree(wanted.id);
    const session = this.place(wanted);
    this.keepOpened(session);
    this.announce({ kind: 'opened', session: session.state });
    return session;
  }

  /** A session that was open before, in another process. */
  place({ hasSlot = false, openedAt = Date.now(), ...rest }: NewSession): Session {
    const session = new Session({
      ...rest,
      openedAt,
      origin: (one) => this.originOf(one),
      grace: this.limits.graceSeconds * 1000,
      onRest: (one) => this.releaseIfOver(one),
      onLost: (one) => void this.remove(one, 'lost'),
    });
    session.hasSlot = hasSlot;
    this.registry.add(session);
    return session;
  }

  /** @throws as `Slots.take` */
  async takeSlot(session: Session, deadline: Deadline): Promise<void> {
    if (session.hasSlot) return;
    await this.slots.take(deadline);
    session.hasSlot = true;
  }

  /** See `Sessions.holdSlots`. Lent slots count as sessions of their owner. */
  async lend(count: number, owner: Owner): Promise<SlotLease> {
    this.requireRoom(owner, count);
    const deadline = new Deadline(this.limits.stepSeconds);
    await this.slots.take(deadline, count).finally(() => deadline.end());
    const add = (more: number) => this.lent.set(owner, (this.lent.get(owner) ?? 0) + more);
    add(count);
    return {
      takeSteps: (steps) => this.quotas.takeStep(owner, steps),
      release: () => {
        add(-count);
        this.slots.release(count);
      },
    };
  }

  /** Resolves once it is closed and has given back its slot, whoever closes it. */
  async remove(session: Session, reason: CloseReason): Promise<void> {
    if (!this.registry.remove(session, reason)) return;
    const removal = this.close(session, reason);
    this.removals.add(removal);
    await removal.finally(() => this.removals.delete(removal));
  }

  /** Observers that fail are warned of; what they look at has happened all the same. */
  announce(event: SessionEvent): void {
    try {
      this.events.emit('event', event);
    } catch (error) {
      process.emitWarning(error as Error);
    }
  }

  /** Takes no new sessions; resolves once those that are there were closed, by their clients or after `seconds`. */
  async drain(seconds: number): Promise<void> {
    this.isDraining = true;
    const patience = new Deadline(seconds);
    await patience.race(this.emptied()).catch(() => {});
    patience.end();
    await Promise.all(this.registry.all().map((session) => this.remove(session, 'drain')));
    await Promise.all(this.removals);
    clearInterval(this.reaper);
    await this.keeper?.close();
  }

  /** Durable soon, and at the latest with its first reset: before that there is nothing to lose. */
  private keepOpened(session: Session): void {
    const kept = this.keeper?.keep({ record: recordOf(session), snapshot: undefined });
    kept?.catch((error: Error) => process.emitWarning(error));
  }

  /** A session that was written down and whose state is not to be read is lost. */
  private originOf(session: Session): EnvSnapshot | undefined {
    if (this.keeper === undefined || session.episode === undefined) return undefined;
    const snapshot = this.keeper.snapshotOf(session.id);
    if (snapshot !== undefined) return snapshot;
    void this.remove(session, 'lost');
    throw this.registry.unknown(session.id, session.owner);
  }

  private emptied(): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (this.registry.size > 0) return;
        this.events.off('event', look);
        resolve();
      };
      this.events.on('event', look);
      look();
    });
  }

  private async close(session: Session, reason: CloseReason): Promise<void> {
    const { state } = session;
    session.shut(this.registry.unknown(session.id, session.owner));
    // A session that was lost while it was being closed never rests.
    if (reason !== 'lost') await Promise.race([session.ended(), session.whenLost]);
    const closed = this.closeWorld(session);
    if (reason !== 'lost') await closed;
    if (session.hasSlot) {
      session.hasSlot = false;
      this.slots.release();
    }
    // What is drained goes on after a restart, where sessions are kept.
    if (reason !== 'drain') await this.keeper?.forget(session.id);
    this.announce({ kind: 'closed', session: state, reason });
  }

  /** An environment that fails or hangs as it is closed is no reason to keep its slot. */
  private async closeWorld(session: Session): Promise<void> {
    const grace = new Deadline(this.limits.graceSeconds);
    try {
      await grace.race(session.closeWorld());
    } catch (error) {
      process.emitWarning(error as Error);
    } finally {
      grace.end();
    }
  }

  /** An episode that is over needs no slot; the next reset takes one again. */
  private releaseIfOver(session: Session): void {
    if (!session.hasSlot || session.status === 'running') return;
    session.hasSlot = false;
    this.slots.release();
  }

  private reap(): void {
    const before = Date.now() - this.limits.idleSeconds * 1000;
    for (const session of this.registry.all()) {
      if (!session.busy && session.lastUsedAt < before) void this.remove(session, 'idle');
    }
  }
}

// What each owner may take of the server, and has taken.

const NOTHING_SPENT: Spend = { money: 0, tokens: 0 };

/** Steps that may still be taken at once; it fills up again evenly. */
interface Allowance {
  left: number;
  at: number;
}

class Quotas {
  private readonly spent = new Map<Owner, Spend>();
  private readonly allowances = new Map<Owner, Allowance>();

  constructor(private readonly quotaOf: (owner: Owner) => QuotaLimits = () => ({})) {}

  limitsOf(owner: Owner): QuotaLimits {
    return this.quotaOf(owner);
  }

  spentBy(owner: Owner): Spend {
    return this.spent.get(owner) ?? NOTHING_SPENT;
  }

  /** What was spent before, e.g. until the server ended. */
  recall(owner: Owner, spend: Spend): void {
    this.spent.set(owner, spend);
  }

  /** @throws QUOTA_EXCEEDED where `more` sessions beside `open` are too many */
  requireSessions(owner: Owner, open: number, more: number): void {
    const { sessions: limit } = this.quotaOf(owner);
    if (limit !== undefined && open + more > limit) throw exceeded('open sessions', open, limit);
  }

  /** Before work that may ask a language model. @throws QUOTA_EXCEEDED */
  requireSpend(owner: Owner): void {
    const { money, tokens } = this.quotaOf(owner);
    if (money === undefined && tokens === undefined) return;
    const spent = this.spentBy(owner);
    if (money !== undefined && spent.money >= money) throw exceeded('money for language models', spent.money, money);
    if (tokens !== undefined && spent.tokens >= tokens) throw exceeded('tokens', spent.tokens, tokens);
  }

  /** Counts as many steps. @throws QUOTA_EXCEEDED */
  takeStep(owner: Owner, steps = 1): void {
    const { stepsPerMinute: limit } = this.quotaOf(owner);
    if (limit === undefined) return;
    const now = performance.now();
    const { left, at } = this.allowances.get(owner) ?? { left: limit, at: now };
    const filled = Math.min(limit, left + ((now - at) / 60_000) * limit);
    if (filled < steps) throw exceeded('steps a minute', limit, limit);
    this.allowances.set(owner, { left: filled - steps, at: now });
  }

  /** Whether anything was charged. @param info  of a turn: what its user and its answers cost */
  charge(owner: Owner, info: Info): boolean {
    const { userCost, predictions = [] } = info as Partial<ToolsStepInfo>;
    if (userCost === undefined && predictions.length === 0) return false;
    let { money, tokens } = NOTHING_SPENT;
    for (const cost of [userCost, ...predictions.map((one) => one.cost)]) {
      money += cost?.money ?? 0;
      tokens += (cost?.promptTokens ?? 0) + (cost?.completionTokens ?? 0);
    }
    if (money === 0 && tokens === 0) return false;
    const before = this.spentBy(owner);
    this.spent.set(owner, { money: before.money + money, tokens: before.tokens + tokens });
    return true;
  }
}

function exceeded(what: string, used: number, limit: number) {
  return reverieError('QUOTA_EXCEEDED', { what, used, limit });
}
