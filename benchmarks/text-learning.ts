// What a dream is worth to agents of text, in games and on screens: training runs that are kept case by case (study-cases.ts).

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch } from '../src/run/launch.js';
import type { TextTrainResult } from '../src/run/pipeline/tools/train-policy.js';
import { loadAnyScenario } from '../src/run/scenario.js';
import type { BenchmarkContext, BenchmarkModule } from './benchmark.js';
import { bootstrap, type Interval, mean, median } from './measure.js';
import { LEARNT_TASKS } from './miniwob-pages.js';
import { type CaseName, chosen, type Study, studyOf } from './study-cases.js';

interface TextCase extends CaseName {
  /** On tasks that were never trained on: before anything, after imitation where there is any, and in the end. */
  readonly before: number;
  readonly imitated?: number;
  readonly success: number;
  readonly realSteps: number;
  readonly simulatedSteps: number;
  readonly wallSeconds: number;
  /** Each evaluation after the first. */
  readonly curve?: readonly { readonly realSteps: number; readonly simulatedSteps: number; readonly success: number }[];
  /** Of the last check of a dream beside the real environment: episodes, those that stayed alike to their end, and wins. */
  readonly check?: {
    readonly episodes: number;
    readonly alike: number;
    readonly dreamWins: number;
    readonly realWins: number;
  };
}

interface TextSitting extends Pick<BenchmarkContext, 'log'> {
  readonly study: Study<TextCase>;
  /** Scenario by name or folder. */
  readonly scenario: string;
  readonly profile?: string;
}

interface AskedText {
  /** What is played, for the case's name. */
  readonly body: string;
  readonly arm: string;
  readonly seed: number;
  readonly set: readonly string[];
}

/** The case as it is kept, or measured now and kept. */
async function measuredText(
  { study, scenario, profile, log }: TextSitting,
  { body, arm, seed, set }: AskedText,
): Promise<TextCase> {
  const { hash } = await loadAnyScenario(scenario, { profile, set });
  const kept = study.find({ body, arm, seed, hash });
  if (kept !== undefined) return kept;
  const out = await mkdtemp(join(tmpdir(), 'reverie-study-'));
  try {
    const result = await launch<TextTrainResult>('train', {
      ...{ scenario, profile, set, seed, out: join(out, 'run'), quiet: true },
      ...{ stream: process.stderr, command: 'npm run bench' },
    });
    const found = { body, arm, seed, hash, ...figuresOf(result) };
    await study.keep(found);
    const { before, imitated, success, realSteps, wallSeconds } = found;
    const rates = [before, ...(imitated === undefined ? [] : [imitated]), success].map((rate) => rate.toFixed(3));
    log(`${body}, ${arm}, seed ${seed}: ${rates.join(' to ')}, ${realSteps} real steps, ${Math.round(wallSeconds)} s`);
    return found;
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}

function figuresOf({ evaluations, checks, realSteps, simulatedSteps, wallSeconds }: TextTrainResult) {
  const imitated = evaluations.find(({ after }) => after === 'cloning')?.success.value;
  const check = checks.at(-1);
  const apart = Object.values(check?.apart ?? {}).reduce((sum, count) => sum + count, 0);
  return {
    before: evaluations[0].success.value!,
    ...(imitated != null && { imitated }),
    success: evaluations.at(-1)!.success.value!,
    ...{ realSteps, simulatedSteps, wallSeconds },
    curve: evaluations.slice(1).map(({ realSteps: real, simulatedSteps: simulated, success: { value } }) => ({
      ...{ realSteps: real, simulatedSteps: simulated, success: value! },
    })),
    ...(check && {
      check: {
        ...{ episodes: check.episodes, alike: check.episodes - apart },
        ...{ dreamWins: check.dreamWins, realWins: check.realWins },
      },
    }),
  };
}

const GAME_SEEDS = ['11', '12', '13', '14', '15'];

/** Share of the evaluation games won: between what imitation alone and ten simulated rounds came to with seed 21. */
const THRESHOLD = 0.8;

const ROUNDS = { dream: 20, afterDream: 5, real: 40 };
const GAME_ARMS = {
  'dream then real': [
    ...['train.mode=dream-then-real', `train.rounds=${ROUNDS.dream}`, `train.realRounds=${ROUNDS.afterDream}`],
    'train.checkEpisodes=20',
  ],
  real: ['train.mode=real', `train.rounds=${ROUNDS.real}`],
} as const;
type GameArm = keyof typeof GAME_ARMS;

const BODY = 'valid_seen, 640 games';
const COMMON = ['train.domain.games=640', 'train.evalTasks=60', 'train.evalEvery=5', 'rl.algorithm=gigpo'];
const QUICK = [
  ...['train.domain.games=4', 'train.cloneTasks=2', 'train.cloneEpochs=1', 'train.groupSize=2', 'train.evalTasks=1'],
  ...['train.rounds=1', 'train.evalEvery=1', 'train.gather.episodes=2', 'train.tasksPerRound=1'],
];

/**
 * What is a dream of ALFWorld worth to an agent of language that has few real episodes? Both ways imitate the same 160 walkthroughs, and
 * learn by GiGPO in more games than these. One lives all its rounds in the games. The other makes a dream of the walkthroughs and of 18
 * episodes of an explorer, lives its rounds there, and then a few in the games. The value is how many times the real steps the first takes
 * to a threshold that was named on another seed; beside it stands what the dream alone leads to, held against the games alone after ten
 * times its real steps. Both ways begin in as many games; to know how a game begins takes no step. Kept case by case.
 */
export const alfworldTransfer: BenchmarkModule = {
  async run({ quick, root, log }) {
    const study = await studyOf<TextCase>(root, 'alfworld.transfer', quick);
    const sitting = { study, log, scenario: 'alfworld', profile: 'quick' };
    const seeds = (quick ? ['1'] : chosen(GAME_SEEDS, 'ALFWORLD_TRANSFER_SEEDS')).map(Number);
    const arms = quick ? names() : (chosen(names(), 'ALFWORLD_TRANSFER_ARMS') as readonly GameArm[]);
    const cases: TextCase[] = [];
    for (const seed of seeds) {
      for (const arm of arms) {
        const set = [...GAME_ARMS[arm], ...COMMON, ...(quick ? [...QUICK, ...quickOf(arm)] : [])];
        cases.push(await measuredText(sitting, { body: BODY, arm, seed, set }));
      }
    }
    const pairs = seeds.flatMap((seed) => {
      const of = (arm: GameArm) => cases.find((one) => one.seed === seed && one.arm === arm);
      const [dream, real] = [of('dream then real'), of('real')];
      return dream === undefined || real === undefined ? [] : [{ dream, real }];
    });
    const rows = pairs.map(({ dream, real }) => transferRow(dream, real, quick ? 0 : THRESHOLD));
    if (rows.length === 0) throw new Error('ALFWORLD_TRANSFER_ARMS leaves nothing to compare: both arms are needed.');
    const ratios = rows.flatMap(({ ratio }) => (ratio === null ? [] : [ratio]));
    const differences = rows.flatMap(({ dreamAlone, realAfterMore }) =>
      realAfterMore === null ? [] : [dreamAlone - realAfterMore],
    );
    const raw = {
      ...{ threshold: THRESHOLD, cases, rows, ratioOfMeans: ratioOfMeans(pairs) },
      ...(differences.length > 0 && { dreamAloneMinusReal: bootstrap(differences, mean) }),
    };
    if (ratios.length === 0)
      throw new Error(`No run of any seed won ${THRESHOLD} of the games: there is no ratio to tell.`);
    return { ...bootstrap(ratios, median), n: ratios.length, raw };
  },
};

function quickOf(arm: GameArm): string[] {
  return arm === 'dream then real' ? ['train.realRounds=1', 'train.checkEpisodes=1'] : ['train.rounds=2'];
}

function names(): GameArm[] {
  return Object.keys(GAME_ARMS) as GameArm[];
}

/** The real training is held against the dream alone once it has taken so many times its real steps. */
const MORE_STEPS = 10;

/**
 * What one seed came to. `ratio` is how many times the real steps of the dream the real training takes to the threshold: a lower bound where
 * the real training did not reach it, 0 where only it did, and null where neither did.
 */
function transferRow(dream: TextCase, real: TextCase, threshold: number) {
  const dreamSteps = stepsTo(dream, threshold);
  const realSteps = stepsTo(real, threshold);
  const alone = endOfDream(dream);
  const more = real.curve!.find(({ realSteps: steps }) => steps >= MORE_STEPS * alone.realSteps);
  const ratio = dreamSteps === null ? (realSteps === null ? null : 0) : (realSteps ?? real.realSteps) / dreamSteps;
  return {
    ...{ seed: dream.seed, ratio, isLowerBound: dreamSteps !== null && realSteps === null, dreamSteps, realSteps },
    ...{ imitation: dream.imitated!, dreamAlone: alone.success, dreamAloneSteps: alone.realSteps },
    realAfterMore: more?.success ?? null,
  };
}

/**
 * The same with no threshold and no choice among evaluations: how many times the dream's real steps the real training takes until its mean
 * over seeds is that of the dreams at their ends; a lower bound where it never is. Interval over seeds.
 */
function ratioOfMeans(pairs: readonly { readonly dream: TextCase; readonly real: TextCase }[]) {
  const of = (seeds: readonly number[]) => {
    const ends = seeds.map((at) => endOfDream(pairs[at].dream));
    const curves = seeds.map((at) => pairs[at].real.curve!.slice(1));
    const aim = mean(ends.map(({ success }) => success));
    const means = curves[0].map((_, i) => ({
      success: mean(curves.map((curve) => curve[i].success)),
      realSteps: mean(curves.map((curve) => curve[i].realSteps)),
    }));
    // Means of the same successes in another order may differ in their last digit.
    const reached = means.find(({ success }) => success >= aim - 1e-9) ?? means[means.length - 1];
    return reached.realSteps / mean(ends.map(({ realSteps }) => realSteps));
  };
  return bootstrap([...pairs.keys()], of);
}

/** Real steps up to the first evaluation after imitation that reaches the threshold; null where none does. */
function stepsTo({ curve }: TextCase, threshold: number): number | null {
  return curve!.find(({ success }) => success >= threshold)?.realSteps ?? null;
}

/** The last evaluation before a real round: no real step is taken between those of the dream. */
function endOfDream({ curve }: TextCase) {
  const simulated = curve!.filter(({ simulatedSteps }) => simulatedSteps > 0);
  return simulated.filter(({ realSteps }) => realSteps === simulated[0].realSteps).at(-1)!;
}

const SCREEN_SEEDS = ['1', '2', '3', '4', '5'];
/** Episodes of a round, as the scenario has them; real rounds, and rounds in the dream of as many real episodes. */
const SCREEN_ROUNDS = { episodes: 32, real: 4, dream: 20 };
const SCREEN_ARMS = ['dream', 'real', 'real, ten times'] as const;
type ScreenArm = (typeof SCREEN_ARMS)[number];

/**
 * What is a dream of screens worth to a policy? For each of twelve of MiniWoB++'s tasks, one learns in a dream of records of so many real
 * episodes, and one in as many real episodes; both are judged on seeds that neither saw. The value is the success of the first over that
 * of the second, both as means over tasks and seeds; a third learns in ten times the real episodes. Kept case by case; SCREENS_TASKS,
 * SCREENS_TRANSFER_SEEDS and SCREENS_TRANSFER_ARMS name some. Without the third arm there is no figure against it.
 */
export const screensTransfer: BenchmarkModule = {
  async run({ quick, root, log }) {
    const study = await studyOf<TextCase>(root, 'screens.transfer', quick);
    const sitting = { study, log, scenario: join(root, 'benchmarks', 'bodies', 'screens') };
    const seeds = quick ? ['1'] : chosen(SCREEN_SEEDS, 'SCREENS_TRANSFER_SEEDS');
    const arms = chosen(SCREEN_ARMS, 'SCREENS_TRANSFER_ARMS') as readonly ScreenArm[];
    if (!arms.includes('dream') || !arms.includes('real')) throw new Error('SCREENS_TRANSFER_ARMS needs "dream,real"');
    const cases: TextCase[] = [];
    for (const seed of seeds) {
      for (const body of quick ? LEARNT_TASKS.slice(1, 2) : chosen(LEARNT_TASKS, 'SCREENS_TASKS')) {
        for (const arm of arms) {
          const set = [`domain.screens=[${body}]`, ...settingsOf(arm, quick)];
          cases.push(await measuredText(sitting, { body, arm, seed: Number(seed), set }));
        }
      }
    }
    const value = ratio(cases, 'real');
    if (!Number.isFinite(value.value)) log('What learned for real won nothing: there is no ratio to tell.');
    const more = arms.includes('real, ten times') && { againstTenTimes: ratio(cases, 'real, ten times') };
    return { ...value, n: cases.filter(({ arm }) => arm === 'dream').length, raw: { cases, ...more } };
  },
};

/** As many real episodes for the dream as for the policy that learns in the page. */
function settingsOf(arm: ScreenArm, quick: boolean): string[] {
  const rounds = quick ? 1 : SCREEN_ROUNDS.real;
  if (arm !== 'dream') return ['train.mode=real', `train.rounds=${arm === 'real' ? rounds : 10 * rounds}`];
  const episodes = rounds * SCREEN_ROUNDS.episodes;
  return [
    'model.backends=[lifted, mechanics]',
    'train.mode=dream',
    `train.rounds=${quick ? 2 : SCREEN_ROUNDS.dream}`,
    `train.gather={episodes: ${episodes}, heldOut: 0, agent: {kind: random, steps: 4, offered: true}}`,
  ];
}

/** Success of the dream over that of another arm, with an interval over tasks and seeds. */
function ratio(cases: readonly TextCase[], baseline: ScreenArm): Interval {
  const pairs = pairsOf(cases, baseline);
  const over = (resample: readonly number[]) =>
    mean(resample.map((i) => pairs[i][0])) / mean(resample.map((i) => pairs[i][1]));
  return bootstrap(
    pairs.map((_, i) => i),
    over,
  );
}

/** Success of the dream and of another arm, by task and seed. */
function pairsOf(cases: readonly TextCase[], baseline: ScreenArm): (readonly [number, number])[] {
  return cases
    .filter(({ arm }) => arm === 'dream')
    .map((dream) => {
      const other = cases.find(
        ({ body, arm, seed }) => body === dream.body && arm === baseline && seed === dream.seed,
      )!;
      return [dream.success, other.success] as const;
    });
}
