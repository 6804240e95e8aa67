// What exploring finds: different cells of the observation space that are visited in so many real steps, by disagreement ÷ by
// random actions, on the pendulum and the cart-pole swing-up; the value is the lesser body's median over seeds. Cells
// divide what either of the two saw, element by element. Every finished seed is kept.

import { Rng } from '../src/core/rng.js';
import { makeEnvironment } from '../src/env/make-environment.js';
import { rowSize } from '../src/env/space-values.js';
import { ReplayBuffer } from '../src/replay/buffer.js';
import { RandomPolicy } from '../src/rl/policies.js';
import { Collector, Explorer, record, recorderOf } from '../src/training/collector.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { keptCases, NOTHING_KEPT } from './kept-cases.js';
import { bootstrap, median } from './measure.js';

const BODIES = ['pendulum', 'cartpole-swingup'];
const CELLS_AN_ELEMENT = 12;
const STEPS = 1500;

const EXPLORE = { horizon: 20, candidates: 32, rewardWeight: 0, workers: 0 } as const;
const MODEL = { kind: 'ensemble', hidden: [64, 64] };

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const seeds = Array.from({ length: quick ? 1 : 5 }, (_, i) => 100 + i);
  const steps = quick ? 300 : STEPS;
  const cases = quick ? NOTHING_KEPT : keptCases(root, 'explore.coverage', log);
  const bodies = [];
  for (const id of BODIES) {
    const found = [];
    for (const seed of seeds) {
      const settings = { id, seed, steps, cells: CELLS_AN_ELEMENT, explore: { ...EXPLORE } };
      found.push(await cases.of(`${id}-${seed}`, settings, () => coverage(id, seed, steps, quick)));
      log(`${id}, seed ${seed}: ${JSON.stringify(found.at(-1))}`);
    }
    const ratios = found.map(({ explored, random }) => explored / random);
    bodies.push({ id, found, ...bootstrap(ratios, median) });
  }
  const { value, low, high } = bodies.reduce((a, b) => (b.value < a.value ? b : a));
  return { value, low, high, n: seeds.length, raw: { seeds, steps, cellsAnElement: CELLS_AN_ELEMENT, bodies } };
}

/** Cells that each way of living visited. */
async function coverage(id: string, seed: number, steps: number, quick: boolean) {
  const explored = await lived(id, seed, steps, true, quick);
  const random = await lived(id, seed, steps, false, quick);
  const cellOf = cells([explored, random]);
  const count = (rows: ReplayBuffer) => new Set(Array.from({ length: rows.size }, (_, row) => cellOf(rows, row))).size;
  return { explored: count(explored), random: count(random) };
}

async function lived(id: string, seed: number, steps: number, isExploring: boolean, quick: boolean) {
  const env = await makeEnvironment({ id });
  const root = Rng.fromSeed(seed);
  const [obsDim, actionDim] = [rowSize(env.observationSpace), rowSize(env.actionSpace)];
  const buffer = new ReplayBuffer({ capacity: steps, obsDim, actionDim, source: 'real' });
  const signal = new AbortController().signal;
  const model = { ...MODEL, ...(quick && { maxEpochs: 2, members: 3, elites: 2 }) };
  const settings = { ...EXPLORE, model, initialRandomSteps: 250, refitEvery: 250, env: { id } };
  const explorer = new Explorer(settings, env, root.split('explore'), () => {}, signal);
  const recorder = isExploring ? explorer : recorderOf(new RandomPolicy(env.actionSpace));
  const collector = new Collector(env, id, root.split('episodes'), seed);
  const recording = { collector, recorder, rng: root.split('collect'), buffer, episodes: [] };
  await record(recording, steps, { signal, tell: () => {}, checkpoint: async () => {} });
  await explorer.close();
  await env.close();
  return buffer;
}

/** The cell of a row's next observation, as a word. */
function cells(sides: readonly ReplayBuffer[]): (rows: ReplayBuffer, row: number) => string {
  const { obsDim } = sides[0];
  const low = new Float64Array(obsDim).fill(Number.POSITIVE_INFINITY);
  const high = new Float64Array(obsDim).fill(Number.NEGATIVE_INFINITY);
  for (const side of sides) {
    for (const [i, value] of side
      .columns()
      .nextObs.subarray(0, side.size * obsDim)
      .entries()) {
      low[i % obsDim] = Math.min(low[i % obsDim], value);
      high[i % obsDim] = Math.max(high[i % obsDim], value);
    }
  }
  return (rows, row) => {
    const seen = rows.columns().nextObs.subarray(row * obsDim, (row + 1) * obsDim);
    const at = (value: number, j: number) =>
      Math.min(Math.floor((CELLS_AN_ELEMENT * (value - low[j])) / (high[j] - low[j] || 1)), CELLS_AN_ELEMENT - 1);
    return Array.from(seen, at).join();
  };
}
