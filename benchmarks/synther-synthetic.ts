// What rows drawn from a diffusion are worth to an offline learner: the return of TD3+BC on drawn rows only ÷ on the real rows that the
// diffusion was fitted to, both above that of a random policy. Hopper and half-cheetah, each with one set of records (the replay of a
// SAC on its way), five seeds of diffusion and learner; the value is the lesser body's ratio of means. The curve over the share of drawn
// rows stands in `raw`. Cases are kept one by one (study-cases.ts): REVERIE_BENCH_BODIES, REVERIE_BENCH_SEEDS and REVERIE_BENCH_SHARES
// (comma-separated) choose what this sitting measures, REVERIE_BENCH_DEVICE what is learned on.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256 } from '../src/core/canonical-json.js';
import { Rng } from '../src/core/rng.js';
import { type LaunchOptions, launch } from '../src/run/launch.js';
import type { CollectResult } from '../src/run/pipeline/collect.js';
import type { TrainResult } from '../src/run/pipeline/train.js';
import { loadScenario } from '../src/run/scenario.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { type Interval, mean } from './measure.js';
import { askedDevice, type CaseName, chosen, type Study, studyOf } from './study-cases.js';

const ID = 'synther.synthetic';
const BODIES = ['hopper', 'half-cheetah'];
const SEEDS = ['50', '51', '52', '53', '54'];

/** Shares of drawn rows in a batch: the ends make the value, and are measured first. */
const ENDS = [0, 1];
const BETWEEN = [0.5, 0.25, 0.75];
const SHARES = [...ENDS, ...BETWEEN].map(String);

const RECORDS_SEED = 49;
const RESAMPLES = 10_000;

interface OfflineCase extends CaseName {
  /** Of the last evaluation. */
  readonly meanReturn: number;
  readonly wallSeconds: number;
}

interface Sizes {
  /** Of the run whose replay the records are. */
  readonly records: readonly string[];
  /** Of every offline run. */
  readonly learner: readonly string[];
  /** Of the diffusion, as a scenario's `replay.generative`. */
  readonly diffusion: string;
}

const SIZES: Sizes = {
  records: [
    ...['rl={algorithm: sac, hidden: [64, 64], batchSize: 64}', 'train.mode=real', 'train.realSteps=20000'],
    ...['train.initialRandomSteps=2000', 'train.stepsPerRound=50', 'train.evalEvery=10000', 'train.threshold=null'],
  ],
  learner: [
    ...['rl={algorithm: td3-bc, hidden: [64, 64], batchSize: 128}', 'train.mode=offline', 'train.threshold=null'],
    ...['train.offlineUpdates=20000', 'train.updatesPerRound=20000', 'train.evalEpisodes=10'],
  ],
  diffusion: 'rows: 40000, updates: 10000, hidden: 128, blocks: 4, batchSize: 256, levels: 20',
};

const QUICK: Sizes = {
  records: ['train.mode=real', 'train.realSteps=400', 'train.initialRandomSteps=200', 'train.evalEpisodes=1'],
  learner: [
    ...['rl={algorithm: td3-bc, hidden: [16], batchSize: 16}', 'train.mode=offline', 'train.evalEpisodes=1'],
    ...['train.offlineUpdates=50', 'train.updatesPerRound=50'],
  ],
  diffusion: 'rows: 200, updates: 50, hidden: 16, blocks: 1, batchSize: 32, levels: 4',
};

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const bodies = quick ? ['pendulum'] : chosen(BODIES, 'REVERIE_BENCH_BODIES');
  const seeds = (quick ? ['50'] : chosen(SEEDS, 'REVERIE_BENCH_SEEDS')).map(Number);
  const sitting = new Sitting(await studyOf<OfflineCase>(root, ID, quick), quick ? QUICK : SIZES, log);
  try {
    const random = new Map<string, number>();
    for (const body of bodies) random.set(body, (await sitting.atRandom(body)).meanReturn);
    const cases: OfflineCase[] = [];
    const wished = quick ? ENDS : chosen(SHARES, 'REVERIE_BENCH_SHARES').map(Number);
    for (const shares of [ENDS, BETWEEN].map((group) => group.filter((share) => wished.includes(share)))) {
      for (const seed of seeds) {
        for (const body of bodies) for (const share of shares) cases.push(await sitting.offline(body, share, seed));
      }
    }
    const of = bodies.map((body) => ({ body, random: random.get(body)!, ...worthOf(body, random.get(body)!, cases) }));
    const { value, low, high } = of.reduce((a, b) => (b.value < a.value ? b : a));
    return { value, low, high, n: seeds.length, raw: { bodies: of, seeds, sizes: SIZES, cases } };
  } finally {
    await sitting.close();
  }
}

const armOf = (share: number) => `drawn ${share}`;

/** Ratio of mean returns above random, drawn rows only ÷ real ones, by seeds drawn together; and the mean at every share. */
function worthOf(body: string, random: number, cases: readonly OfflineCase[]) {
  const returnsAt = (share: number) => {
    const own = cases.filter((one) => one.body === body && one.arm === armOf(share));
    return own.map(({ meanReturn }) => meanReturn - random);
  };
  const [real, drawn] = ENDS.map(returnsAt);
  const curve = [...ENDS, ...BETWEEN].sort().map((share) => ({ share, returnsAboveRandom: returnsAt(share) }));
  return { ...pairedRatio(drawn, real), curve };
}

/** Mean ÷ mean, with the 95 % interval of resampled pairs. */
function pairedRatio(ours: readonly number[], baseline: readonly number[]): Interval {
  const rng = Rng.fromSeed(0).split('bootstrap');
  const ratio = (rows: readonly number[]) => mean(rows.map((i) => ours[i])) / mean(rows.map((i) => baseline[i]));
  const all = ours.map((_, i) => i);
  const ratios = Float64Array.from({ length: RESAMPLES }, () => ratio(all.map(() => rng.int(all.length)))).sort();
  const at = (share: number) => ratios[Math.round(share * (RESAMPLES - 1))];
  return { value: ratio(all), low: at(0.025), high: at(0.975) };
}

/** Cases as they are kept, or measured now; records are made once a sitting, when a case first asks for them. */
class Sitting {
  private readonly records = new Map<string, Promise<string>>();
  private folder: Promise<string> | undefined;

  constructor(
    private readonly study: Study<OfflineCase>,
    private readonly sizes: Sizes,
    private readonly log: BenchmarkContext['log'],
  ) {}

  /** Mean return of a random policy. */
  async atRandom(body: string): Promise<OfflineCase> {
    const set = ['collect.policy=random', 'collect.steps=10000'];
    const { hash } = await loadScenario(body, { set });
    const name = { body, arm: 'random policy', seed: RECORDS_SEED, hash };
    return this.measured(name, async () => {
      const { meanReturn, wallSeconds } = await this.launched<CollectResult>('collect', name, { set });
      return { meanReturn: meanReturn!, wallSeconds };
    });
  }

  /** Return of what was learned from records with this share of drawn rows in every batch. */
  async offline(body: string, share: number, seed: number): Promise<OfflineCase> {
    const { learner, diffusion, records } = this.sizes;
    const drawn = share === 0 ? [] : [`replay.generative={share: ${share}, ${diffusion}}`];
    const set = [...learner, ...drawn];
    const hashes = [await loadScenario(body, { set }), await loadScenario(body, { set: [...records] })];
    const hash = sha256(hashes.map((one) => one.hash).join());
    const name = { body, arm: armOf(share), seed, hash, ...askedDevice() };
    return this.measured(name, async () => {
      const inputs = { data: await this.recordsOf(body) };
      const result = await this.launched<TrainResult>('train', name, { set, inputs, ...askedDevice() });
      return { meanReturn: result.evaluations.at(-1)!.meanReturn, wallSeconds: result.wallSeconds };
    });
  }

  async close(): Promise<void> {
    if (this.folder) await rm(await this.folder, { recursive: true, force: true });
  }

  private async measured(
    name: CaseName,
    measure: () => Promise<Pick<OfflineCase, 'meanReturn' | 'wallSeconds'>>,
  ): Promise<OfflineCase> {
    const kept = this.study.find(name);
    if (kept) return kept;
    const found = { ...name, ...(await measure()) };
    await this.study.keep(found);
    const { body, arm, seed, meanReturn, wallSeconds } = found;
    this.log(`${body}, ${arm}, seed ${seed}: return ${meanReturn.toFixed(1)}, ${Math.round(wallSeconds)} s`);
    return found;
  }

  private recordsOf(body: string): Promise<string> {
    const made = this.records.get(body) ?? this.record(body);
    this.records.set(body, made);
    return made;
  }

  private async record(body: string): Promise<string> {
    const name = { body, arm: 'records', seed: RECORDS_SEED };
    const { checkpoint, evaluations, wallSeconds } = await this.launched<TrainResult>('train', name, {
      set: this.sizes.records,
      ...askedDevice(),
    });
    const last = evaluations.at(-1)?.meanReturn.toFixed(1);
    this.log(`${body}, records: the last policy's return ${last}, ${Math.round(wallSeconds)} s`);
    return join(checkpoint, 'real');
  }

  private async launched<R extends TrainResult | CollectResult>(
    job: string,
    { body, arm, seed }: Pick<CaseName, 'body' | 'arm' | 'seed'>,
    { set, ...how }: { readonly set: readonly string[] } & Pick<LaunchOptions, 'inputs' | 'device'>,
  ): Promise<R> {
    this.folder ??= mkdtemp(join(tmpdir(), 'reverie-synther-'));
    const out = join(await this.folder, `${body}-${arm.replaceAll(' ', '-')}-${seed}`);
    const shown = { quiet: true, stream: process.stderr, command: 'npm run bench' };
    return launch<R>(job, { scenario: body, set: [...set], seed, ...how, out, ...shown });
  }
}
