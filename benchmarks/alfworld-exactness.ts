// How exactly does a sequence model that was fitted to ALFWorld's training games foretell the next state? Of each seed: records of an
// explorer in games of `train`, an eighth of the rooms left out; a fit; then commands in games of `valid_seen` and in the rooms left out,
// other tries than any that were learned from. `raw` has it by number of changes and by what the model is sure of. Kept case by case
// (study-cases.ts), and a fit that was stopped goes on; ALFWORLD_EXACTNESS_SEEDS chooses.

import { join } from 'node:path';
import { contentHash, type JsonObject } from '../src/core/canonical-json.js';
import { Rng } from '../src/core/rng.js';
import { applyOperations } from '../src/env/state/operations.js';
import type { ToolsDomain } from '../src/env/tools/domain.js';
import type { Message } from '../src/env/tools/message.js';
import { initialStateOf } from '../src/env/tools/situation.js';
import { gamesDomain, readGame } from '../src/games/pddl/text-game.js';
import { ExplorerAgent } from '../src/synth/episodes/agents/explorer-agent.js';
import { confidenceOf } from '../src/worldmodel/from-records.js';
import { fitSequence } from '../src/worldmodel/sequence/fit.js';
import { type LearnedEpisode, recordedSteps } from '../src/worldmodel/sequence/recorded-steps.js';
import { ScriptCodec } from '../src/worldmodel/sequence/script.js';
import { type JudgedAnswer, judgeSteps, type SequenceContents } from '../src/worldmodel/sequence/sequence-model.js';
import { sequenceSection } from '../src/worldmodel/sequence/settings.js';
import { StepForm } from '../src/worldmodel/sequence/step-form.js';
import { alfworldGames, gameNames, spread } from './alfworld-games.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { type CaseName, chosen, studyOf } from './study-cases.js';

type Sizes = {
  /** Games learned from, and commands in each. */
  readonly games: number;
  readonly perGame: number;
  /** Gradient steps. */
  readonly steps: number;
  /** Games of each kind judged in, and commands in each. */
  readonly judged: number;
  readonly commands: number;
};

const FULL: Sizes = { games: 600, perGame: 40, steps: 3000, judged: 70, commands: 15 };
const QUICK: Sizes = { games: 6, perGame: 10, steps: 5, judged: 2, commands: 4 };
const BAR = 0.8;

type Game = ReturnType<typeof alfworldGames>[number];

/** What one arm came to with one seed. */
interface ExactnessCase extends CaseName {
  readonly seen: Exactness;
  readonly leftOut: Exactness;
  /** Of a fit. */
  readonly minutes?: { readonly wall: number; readonly cpu: number };
  readonly parameters?: number;
  readonly heldOut?: SequenceContents['report'];
}

interface Exactness {
  readonly steps: number;
  readonly stateExact: number;
  readonly textExact: number;
  /** Share answered at a confidence of 0.8 or more. */
  readonly sure: number;
}

const SEEDS = ['0', '1', '2', '3', '4'];
const ARM = 'typed';

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const sizes = quick ? QUICK : FULL;
  const study = await studyOf<ExactnessCase>(root, 'alfworld.exactness', quick);
  const seeds = quick ? ['0'] : chosen(SEEDS, 'ALFWORLD_EXACTNESS_SEEDS');
  const cases: ExactnessCase[] = [];
  for (const seed of seeds.map(Number)) {
    const games = once(() => recordsOf(root, seed, sizes));
    const name = { body: 'valid_seen and rooms left out', arm: ARM, seed, hash: contentHash({ ...sizes, bar: BAR }) };
    const work = quick ? undefined : join(root, 'runs', 'bench', 'alfworld.exactness', `${ARM}-${seed}`);
    const found = study.find(name) ?? { ...name, ...(await measured(seed, await games(), sizes, work, log)) };
    if (study.find(name) === undefined) await study.keep(found);
    const [seen, leftOut] = [found.seen, found.leftOut].map(({ stateExact }) => (100 * stateExact).toFixed(1));
    log(`seed ${seed}: states exact ${seen} % of valid_seen, ${leftOut} % of rooms left out`);
    cases.push(found);
  }
  const values = cases.map(({ seen }) => seen.stateExact);
  return {
    ...bootstrap(values, mean),
    n: values.length,
    raw: { sizes, arms: [rowOf(cases)], cases },
  };
}

function rowOf(own: readonly ExactnessCase[]) {
  const of = (where: 'seen' | 'leftOut', key: 'stateExact' | 'textExact' | 'sure') =>
    bootstrap(
      own.map((one) => one[where][key]),
      mean,
    );
  const row = (where: 'seen' | 'leftOut') => {
    return { stateExact: of(where, 'stateExact'), textExact: of(where, 'textExact'), sure: of(where, 'sure') };
  };
  return { arm: ARM, n: own.length, seen: row('seen'), leftOut: row('leftOut') };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

interface Records {
  readonly train: ToolsDomain;
  readonly episodes: readonly LearnedEpisode[];
  readonly asked: Readonly<Record<'seen' | 'leftOut', Asked>>;
}

async function recordsOf(root: string, seed: number, sizes: Sizes): Promise<Records> {
  const { train, seen, leftOut } = await gamesOf(root, seed, sizes);
  return {
    train,
    episodes: lived(train, seed, sizes.perGame),
    asked: {
      seen: { domain: seen, episodes: lived(seen, 1000 + seed, sizes.commands) },
      leftOut: { domain: leftOut, episodes: lived(leftOut, 2000 + seed, sizes.commands) },
    },
  };
}

async function measured(
  seed: number,
  { train, episodes, asked }: Records,
  { steps }: Sizes,
  work: string | undefined,
  log: BenchmarkContext['log'],
): Promise<Omit<ExactnessCase, keyof CaseName>> {
  const settings = sequenceSection.parse({ fit: { steps } });
  const began = { wall: performance.now(), cpu: process.cpuUsage() };
  const contents = await fitSequence({
    ...{ domain: train, episodes, settings, rng: Rng.fromSeed(seed), ...(work && { work }) },
    onProgress: ({ phase, done, total, note }) => {
      if (done % 250 === 0) log(`seed ${seed}, ${phase} ${done}/${total} ${note ?? ''}`);
    },
  });
  const cpu = process.cpuUsage(began.cpu);
  const minutes = { wall: (performance.now() - began.wall) / 60_000, cpu: (cpu.user + cpu.system) / 60e6 };
  return {
    ...{ minutes, parameters: contents.decoder.theta.length, heldOut: contents.report },
    seen: await judged(contents, asked.seen),
    leftOut: await judged(contents, asked.leftOut),
  };
}

interface Asked {
  readonly domain: ToolsDomain;
  readonly episodes: readonly LearnedEpisode[];
}

/** Games to learn from, and two kinds to judge by; tasks of an eighth of the rooms are not learned from. */
async function gamesOf(root: string, seed: number, sizes: Sizes) {
  const games = alfworldGames().filter(({ name }) => !/movable|Sliced/.test(name));
  const of = (split: string) => games.filter(({ name }) => name.split('/').includes(split));
  const rng = Rng.fromSeed(seed);
  const drawn = (list: readonly Game[], what: string) =>
    [...rng.split(what).permutation(list.length)].map((i) => list[i]);
  const train = of('train');
  const rooms = [...new Set(train.map(roomOf))].sort();
  const kept = [...rng.split('rooms').permutation(rooms.length)].slice(Math.ceil(rooms.length / 8));
  const known = new Set(kept.map((i) => rooms[i]));
  const names = await gameNames(root);
  const domainOf = (list: readonly Game[]) =>
    gamesDomain({
      ...{ id: 'alfworld', version: 'games' },
      games: list.map((game) => ({ id: game.name, read: () => ({ ...readGame(game), names }) })),
    });
  return {
    train: domainOf(
      drawn(
        train.filter((game) => known.has(roomOf(game))),
        'train',
      ).slice(0, sizes.games),
    ),
    seen: domainOf(
      spread(
        of('valid_seen').filter((game) => known.has(roomOf(game))),
        sizes.judged,
      ),
    ),
    leftOut: domainOf(
      drawn(
        train.filter((game) => !known.has(roomOf(game))),
        'left out',
      ).slice(0, sizes.judged),
    ),
  };
}

/** `look_at_obj_in_light-Pen-None-DeskLamp-320/trial...`: 320. */
function roomOf({ name }: Game): string {
  return /-(\d+)(?:\/|$)/.exec(name)?.[1] ?? name;
}

/** An episode of the explorer in each game. */
function lived(domain: ToolsDomain, seed: number, count: number): LearnedEpisode[] {
  const agent = new ExplorerAgent(domain, { guesses: 0.4, follows: 0.5 });
  const rules = domain.rules!;
  return domain.tasks.map((task, i) => {
    const messages: Message[] = [];
    const steps: object[] = [];
    let state: JsonObject = initialStateOf(domain, task);
    let isWon = false;
    for (let step = 0; step < count && !isWon; step++) {
      const { action } = agent.act({ messages, tools: domain.tools, task, seed: seed * 100_000 + i, step });
      messages.push({ role: 'assistant', ...action });
      const outcome = rules.execute(state, action.toolCalls![0]);
      state = applyOperations(state, outcome.operations);
      steps.push({ action, predictions: [outcome] });
      isWon = rules.check('goal', { initialState: state, finalState: state, messages }).passed === true;
    }
    const record = { id: `${task.id} ${seed}`, task: task.id, steps, terminated: isWon, return: isWon ? 1 : 0 };
    return record as unknown as LearnedEpisode;
  });
}

async function judged(contents: SequenceContents, { domain, episodes }: Asked) {
  const form = new StepForm(contents.form);
  const codec = new ScriptCodec(contents.tokenizer);
  const steps = [...recordedSteps(episodes, domain)];
  return sharesOf(await judgeSteps(contents.decoder, codec, form, steps), contents);
}

function sharesOf(all: readonly JudgedAnswer[], { calibration }: SequenceContents) {
  const share = (own: readonly JudgedAnswer[], is: (one: JudgedAnswer) => boolean) =>
    own.filter(is).length / own.length;
  const sure = all.filter(({ isAnswered, logProb }) => isAnswered && confidenceOf(calibration, logProb) >= BAR);
  const sizes = [...new Set(all.map(({ changes }) => changes))].sort((a, b) => a - b);
  return {
    steps: all.length,
    stateExact: share(all, ({ isStateExact }) => isStateExact),
    textExact: share(all, ({ isTextExact }) => isTextExact),
    sure: sure.length / all.length,
    stateExactOfSure: share(sure, ({ isStateExact }) => isStateExact),
    byChanges: sizes.map((changes) => {
      const own = all.filter((one) => one.changes === changes);
      return { changes, steps: own.length, stateExact: share(own, ({ isStateExact }) => isStateExact) };
    }),
  };
}
