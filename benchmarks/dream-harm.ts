// What a dream costs where the world cannot be learned: return with the dream by its defaults ÷ without it, at as many real steps and
// updates, on worlds made to be unlearnable. The gate is to keep it near 1. Kept case by case, as warm-start.default.

import { environments } from '../src/env/environments.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { chosen, measuredCase, type StudyCase, studyOf } from './study-cases.js';
import { UNLEARNABLE } from './unlearnable.js';

const ID = 'dream.harm';
const BODIES = ['shuffled', 'chaos'];
const SEEDS = ['50', '51', '52', '53', '54'];
const ARMS = { dream: [], 'real rows, as many updates': ['replay.realRatio=1'] };

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  for (const entry of UNLEARNABLE) if (!environments.has(entry.name)) environments.register(entry);
  const study = await studyOf(root, ID, quick);
  const bodies = quick ? ['shuffled'] : chosen(BODIES, 'REVERIE_BENCH_BODIES');
  const seeds = (quick ? ['50'] : chosen(SEEDS, 'REVERIE_BENCH_SEEDS')).map(Number);
  const budget = quick ? 400 : 3000;
  const cases: StudyCase[] = [];
  const ratios: number[] = [];
  for (const seed of seeds) {
    for (const body of bodies) {
      const pair: StudyCase[] = [];
      for (const [arm, set] of Object.entries(ARMS)) {
        pair.push(await measuredCase(study, root, { body, arm, seed, budget, set }, log));
      }
      cases.push(...pair);
      ratios.push((pair[0].lastReturn ?? 0) / (pair[1].lastReturn ?? 1));
    }
  }
  return { ...bootstrap(ratios, mean), n: ratios.length, raw: { bodies, seeds, budget, ratios, cases } };
}
