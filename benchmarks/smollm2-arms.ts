// SmolLM2-135M-Instruct on errands, trained in four ways and judged in the real environment on held-out tasks: as it is; by
// imitation of verified successes; by imitation of all that was lived, failures too, for as many steps; by imitation of the
// successes and then GRPO in a dream. Each is a case of a study (study-cases.ts): REVERIE_BENCH_SEEDS (comma-separated) chooses
// what this sitting measures, REVERIE_BENCH_THREADS how many threads torch takes (1).

import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canonicalJson, type Json, sha256 } from '../src/core/canonical-json.js';
import { Rng } from '../src/core/rng.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { type Interval, mean } from './measure.js';
import { errandsHash, type Judged, type Rig, startRig, type WorldSizes } from './smollm2-rig.js';
import { type CaseName, chosen, studyOf } from './study-cases.js';

export type ErrandArm = 'untrained' | 'imitation' | 'imitation-unfiltered' | 'dream';

/** One arm of one seed. */
export interface ErrandCase extends CaseName {
  readonly arm: ErrandArm;
  /** By the order of the held-out tasks. */
  readonly rewards: readonly (number | null)[];
  readonly calls: readonly number[];
  /** Of training and of judging. */
  readonly seconds: Readonly<Record<'training' | 'judging', number>>;
  /** What the trainer logged, step by step. */
  readonly log: readonly object[];
  /** Episodes to read. */
  readonly shown: readonly Judged[];
}

interface Sizes extends WorldSizes {
  /** Of TRL's SFTConfig. */
  readonly imitation: object;
  /** Of TRL's GRPOConfig. */
  readonly dream: object;
  /** Tokens that a turn may have. */
  readonly longestTurn: number;
}

const ID = 'experience.smollm2';
const SEEDS = ['1', '2', '3'];
const SHOWN = 3;
const CURVE = { lr_scheduler_type: 'linear', warmup_steps: 5, weight_decay: 0 };
const FULL: Sizes = {
  ...{ trainTasks: 64, testTasks: 24, episodes: 128, failures: 0.5, dreamError: 0.1, longestTurn: 48 },
  imitation: { max_steps: 30, per_device_train_batch_size: 2, learning_rate: 1e-3, ...CURVE },
  dream: {
    ...{ max_steps: 8, per_device_train_batch_size: 6, num_generations: 6, learning_rate: 1e-4, ...CURVE },
    ...{ max_completion_length: 640, max_tool_calling_iterations: 8 },
  },
};
const QUICK: Sizes = {
  ...FULL,
  ...{ trainTasks: 6, testTasks: 2, episodes: 12, longestTurn: 8 },
  imitation: { ...FULL.imitation, max_steps: 1, per_device_train_batch_size: 1 },
  dream: {
    ...FULL.dream,
    ...{ max_steps: 1, per_device_train_batch_size: 2, num_generations: 2, max_completion_length: 24 },
  },
};

/** Points of success of the last of these arms above the first; in `raw` above each of the others. */
export async function pointsAbove(arms: readonly ErrandArm[], context: BenchmarkContext): Promise<Measurement> {
  const { cases, seeds, versions } = await errandCases(arms, context);
  const of = (name: ErrandArm, seed: number) => cases.find((one) => one.arm === name && isOf(one, seed))!;
  const above = (other: ErrandArm) => pointsBetween(seeds.map((seed) => [of(arms.at(-1)!, seed), of(other, seed)]));
  const points = Object.fromEntries(arms.slice(0, -1).map((other) => [`above ${other}`, above(other)]));
  const raw = { seeds, sizes: context.quick ? QUICK : FULL, points, rates: ratesOf(cases), cases };
  return { ...above(arms[0]), n: seeds.length, raw, versions };
}

/** Nothing is drawn where nothing is trained: one case is that of all seeds. */
function isOf({ arm, seed }: ErrandCase, wanted: number): boolean {
  return arm === 'untrained' || seed === wanted;
}

/** In points, with the 95 % interval where seeds and tasks are drawn anew. An episode without a reward is none that succeeded. */
export function pointsBetween(
  pairs: readonly (readonly [Pick<ErrandCase, 'rewards'>, Pick<ErrandCase, 'rewards'>])[],
): Interval {
  const gains = pairs.map(([arm, other]) =>
    arm.rewards.map((reward, at) => solved(reward) - solved(other.rewards[at])),
  );
  const rng = Rng.fromSeed(0).split('bootstrap');
  const draws = Float64Array.from({ length: 10_000 }, () => {
    const tasks = gains[0].map(() => rng.int(gains[0].length));
    return 100 * mean(gains.map(() => gains[rng.int(gains.length)]).map((seed) => mean(tasks.map((at) => seed[at]))));
  }).sort();
  const at = (share: number) => draws[Math.round(share * (draws.length - 1))];
  return { value: 100 * mean(gains.map(mean)), low: at(0.025), high: at(0.975) };
}

function solved(reward: number | null): number {
  return reward === 1 ? 1 : 0;
}

function ratesOf(cases: readonly ErrandCase[]) {
  return cases.map(({ arm, seed, rewards, calls }) => {
    return {
      arm,
      seed,
      solved: rewards.filter((reward) => reward === 1).length,
      of: rewards.length,
      calls: mean(calls),
    };
  });
}

async function errandCases(arms: readonly ErrandArm[], context: BenchmarkContext) {
  const { quick, root, log } = context;
  const sizes = quick ? QUICK : FULL;
  const seeds = (quick ? SEEDS.slice(0, 1) : chosen(SEEDS, 'REVERIE_BENCH_SEEDS')).map(Number);
  const temporary = await mkdtemp(join(tmpdir(), 'reverie-smollm2-'));
  const study = await studyOf<ErrandCase>(root, ID, quick);
  const world = await errandsHash(root, join(temporary, 'errands'), sizes);
  const folder = quick ? temporary : join(root, 'runs', 'bench', ID, hashOf('imitation', sizes, world).slice(0, 12));
  if (!quick) log(`steps of training are told in ${folder}/seed-*/*/steps.jsonl`);
  const cases: ErrandCase[] = [];
  let rig: Rig | undefined;
  try {
    for (const seed of seeds) {
      for (const arm of arms) {
        const hash = hashOf(arm, sizes, world);
        const name = { body: 'errands', arm, seed: arm === 'untrained' ? 0 : seed, hash };
        let found = study.find(name);
        if (found === undefined) {
          rig ??= await startRig(sizes, folder, context);
          found = { ...name, ...(await measured(rig, arm, seed, join(folder, `seed-${seed}`), sizes)) };
          await study.keep(found);
          const rate = found.rewards.filter((reward) => reward === 1).length;
          log(`${arm}, seed ${seed}: ${rate} of ${found.rewards.length}, ${JSON.stringify(found.seconds)} s`);
        }
        if (!cases.includes(found)) cases.push(found);
      }
    }
    return { cases, seeds, versions: rig?.versions };
  } finally {
    await rig?.close();
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Of what decides the outcome of this arm, so that another setting of a later one leaves its cases. */
function hashOf(arm: ErrandArm, sizes: Sizes, world: string): string {
  const { testTasks, longestTurn, trainTasks, episodes, failures, imitation, dreamError, dream } = sizes;
  const settings = {
    ...{ world, testTasks, longestTurn },
    ...(arm === 'untrained' ? {} : { trainTasks, episodes, failures, imitation }),
    ...(arm === 'dream' ? { dreamError, dream } : {}),
  };
  return sha256(canonicalJson(settings as unknown as Json));
}

async function measured(rig: Rig, arm: ErrandArm, seed: number, folder: string, sizes: Sizes) {
  const { peer, base, scripts, testTasks } = rig;
  const began = performance.now();
  const { adapter, log } = await trained(rig, arm, seed, folder, sizes);
  const trainedAt = performance.now();
  const given = { glue: scripts.real, base, tasks: testTasks, longest: sizes.longestTurn, adapter };
  const judged = await peer.call<readonly Judged[]>('judge', given);
  const seconds = (from: number, to: number) => Math.round(to - from) / 1000;
  return {
    rewards: judged.map(({ reward }) => reward),
    calls: judged.map(({ calls }) => calls),
    seconds: { training: seconds(began, trainedAt), judging: seconds(trainedAt, performance.now()) },
    log,
    shown: judged.slice(0, SHOWN),
  };
}

interface Trained {
  /** Folder of what was learnt; null: nothing. */
  readonly adapter: string | null;
  readonly log: readonly object[];
}

async function trained(rig: Rig, arm: ErrandArm, seed: number, folder: string, sizes: Sizes): Promise<Trained> {
  const { peer, base, scripts } = rig;
  const adapter = join(folder, arm);
  if (arm === 'untrained') return { adapter: null, log: [] };
  if (arm === 'dream') {
    const first = await imitated(rig, 'imitation', seed, folder, sizes);
    const given = { glue: scripts.dream, base, adapter: first.adapter, out: adapter, seed, count: sizes.trainTasks };
    return { adapter, log: await peer.call('improve', { ...given, settings: sizes.dream }) };
  }
  return imitated(rig, arm, seed, folder, sizes);
}

/** Not again where the adapter lies there from before, as what dreams begin from. */
async function imitated(
  { peer, base, scripts, episodes }: Rig,
  arm: 'imitation' | 'imitation-unfiltered',
  seed: number,
  folder: string,
  sizes: Sizes,
): Promise<Trained> {
  const out = join(folder, arm);
  if (existsSync(join(out, 'adapter_model.safetensors'))) return { adapter: out, log: [] };
  const { filtered, unfiltered } = await episodes(seed);
  const given = { glue: scripts.real, base, export: arm === 'imitation' ? filtered : unfiltered, out, seed };
  return { adapter: out, log: await peer.call('imitate', { ...given, settings: sizes.imitation }) };
}
