// A measured number and how sure it is.

export interface Estimate {
  /** null where nothing was counted. */
  readonly value: number | null;
  /** Interval of 95 % unless said otherwise; both null where there is none. */
  readonly low: number | null;
  readonly high: number | null;
  /** Units it was made from: transitions, questions, episodes, policies. */
  readonly n: number;
  readonly method: 'wilson' | 'bootstrap' | 'exact' | 'none';
}

export const NOTHING: Estimate = { value: null, low: null, high: null, n: 0, method: 'none' };
