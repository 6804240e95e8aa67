// How exactly does a sequence model that was fitted to ALFWorld's training games foretell the next state? Of each seed: records of an
// explorer in games of `train`, an eighth of the rooms left out; a fit; then commands in games of `valid_seen` and in the rooms left out,
// other tries than any that were learned from. Beside it operators induced from the same records.
// `raw` has it by number of changes, what it is sure of, and drift: how many episodes still have the exact state after k steps of its own.
// Kept case by case (study-cases.ts), and a fit that was stopped goes on; ALFWORLD_EXACTNESS_SEEDS and ALFWORLD_EXACTNESS_ARMS choose.

import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { contentHash, type JsonObject } from '../src/core/canonical-json.js';
import { Rng } from '../src/core/rng.js';
import { applyOperations } from '../src/env/state/operations.js';
import type { FactTable, ToolsDomain } from '../src/env/tools/domain.js';
import type { Message } from '../src/env/tools/message.js';
import { initialStateOf } from '../src/env/tools/situation.js';
import { induceOperators, OperatorBook } from '../src/games/operators/induce-operators.js';
import { gamesDomain, readGame } from '../src/games/pddl/games-domain.js';
import { ExplorerAgent } from '../src/synth/episodes/agents/explorer-agent.js';
import { confidenceOf } from '../src/worldmodel/from-records.js';
import { sequenceSection } from '../src/worldmodel/sequence/entry.js';
import { fitSequence } from '../src/worldmodel/sequence/fit.js';
import { type LearnedEpisode, recordedSteps } from '../src/worldmodel/sequence/recorded-steps.js';
import { ScriptCodec } from '../src/worldmodel/sequence/script.js';
import {
  type AskedTokens,
  answersOf,
  type JudgedAnswer,
  judgeSteps,
  type SequenceContents,
  tokensOf,
} from '../src/worldmodel/sequence/sequence-model.js';
import { type StepAnswer, StepForm } from '../src/worldmodel/sequence/step-form.js';
import { factsOf } from '../src/worldmodel/sequence/worlds.js';
import { takenAction } from '../src/worldmodel/situation.js';
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
/** Tries that operators are induced from: the first ones; more change little (`alfworld.rules`). */
const OPERATOR_TRIES = 10_000;

type Game = ReturnType<typeof alfworldGames>[number];

/** What one arm came to with one seed. */
interface ExactnessCase extends CaseName {
  readonly seen: Exactness;
  readonly leftOut: Exactness;
  /** Share of episodes whose facts are all right after so many steps of the model's own. */
  readonly drift?: readonly number[];
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
const ARMS = ['typed', 'operators'] as const;
type ArmName = (typeof ARMS)[number];

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const sizes = quick ? QUICK : FULL;
  const study = await studyOf<ExactnessCase>(root, 'alfworld.exactness', quick);
  const seeds = quick ? ['0'] : chosen(SEEDS, 'ALFWORLD_EXACTNESS_SEEDS');
  const arms = (quick ? ARMS : chosen(ARMS, 'ALFWORLD_EXACTNESS_ARMS')) as readonly ArmName[];
  if (!arms.includes('typed')) throw new Error('ALFWORLD_EXACTNESS_ARMS must have "typed", which the value is of.');
  const cases: ExactnessCase[] = [];
  for (const seed of seeds.map(Number)) {
    const games = once(() => recordsOf(root, seed, sizes));
    for (const arm of arms) {
      const name = { body: 'valid_seen and rooms left out', arm, seed, hash: contentHash({ ...sizes, bar: BAR }) };
      const work = quick ? undefined : join(root, 'runs', 'bench', 'alfworld.exactness', `${arm}-${seed}`);
      const found = study.find(name) ?? { ...name, ...(await measured(arm, seed, await games(), sizes, work, log)) };
      if (study.find(name) === undefined) await study.keep(found);
      const [seen, leftOut] = [found.seen, found.leftOut].map(({ stateExact }) => (100 * stateExact).toFixed(1));
      log(`${arm}, seed ${seed}: states exact ${seen} % of valid_seen, ${leftOut} % of rooms left out`);
      cases.push(found);
    }
  }
  const values = cases.filter(({ arm }) => arm === 'typed').map(({ seen }) => seen.stateExact);
  return {
    ...bootstrap(values, mean),
    n: values.length,
    raw: { sizes, arms: arms.map((arm) => rowOf(arm, cases)), cases },
  };
}

function rowOf(arm: ArmName, cases: readonly ExactnessCase[]) {
  const own = cases.filter((one) => one.arm === arm);
  const of = (where: 'seen' | 'leftOut', key: 'stateExact' | 'textExact' | 'sure') =>
    bootstrap(
      own.map((one) => one[where][key]),
      mean,
    );
  const row = (where: 'seen' | 'leftOut') => {
    return { stateExact: of(where, 'stateExact'), textExact: of(where, 'textExact'), sure: of(where, 'sure') };
  };
  return { arm, n: own.length, seen: row('seen'), leftOut: row('leftOut') };
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
  arm: ArmName,
  seed: number,
  { train, episodes, asked }: Records,
  { steps }: Sizes,
  work: string | undefined,
  log: BenchmarkContext['log'],
): Promise<Omit<ExactnessCase, keyof CaseName>> {
  if (arm === 'operators') return operatorsBeside(train, episodes, asked);
  const settings = sequenceSection.parse({ fit: { steps } });
  const began = { wall: performance.now(), cpu: process.cpuUsage() };
  const contents = await fitSequence({
    ...{ domain: train, episodes, settings, rng: Rng.fromSeed(seed), ...(work && { work }) },
    onProgress: ({ phase, done, total, note }) => {
      if (done % 250 === 0) log(`${arm}, seed ${seed}, ${phase} ${done}/${total} ${note ?? ''}`);
    },
  });
  const cpu = process.cpuUsage(began.cpu);
  const minutes = { wall: (performance.now() - began.wall) / 60_000, cpu: (cpu.user + cpu.system) / 60e6 };
  return {
    ...{ minutes, parameters: contents.decoder.theta.length, heldOut: contents.report },
    seen: await judged(contents, asked.seen),
    leftOut: await judged(contents, asked.leftOut),
    drift: await drift(contents, asked.seen),
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
  const codec = ScriptCodec.of(contents.tokenizer)!;
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

/** Of episodes with true commands, in a state of the model's own: the share whose facts are all right after each step. */
async function drift(contents: SequenceContents, { domain, episodes }: Asked): Promise<number[]> {
  const form = new StepForm(contents.form);
  const codec = ScriptCodec.of(contents.tokenizer)!;
  const truths = episodes.map((episode) => [...recordedSteps([episode], domain)]);
  const own = truths.map(([first]) => factsOf(first.question.world));
  const shares: number[] = [];
  const longest = Math.max(...truths.map(({ length }) => length));
  for (let k = 0; k + 1 < longest; k++) {
    const open = truths.flatMap((steps, i) => (steps[k + 1] === undefined ? [] : [i]));
    const questions = open.map((i): AskedTokens | undefined => {
      const { question } = truths[i][k];
      const asked = form.ask({
        ...question,
        world: { ...question.world, values: { facts: own[i] } as unknown as JsonObject },
      });
      const tokens = tokensOf(asked, codec, contents.decoder.config.contextLength);
      return tokens && { asked, tokens };
    });
    const fitting = open.flatMap((i, place) =>
      questions[place] === undefined ? [] : [{ i, question: questions[place] }],
    );
    const answers = await answersOf(
      contents.decoder,
      codec,
      form,
      fitting.map(({ question }) => question),
    );
    fitting.forEach(({ i }, place) => {
      own[i] = after(own[i], answers[place].answer);
    });
    const right = open.filter((i) => isDeepStrictEqual(own[i], factsOf(truths[i][k + 1].question.world)));
    shares.push(right.length / open.length);
  }
  return shares;
}

/** What cannot be read or applied changes nothing. */
function after(facts: FactTable, answer: StepAnswer | string): FactTable {
  if (typeof answer === 'string') return facts;
  try {
    return applyOperations({ facts } as JsonObject, answer.operations).facts as FactTable;
  } catch {
    return facts;
  }
}

/** Operators of the same records: how many of the steps they answer surely, and how many with the exact next state. */
function operatorsBeside(
  train: ToolsDomain,
  episodes: readonly LearnedEpisode[],
  asked: Record<'seen' | 'leftOut', Asked>,
) {
  const known = episodes.slice(0, Math.ceil(OPERATOR_TRIES / episodes[0].steps.length));
  const transitions = [...recordedSteps(known, train)].slice(0, OPERATOR_TRIES).map(({ question, answer }) => {
    const [scene, facts] = [question.world.scene!, factsOf(question.world)];
    const { facts: after } = applyOperations({ facts } as JsonObject, answer.operations) as { facts: FactTable };
    const { isError, observation } = answer;
    return {
      scene,
      before: facts,
      after,
      action: takenAction(question.call, scene),
      accepted: !isError,
      observation,
    };
  });
  const book = new OperatorBook(induceOperators(transitions));
  const judge = ({ domain, episodes: own }: Asked) => {
    const steps = [...recordedSteps(own, domain)];
    const outcomes = steps.map(({ question: { call, world }, answer }) => {
      const outcome = book.outcome(world.scene!, factsOf(world), call);
      if ('unknown' in outcome || outcome.confidence < BAR) return { answered: false, exact: false, text: false };
      const [was, is] = [outcome.operations, answer.operations].map((operations) => {
        return applyOperations({ facts: factsOf(world) } as unknown as JsonObject, operations);
      });
      const exact = outcome.accepted === !answer.isError && isDeepStrictEqual(was, is);
      return { answered: true, exact, text: outcome.observation === answer.observation };
    });
    const share = (key: 'answered' | 'exact' | 'text') => outcomes.filter((one) => one[key]).length / outcomes.length;
    return { steps: steps.length, sure: share('answered'), stateExact: share('exact'), textExact: share('text') };
  };
  return { seen: judge(asked.seen), leftOut: judge(asked.leftOut) };
}
