// Leaves a server alone that fails again and again: open after so many failures in a row, then one request at a time
// tries whether it is back. The pause doubles, up to a minute, while it is not.

export type BreakerState = 'closed' | 'open' | 'half-open';

const LONGEST_PAUSE = 60;

export class Breaker {
  private failures = 0;
  private openUntil = 0;
  private pause: number;
  private probing = false;

  constructor(
    private readonly maxFailures: number,
    private readonly pauseSeconds: number,
    private readonly now: () => number = () => performance.now() / 1000,
  ) {
    this.pause = pauseSeconds;
  }

  get state(): BreakerState {
    if (this.failures < this.maxFailures) return 'closed';
    return this.probing || this.now() >= this.openUntil ? 'half-open' : 'open';
  }

  /** Whether a request may be sent now; a request that may must end in `succeed`, `fail` or `forget`. */
  allow(): boolean {
    if (this.failures < this.maxFailures) return true;
    if (this.probing || this.now() < this.openUntil) return false;
    this.probing = true;
    return true;
  }

  succeed(): void {
    this.failures = 0;
    this.probing = false;
    this.pause = this.pauseSeconds;
  }

  fail(): void {
    this.failures++;
    // Only what opened the circuit, or the trial after it, says how long to wait: others were sent before.
    if (this.failures !== this.maxFailures && !this.probing) return;
    this.openUntil = this.now() + this.pause;
    if (this.probing) this.pause = Math.min(LONGEST_PAUSE, this.pause * 2);
    this.probing = false;
  }

  /** The request said nothing about the server's health, as it was called off. */
  forget(): void {
    this.probing = false;
  }
}
