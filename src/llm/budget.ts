// What may be spent on language models. A call reserves what it will probably cost before it is made, so that many at
// once cannot overshoot: near a limit they wait for each other, and at the limit they fail before anything is asked.

import { addCosts, type Cost, NO_COST, subtractCosts } from '../core/cost.js';
import { reverieError } from '../core/errors.js';
import { abortError, onAbort } from './flow.js';

export interface BudgetLimits {
  readonly calls?: number;
  /** Of prompts and replies together. */
  readonly tokens?: number;
  /** In the currency of the configured prices. */
  readonly money?: number;
  /** Wall-clock time since the budget was made; a limit on time makes results depend on the machine. */
  readonly seconds?: number;
}

type BudgetLimit = keyof BudgetLimits;

export interface Reservation {
  /** Ends the reservation; call once. `cost`: what was really spent, `NO_COST` if nothing was; `by`: who asked. */
  settle(cost: Cost, by?: string): void;
}

export class Budget {
  /** What each of those who asked has spent. */
  readonly spentBy: Record<string, Cost> = {};
  /** Who pays for all that is spent now, no matter which role asks. */
  payer: string | undefined;
  private spentSoFar: Cost = NO_COST;
  private reserved: Cost = NO_COST;
  private readonly start = performance.now();
  private waiting: (() => void)[] = [];

  constructor(private readonly limits: BudgetLimits) {}

  get spent(): Cost {
    return this.spentSoFar;
  }

  /** Counts what was spent without a reservation. */
  charge(cost: Cost, by = 'others'): void {
    this.spentSoFar = addCosts(this.spentSoFar, cost);
    const payer = this.payer ?? by;
    if (cost.calls > 0) this.spentBy[payer] = addCosts(this.spentBy[payer] ?? NO_COST, cost);
    this.wake();
  }

  /** The first limit that is reached; undefined while there is something left of everything. */
  exhausted(): BudgetLimit | undefined {
    const { calls, money } = this.spentSoFar;
    const used = { calls, tokens: tokensOf(this.spentSoFar), money, seconds: this.seconds() };
    return LIMITS.find((limit) => used[limit] >= (this.limits[limit] ?? Number.POSITIVE_INFINITY));
  }

  /**
   * Sets `estimate` aside. Waits while calls in flight may still use up what is left. Throws BUDGET_SPENT, or the
   * signal's reason.
   */
  async reserve(estimate: Cost, signal?: AbortSignal): Promise<Reservation> {
    while (true) {
      if (signal?.aborted) throw abortError(signal);
      const limit = this.exhausted();
      if (limit !== undefined) throw this.error(limit);
      if (this.leavesRoom()) break;
      await new Promise<void>((resolve) => {
        const forgetSignal = signal && onAbort(signal, resolve);
        this.waiting.push(() => {
          forgetSignal?.();
          resolve();
        });
      });
    }
    this.reserved = addCosts(this.reserved, estimate);
    return {
      settle: (cost, by) => {
        this.reserved = subtractCosts(this.reserved, estimate);
        this.charge(cost, by);
      },
    };
  }

  private leavesRoom(): boolean {
    // Rounding must not leave a rest of reserved money behind that blocks the last call for ever.
    if (this.reserved.calls === 0) return true;
    const { calls, tokens, money } = this.limits;
    const both = addCosts(this.spentSoFar, this.reserved);
    return !(
      both.calls >= (calls ?? Infinity) ||
      tokensOf(both) >= (tokens ?? Infinity) ||
      both.money >= (money ?? Infinity)
    );
  }

  private error(limit: BudgetLimit): Error {
    const { calls, money } = this.spentSoFar;
    const spent = { calls, tokens: tokensOf(this.spentSoFar), money, seconds: Math.round(this.seconds()) }[limit];
    return reverieError('BUDGET_SPENT', { limit, spent, allowed: this.limits[limit], retryable: false });
  }

  private seconds(): number {
    return (performance.now() - this.start) / 1000;
  }

  private wake(): void {
    const woken = this.waiting;
    this.waiting = [];
    for (const resolve of woken) resolve();
  }
}

const LIMITS = ['calls', 'tokens', 'money', 'seconds'] as const;

function tokensOf({ promptTokens, completionTokens }: Cost): number {
  return promptTokens + completionTokens;
}

/** What a model did so far. */
export interface ModelStats {
  /** Requests sent, retries included. */
  readonly requests: number;
  readonly retries: number;
  /** Replies from the cache, and calls that shared the reply of an equal one in flight. */
  readonly cacheHits: number;
  /** Spent since it was made, replies that could not be used included. */
  readonly spent: Cost;
  readonly inFlight: number;
  /** Requests that may be in flight at once, now. */
  readonly limit: number;
  /** How JSON is asked for. */
  readonly structured: string;
  /** Keys that the server refused, so that they are no longer sent. */
  readonly omitted: readonly string[];
  /** How the last request failed; absent where it succeeded. */
  readonly problem?: string;
}
