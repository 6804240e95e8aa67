// Environments of numbers have no tasks, protocols of tasks have nothing else: there seeds are the tasks.

import type { TaskCard } from './servable.js';

/** Seeds that are offered: [split, first, how many]. Any other may still be asked for by itself. */
const OFFERED = [
  ['train', 0, 1000],
  ['test', 1_000_000, 100],
] as const;

/** `seed-0` to `seed-999` in split train, `seed-1000000` to `seed-1000099` in split test. */
export function seedTasks(): readonly TaskCard[] {
  return OFFERED.flatMap(([split, first, count]) =>
    Array.from({ length: count }, (_, i) => ({ id: `seed-${first + i}`, split, seed: first + i })),
  );
}
