// What a dream costs where the world cannot be learned: return with the dream by its defaults ÷ without it, at as many real steps and
// updates, on worlds made to be unlearnable. The gate is to keep it near 1. Measured while policies are still on their way, and again
// once they have learned all there is (in `raw`), where a dream could only unlearn. Kept case by case, as warm-start.default.

import { environments } from '../src/env/environments.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { chosen, measuredCase, type StudyCase, studyOf } from './study-cases.js';
import { UNLEARNABLE } from './unlearnable.js';

const ID = 'dream.harm';
const BODIES = ['shuffled', 'chaos'];
const SEEDS = ['50', '51', '52', '53', '54'];
/** Real steps: on the way, and in the end. */
const BUDGETS = [300, 3000];
const ARMS = { dream: [], 'real rows, as many updates': ['replay.realRatio=1'] };

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  for (const entry of UNLEARNABLE) if (!environments.has(entry.name)) environments.register(entry);
  const study = await studyOf(root, ID, quick);
  const bodies = quick ? ['shuffled'] : chosen(BODIES, 'REVERIE_BENCH_BODIES');
  const seeds = (quick ? ['50'] : chosen(SEEDS, 'REVERIE_BENCH_SEEDS')).map(Number);
  const budgets = quick ? [200] : BUDGETS;
  const found = budgets.map((budget) => ({ budget, ratios: [] as number[], cases: [] as StudyCase[] }));
  for (const seed of seeds) {
    for (const { budget, ratios, cases } of found) {
      for (const body of bodies) {
        const pair: StudyCase[] = [];
        for (const [arm, set] of Object.entries(ARMS)) {
          pair.push(await measuredCase(study, root, { body, arm, seed, budget, set }, log));
        }
        cases.push(...pair);
        ratios.push((pair[0].lastReturn ?? 0) / (pair[1].lastReturn ?? 1));
      }
    }
  }
  const byBudget = found.map(({ budget, ratios, cases }) => ({ budget, ...bootstrap(ratios, mean), ratios, cases }));
  const { value, low, high, ratios } = byBudget[0];
  return { value, low, high, n: ratios.length, raw: { bodies, seeds, byBudget } };
}
