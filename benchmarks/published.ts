// Each learner of ours against a reference implementation: the same body of Gymnasium, settings, budget and seeds. Cases are kept one by
// one, those of the reference with their versions (study-cases.ts), so that a study goes on where it was and nobody runs a reference
// twice. REVERIE_BENCH_BODIES, REVERIE_BENCH_LEARNERS and REVERIE_BENCH_SEEDS (comma-separated; 0 to 19) choose what a sitting measures.
// After a change of a learner its lines leave the file, to be measured anew.

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contentHash } from '../src/core/canonical-json.js';
import type { Report } from '../src/core/report.js';
import { makeEnvironment } from '../src/env/environments.js';
import { rowSize } from '../src/env/space-values.js';
import { ReplayBuffer } from '../src/replay/buffer.js';
import { withDecisions } from '../src/rl/auto-settings.js';
import { learners } from '../src/rl/learners.js';
import { launch } from '../src/run/launch.js';
import type { TrainResult } from '../src/run/pipeline/train.js';
import { loadScenario, type Scenario } from '../src/run/scenario.js';
import type { BenchmarkContext, BenchmarkModule } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { keepReport } from './pages.js';
import { PythonPeer } from './python-peer.js';
import { areaOf, askedDevice, type CaseName, chosen, type Point, type Study, studyOf } from './study-cases.js';

const ID = 'learners.published';

/** The same body on both sides: a folder of `benchmarks/bodies`, and Gymnasium's name. */
const BODIES: Readonly<Record<string, string>> = {
  pendulum: 'Pendulum-v1',
  'inverted-pendulum': 'InvertedPendulum-v5',
  hopper: 'Hopper-v5',
  'half-cheetah': 'HalfCheetah-v5',
  walker2d: 'Walker2d-v5',
};

interface Learner {
  readonly reference: string;
  /** Real steps, or updates from records, by body; on the others it is not measured. */
  readonly budgets: Readonly<Record<string, number>>;
  /** In place of the first five, by body; 0: only where it is asked for, as it takes hours. */
  readonly seeds?: Readonly<Record<string, number>>;
  readonly set: (budget: number) => readonly string[];
}

/** A thousand random steps in place of five thousand, where budgets are of a few thousand. */
const few = (preset: string) => (budget: number) => [
  ...['train.mode=real', `rl.preset=${preset}`, `train.realSteps=${budget}`],
  ...['train.initialRandomSteps=1000', `train.evalEvery=${budget <= 2_000 ? 200 : 500}`],
];

const LEARNERS: Readonly<Record<string, Learner>> = {
  sac: {
    reference: 'Stable-Baselines3',
    budgets: { pendulum: 5_000, 'inverted-pendulum': 5_000, hopper: 20_000, 'half-cheetah': 20_000, walker2d: 20_000 },
    seeds: { hopper: 3, walker2d: 3 },
    set: few('sac'),
  },
  ppo: {
    reference: 'Stable-Baselines3 with VecNormalize',
    budgets: { 'inverted-pendulum': 20_480, hopper: 102_400, 'half-cheetah': 102_400 },
    seeds: { 'inverted-pendulum': 20, hopper: 3 },
    // Stable-Baselines3's defaults; the weight of the value is twice as much here, as the error is halved.
    set: (budget) => [
      ...['train.mode=real', 'rl.algorithm=ppo', `train.realSteps=${budget}`, 'rl.gamma=0.99', 'rl.initLogStd=0'],
      ...['rl.valueCoefficient=1', 'rl.targetKl=null', 'train.stepsPerRound=2048', 'train.evalEvery=2048'],
    ],
  },
  'td3-bc': {
    reference: 'plain PyTorch, by its paper',
    // Where the records of SAC's first steps are too poor to learn from, a ratio says nothing: not pendulum.
    budgets: { hopper: 20_000, 'half-cheetah': 20_000 },
    seeds: { hopper: 3, 'half-cheetah': 3 },
    set: (budget) => [
      ...['train.mode=offline', 'rl.algorithm=td3-bc', 'rl.gamma=0.99', `train.offlineUpdates=${budget}`],
      'train.updatesPerRound=500',
    ],
  },
  droq: {
    reference: 'SBX',
    budgets: { pendulum: 2_000, 'inverted-pendulum': 2_000, hopper: 10_000, 'half-cheetah': 10_000, walker2d: 10_000 },
    seeds: { hopper: 1, 'half-cheetah': 1, walker2d: 1 },
    set: few('droq'),
  },
  simba: {
    reference: 'SBX',
    budgets: { pendulum: 5_000, 'inverted-pendulum': 5_000, hopper: 15_000, 'half-cheetah': 15_000, walker2d: 15_000 },
    seeds: { hopper: 10, 'half-cheetah': 3, walker2d: 3 },
    set: (budget) => [
      ...['train.mode=real', 'rl.algorithm=simba', `train.realSteps=${budget}`, 'train.initialRandomSteps=1000'],
      ...['train.stepsPerRound=1', 'train.updatesPerStep=10', 'train.evalEvery=500'],
    ],
  },
  mbpo: {
    reference: 'mbrl-lib',
    budgets: { 'inverted-pendulum': 3_000, hopper: 5_000, 'half-cheetah': 5_000, walker2d: 5_000 },
    seeds: { 'inverted-pendulum': 3, hopper: 4, 'half-cheetah': 1, walker2d: 3 },
    set: (budget) => [
      ...['rl.preset=mbpo', 'model.preset=mbpo', `train.realSteps=${budget}`],
      ...['train.initialRandomSteps=1000', 'train.evalEvery=250'],
    ],
  },
  redq: {
    reference: 'plain PyTorch, by its paper',
    budgets: { pendulum: 4_000, 'inverted-pendulum': 4_000, hopper: 10_000, 'half-cheetah': 10_000, walker2d: 10_000 },
    seeds: { pendulum: 15, 'inverted-pendulum': 10, hopper: 1, 'half-cheetah': 1, walker2d: 1 },
    // A quarter of the paper's width: with ten critics of it an update of the reference takes fifty milliseconds.
    set: (budget) => [...few('redq')(budget), 'rl.hidden=[64, 64]'],
  },
};

const REQUIREMENTS = [
  ...['torch==2.15.0', 'numpy==2.4.6', 'gymnasium==1.4.0', 'mujoco==4.0.0'],
  ...['stable-baselines3==2.9.2', 'sbx-rl==0.28.0', 'imageio==2.38.1'],
  // Of mbrl-lib, which its script adds.
  ...['hydra-core==1.3.8', 'omegaconf==2.3.1', 'termcolor==3.3.0', 'tqdm==4.70.1', 'matplotlib==3.11.2'],
];
const EPISODES = 5;
const SEEDS = 5;
const ALL_SEEDS = Array.from({ length: 20 }, (_, seed) => `${seed}`);
const RANDOM_EPISODES = 100;

interface CurveCase extends CaseName {
  readonly points: readonly Point[];
  readonly wallSeconds: number;
  /** Of a reference. */
  readonly versions?: Readonly<Record<string, string>>;
}

/** What is measured with one learner on one body with one seed. */
interface Asked {
  readonly learner: string;
  readonly body: string;
  readonly seed: number;
  readonly scenario: string;
  readonly set: readonly string[];
  readonly loaded: Scenario;
  /** What a reference is asked, and the case is known by. */
  readonly request: Readonly<Record<string, unknown>>;
}

class Sitting {
  private peer: Promise<PythonPeer> | undefined;

  constructor(
    private readonly study: Study<CurveCase>,
    private readonly context: BenchmarkContext,
  ) {}

  async close(): Promise<void> {
    await (await this.peer)?.close();
  }

  /** Mean return of a uniformly random policy: where a curve is measured from, as returns may be negative. */
  async random(body: string): Promise<number> {
    const request = { body: BODIES[body], seed: 0, episodes: RANDOM_EPISODES };
    const { points } = await this.kept({ body, arm: 'random', seed: 0, hash: contentHash(request) }, async () => {
      return { points: [[0, await this.asked<number>('random', request)]] };
    });
    return points[0][1];
  }

  /** A curve of the reference. */
  async reference({ learner, body, seed, request }: Asked): Promise<CurveCase> {
    return this.kept({ body, arm: `${learner}, reference`, seed, hash: contentHash(request) }, async () => {
      const records = learner === 'sac' || learner === 'td3-bc' ? await this.records(body, seed, learner) : undefined;
      return this.asked('train', { ...request, ...(records && { records }) });
    });
  }

  /** A curve of ours. */
  async ours({ learner, body, seed, scenario, set, loaded, request }: Asked): Promise<CurveCase> {
    const on = learners.get(loaded.config.rl.algorithm).trainsNatively ? askedDevice() : {};
    return this.kept({ body, arm: `${learner}, ours`, seed, hash: contentHash(request), ...on }, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'reverie-study-'));
      try {
        const records = learner === 'td3-bc' ? await this.records(body, seed, learner) : undefined;
        if (records) await keepRows(records, loaded, join(folder, 'data'));
        const { evaluations } = await launch<TrainResult>('train', {
          ...{ scenario, set, seed, out: join(folder, 'run'), quiet: true, stream: process.stderr },
          ...{ command: 'npm run bench', device: on.device ?? 'cpu' },
          ...(records && { inputs: { data: join(folder, 'data') } }),
        });
        return { points: evaluations.map(({ realSteps, updates, meanReturn }) => [updates ?? realSteps, meanReturn]) };
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });
  }

  /** File of the rows that the reference's SAC collected: what both learn from that learn from records. */
  private async records(body: string, seed: number, learner: string): Promise<string> {
    const folder = join(this.context.root, 'benchmarks', '.cache', 'records');
    await mkdir(folder, { recursive: true });
    const path = join(folder, `${body}-${seed}${this.context.quick ? '-quick' : ''}.bin`);
    if (learner === 'td3-bc' && !existsSync(path)) {
      const { request } = await askedOf('sac', body, seed, this.context);
      await this.asked('train', { ...request, episodes: 1, records: path });
    }
    return path;
  }

  private async kept(
    name: CaseName,
    measure: () => Promise<Pick<CurveCase, 'points' | 'versions'>>,
  ): Promise<CurveCase> {
    const before = this.study.find(name);
    if (before) return before;
    const start = performance.now();
    const measured = await measure();
    const found = { ...name, ...measured, wallSeconds: Math.round((performance.now() - start) / 1000) };
    await this.study.keep(found);
    const last = found.points.at(-1)!;
    const { log } = this.context;
    log(`${name.body}, ${name.arm}, seed ${name.seed}: ${last[1].toFixed(1)} at ${last[0]}, ${found.wallSeconds} s`);
    return found;
  }

  private async asked<T>(method: string, parameters: Readonly<Record<string, unknown>>): Promise<T> {
    const { root, log } = this.context;
    const options = { name: 'published', requirements: REQUIREMENTS, script: 'published.py', root, log };
    this.peer ??= PythonPeer.start({ ...options, environment: { OMP_NUM_THREADS: '1', JAX_PLATFORMS: 'cpu' } });
    return (await this.peer).call<T>(method, parameters);
  }
}

async function askedOf(learner: string, body: string, seed: number, { root, quick }: BenchmarkContext): Promise<Asked> {
  const { budgets, set: of } = LEARNERS[learner];
  const scenario = join(root, 'benchmarks', 'bodies', body);
  const budget = quick ? 400 : budgets[body];
  const set = [
    ...of(budget),
    `train.evalEpisodes=${EPISODES}`,
    ...(quick ? ['train.initialRandomSteps=200', 'train.evalEvery=100', 'train.updatesPerStep=1'] : []),
  ];
  const loaded = await loadScenario(scenario, { set });
  const env = await makeEnvironment(loaded.config.env);
  const rl = only(RL_KEYS, withDecisions(loaded.config.rl, env));
  await env.close();
  const settings = { rl, train: only(TRAIN_KEYS, loaded.config.train) };
  const request = { learner, body: BODIES[body], seed, ...settings, episodes: EPISODES };
  return { learner, body, seed, scenario, set, loaded, request };
}

/** What references are told, and nothing else: a new setting of ours makes no new case. */
const RL_KEYS = [
  ...['hidden', 'lr', 'gamma', 'tau', 'batchSize', 'targetEntropy', 'initAlpha', 'critics', 'drawn', 'policyEvery'],
  ...['dropout', 'alpha', 'epochs', 'gaeLambda', 'clipRatio', 'entropyCoefficient', 'valueCoefficient', 'targetKl'],
  'initLogStd',
];
const TRAIN_KEYS = [
  ...['realSteps', 'initialRandomSteps', 'stepsPerRound', 'updatesPerStep', 'updatesPerRound', 'offlineUpdates'],
  'evalEvery',
];

function only(keys: readonly string[], settings: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).filter(([key]) => keys.includes(key)));
}

/** A file of rows, as peers write them, as a snapshot that a run takes for `--data`. */
async function keepRows(path: string, { config }: Scenario, folder: string): Promise<void> {
  const env = await makeEnvironment(config.env);
  const [obsDim, actionDim] = [rowSize(env.observationSpace), rowSize(env.actionSpace)];
  await env.close();
  const bytes = await readFile(path);
  const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const width = 2 * obsDim + actionDim + 3;
  const rows = values.length / width;
  const column = (from: number, count: number) =>
    Float32Array.from({ length: rows * count }, (_, i) => values[Math.floor(i / count) * width + from + (i % count)]);
  const buffer = new ReplayBuffer({ obsDim, actionDim, capacity: rows, source: 'real' });
  const scalar = (place: number) => column(obsDim + actionDim + place, 1);
  buffer.append(
    {
      ...{ rows, obs: column(0, obsDim), action: column(obsDim, actionDim), reward: scalar(0) },
      ...{ terminated: Uint8Array.from(scalar(1)), truncated: Uint8Array.from(scalar(2)) },
      nextObs: column(obsDim + actionDim + 3, obsDim),
    },
    {
      ...{ source: 'real', backend: 'real', modelVersion: '', scenario: config.name, policyVersion: 'reference' },
      ...{ seed: 0, episode: new Float64Array(rows), step: Uint32Array.from({ length: rows }, (_, i) => i) },
    },
  );
  await buffer.save(folder);
}

interface Pair {
  readonly learner: string;
  readonly body: string;
  readonly random: number;
  readonly ours: readonly CurveCase[];
  readonly reference: readonly CurveCase[];
}

/** Mean area of ours ÷ of the reference, with the interval over seeds; undefined where the reference is no better than a random policy. */
export function ratioOf({ random, ours, reference }: Pick<Pair, 'random' | 'ours' | 'reference'>) {
  const ends = [...ours, ...reference].map(({ points }) => `${points[0][0]} to ${points.at(-1)![0]}`);
  if (new Set(ends).size > 1) throw new Error(`Curves of different steps: ${[...new Set(ends)].join('; ')}.`);
  const areas = [ours, reference].map((cases) => cases.map(({ points }) => areaOf(points) - random));
  if (mean(areas[1]) <= 0) return undefined;
  return bootstrap([...ours.keys()], (places) => {
    const [own, other] = areas.map((side) => mean(places.map((place) => side[place])));
    return own / other;
  });
}

function reportOf(pairs: readonly Pair[]): Report {
  const text = (value: number) => value.toLocaleString('en', { maximumSignificantDigits: 3 });
  const areas = (cases: readonly CurveCase[], random: number) =>
    text(mean(cases.map(({ points }) => areaOf(points) - random)));
  return {
    title: 'Learners against reference implementations',
    blocks: [
      {
        ...{ kind: 'table', alignment: 'figures' },
        columns: ['', 'ours ÷ reference', 'ours', 'reference', 'random policy'],
        rows: pairs.map((pair) => {
          const found = ratioOf(pair);
          const { learner, body, random, ours, reference } = pair;
          const interval = found && ours.length > 1 ? ` [${text(found.low)}, ${text(found.high)}]` : '';
          const ratio = found ? `${text(found.value)}${interval}` : '–';
          return [`${learner}, ${body}`, ratio, areas(ours, random), areas(reference, random), text(random)];
        }),
        note: 'Area under the curve: mean return over the steps above that of a random policy; means over seeds, with the 95 % interval of the ratio where there are several. No ratio where the reference is no better than a random policy.',
      },
      ...pairs.map(({ learner, body, ours, reference }) => ({
        ...{ kind: 'curves' as const, title: `${learner}, ${body}`, yTitle: 'return' },
        xTitle: learner === 'td3-bc' ? 'gradient updates' : 'real steps',
        curves: Object.entries({ ours, [LEARNERS[learner].reference]: reference }).flatMap(([name, cases], colour) =>
          cases.map(({ seed, points }) => ({ name, seed, colour, points: points.map(([x, y]) => ({ x, y })) })),
        ),
      })),
    ],
  };
}

/** The worst of learner and body: the value. Seeds outside, so that after any part of the time all have been given about the same. */
export const learnersPublished: BenchmarkModule = {
  async run(context) {
    const { root, quick } = context;
    const chosenSeeds = chosen(ALL_SEEDS, 'REVERIE_BENCH_SEEDS');
    const seeds = (quick ? ['0'] : chosenSeeds).map(Number);
    const bodies = quick ? ['pendulum'] : chosen(Object.keys(BODIES), 'REVERIE_BENCH_BODIES');
    const names = quick ? ['sac', 'droq'] : chosen(Object.keys(LEARNERS), 'REVERIE_BENCH_LEARNERS');
    const sitting = new Sitting(await studyOf<CurveCase>(root, ID, quick), context);
    const pairs: (Pair & { readonly ours: CurveCase[]; readonly reference: CurveCase[] })[] = [];
    const isAsked = (learner: string, body: string, seed: number) =>
      chosenSeeds !== ALL_SEEDS || seed < (LEARNERS[learner].seeds?.[body] ?? SEEDS);
    try {
      for (const body of bodies) {
        for (const learner of names.filter((one) => LEARNERS[one].budgets[body] !== undefined && isAsked(one, body, 0)))
          pairs.push({ learner, body, random: await sitting.random(body), ours: [], reference: [] });
      }
      for (const seed of seeds) {
        for (const { learner, body, ours, reference } of pairs) {
          if (!isAsked(learner, body, seed)) continue;
          const asked = await askedOf(learner, body, seed, context);
          reference.push(await sitting.reference(asked));
          ours.push(await sitting.ours(asked));
        }
      }
    } finally {
      await sitting.close();
    }
    const ratios = pairs.flatMap(({ learner, body, ...pair }) => {
      const found = ratioOf(pair);
      if (!found) context.log(`${body}, ${learner}: no ratio, as the reference is no better than a random policy`);
      return found ? [{ learner, body, n: pair.ours.length, ...found }] : [];
    });
    if (ratios.length === 0) throw new Error('No reference is better than a random policy: there is no ratio to tell.');
    if (!quick) await keepReport(root, ID, reportOf(pairs));
    const { value, low, high, n } = ratios.reduce((a, b) => (b.value < a.value ? b : a));
    const versions = pairs[0].reference[0].versions;
    return { value, low, high, n, versions, raw: { seeds, ratios } };
  },
};
