// Where each `auto` of a learner's settings is decided, by the body it learns to move: the same for every learner and way of training, so
// that a comparison of two is fair. Layers of 64 were found best on small bodies, and wider ones gained nothing on hopper; large bodies get the published 256.

import type { Decided } from './config.js';
import { type Spaces, spaceDim } from './spaces.js';

export interface Decision {
  /** Of `rl`. */
  readonly key: string;
  readonly value: unknown;
  readonly reason: string;
}

/** Elements of an observation and an action together, up to which a body is small, and up to which it gets narrow networks. */
const [SMALL, MIDDLE] = [12, 24];
const NARROW = { hidden: [64, 64], batchSize: 64, lr: 1e-3 };
const WIDE = { hidden: [256, 256], batchSize: 256, lr: 3e-4 };

/** A reward that many seconds later counts about a third (1/e), within bounds. */
const HORIZON_SECONDS = 2.7;
const [LEAST_GAMMA, MOST_GAMMA] = [0.99, 0.997];

/** What is decided of `settings`, and why. */
export function decisionsOf(settings: object, { observationSpace, actionSpace, id, stepSeconds }: Spaces): Decision[] {
  const [observed, moved] = [spaceDim(observationSpace), spaceDim(actionSpace)];
  const isSmall = observed + moved <= SMALL;
  const size = `${observed} observed and ${moved} action elements`;
  const { targetEntropy } = settings as { readonly targetEntropy?: 'auto' | number | Readonly<Record<string, number>> };
  const listed = typeof targetEntropy === 'object' ? targetEntropy : undefined;
  const own = listed?.[id ?? ''];
  const entropy = listed
    ? { value: own ?? -moved, reason: own === undefined ? 'not listed: minus the action elements' : `listed for ${id}` }
    : { value: isSmall ? -moved : -moved / 2, reason: size };
  const discount = Math.min(MOST_GAMMA, Math.max(LEAST_GAMMA, 1 - (stepSeconds ?? 1) / HORIZON_SECONDS));
  const duration = stepSeconds === undefined ? 'how long a step takes is not known' : `a step takes ${stepSeconds} s`;
  const decided: Decision[] = [
    ...Object.entries(observed + moved <= MIDDLE ? NARROW : WIDE).map(([key, value]) => ({ key, value, reason: size })),
    { key: 'targetEntropy', ...entropy },
    { key: 'gamma', value: Number(discount.toFixed(4)), reason: duration },
  ];
  const asked: Readonly<Record<string, unknown>> = { ...settings, ...(listed && { targetEntropy: 'auto' }) };
  return decided.filter(({ key }) => asked[key] === 'auto');
}

/** `settings` with nothing left open. */
export function withDecisions<Config extends object>(settings: Config, spaces: Spaces): Decided<Config> {
  const decided = decisionsOf(settings, spaces).map(({ key, value }) => [key, value]);
  return { ...settings, ...Object.fromEntries(decided) };
}
