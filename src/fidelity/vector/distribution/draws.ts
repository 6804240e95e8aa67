// Which transitions are drawn, of dreams and of the real: each some steps deep into a sequence that begins anywhere. Were
// the dream perfect, all samples would be drawn from the same recorded transitions in the same way.

import type { Beginning } from '../open-loop.js';
import { type Judged, sectionRng } from '../plan.js';
import { stepsFrom } from '../truth.js';

/** Of each sample. */
export const DRAWS = 640;

export interface Draws {
  /** Each is dreamt for its steps; the last one is the drawn transition. */
  readonly dreamt: readonly Beginning[];
  /** Recorded rows that dreams are held against. */
  readonly real: readonly number[];
  /** As many others, for what the real shows of itself. */
  readonly others: readonly number[];
}

export function drawsOf(judged: Judged): Draws {
  const { plan } = judged.ground;
  const rng = sectionRng(plan, 'distribution');
  const pool = poolOf(judged);
  const draw = (label: string) => {
    const own = rng.split('draws', label);
    return Array.from({ length: pool.length === 0 ? 0 : DRAWS }, (): Beginning => {
      const { row, seed } = pool[own.int(pool.length)];
      return { row, seed, steps: 1 + own.int(stepsFrom(judged.ground.truth, row, plan.horizon)) };
    });
  };
  const rowsOf = (drawn: readonly Beginning[]) => drawn.map(({ row, steps }) => row + steps - 1);
  return { dreamt: draw('dreamt'), real: rowsOf(draw('real')), others: rowsOf(draw('others')) };
}

/** Where sequences may begin: any row, or, of a model that starts itself, the first rows of episodes. */
function poolOf({ ground, subject }: Judged): readonly Pick<Beginning, 'row' | 'seed'>[] {
  const { truth } = ground;
  if (subject.model !== undefined) return Array.from({ length: truth.rows.rows }, (_, row) => ({ row }));
  const own = truth.episodes.filter(({ seed }) => seed !== undefined);
  return own.map(({ first, seed }) => ({ row: first, seed }));
}
