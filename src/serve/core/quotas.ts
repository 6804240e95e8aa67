// What a server's sessions may take together, and what each owner may take and has taken.

import { reverieError } from '../../core/errors.js';
import type { Info, ToolsStepInfo } from '../../env/index.js';
import type { Owner, QuotaLimits, Spend } from './session-contract.js';

export interface SessionLimits {
  /** Episodes under way at once. */
  readonly slots: number;
  /** Seconds a reset waits for a slot; never beyond `stepSeconds`, so that something is always answered by then. */
  readonly slotWaitSeconds: number;
  /** Seconds without a request after which a session is closed. */
  readonly idleSeconds: number;
  /** Seconds from asking to the answer, waiting for other requests and for a slot included. OpenEnv's clients give up after 60. */
  readonly stepSeconds: number;
  /** Seconds that work may go on after it was called off; then its session is lost. */
  readonly graceSeconds: number;
  /** Snapshots kept for each owner: the latest. */
  readonly snapshots: number;
}

export const SESSION_LIMITS: SessionLimits = {
  slots: 1024,
  slotWaitSeconds: 30,
  idleSeconds: 900,
  stepSeconds: 55,
  graceSeconds: 30,
  snapshots: 256,
};

const NOTHING_SPENT: Spend = { money: 0, tokens: 0 };

/** Steps that may still be taken at once; it fills up again evenly. */
interface Allowance {
  left: number;
  at: number;
}

export class Quotas {
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
