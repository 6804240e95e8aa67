// How right are operators induced from ALFWorld's training games? Of 100, 1,000 and 10,000 tries of its actions, the F1 of preconditions
// and effects against the domain that the games have (how units are matched: true-operators.ts; how tries are made:
// alfworld-tries.ts). Each size is the beginning of the next. `raw` also has what was missed and what is wrong, and how many next
// states of valid_seen operators get exactly right that were induced from as many commands of training games, as records have them.

import { isDeepStrictEqual } from 'node:util';
import { Rng } from '../src/core/rng.js';
import { applyOperations } from '../src/env/state/operations.js';
import type { FactTable } from '../src/env/tools/domain.js';
import { induceOperators, OperatorBook } from '../src/games/operators/induce-operators.js';
import type { OperatorsFile } from '../src/games/operators/operator.js';
import type { Transition } from '../src/games/operators/tries.js';
import type { GameFile } from '../src/games/pddl/games-domain.js';
import { type FoundGame, readGame } from '../src/games/pddl/games-domain.js';
import { readDomain } from '../src/games/pddl/read-task.js';
import { TextGame } from '../src/games/pddl/text-game.js';
import { type CommandTry, commandTries } from './alfworld-commands.js';
import { alfworldGames, gameNames, spread } from './alfworld-games.js';
import { Explorer } from './alfworld-tries.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { keptCases, NOTHING_KEPT } from './kept-cases.js';
import { bootstrap, mean } from './measure.js';
import { compared, f1, type Possible, total, trueOperator } from './true-operators.js';

const PER_GAME = 50;
const SURE = 0.8;

type Names = NonNullable<GameFile['names']>;

type Row = ReturnType<typeof measuredWith>;

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const study = await open(root, quick);
  const cases = quick ? NOTHING_KEPT : keptCases(root, 'alfworld.rules', log);
  const rows: Row[] = [];
  for (const seed of quick ? [0] : [0, 1, 2, 3, 4]) {
    const row = await cases.of(`seed-${seed}`, { PER_GAME, SURE }, async () => measuredWith(study, seed));
    const told = row.rules.map(({ size, f1: value }, i) => {
      const { exact, answered } = row.states[i];
      return `${size}: F1 ${value.toFixed(3)}, ${exact.toFixed(3)} of ${answered.toFixed(3)} states`;
    });
    log(`seed ${seed}, ${told.join('; ')}`);
    rows.push(row);
  }
  return summarised(rows, study.sizes);
}

interface StudyGames {
  readonly names: Names;
  readonly train: readonly FoundGame[];
  readonly seen: readonly FoundGame[];
  readonly sizes: readonly number[];
}

/** What all seeds share. */
export async function open(root: string, quick: boolean): Promise<StudyGames> {
  const games = alfworldGames().filter(({ name }) => !/movable|Sliced/.test(name));
  const of = (split: string) => games.filter(({ name }) => name.split('/').includes(split));
  const sizes = quick ? [100, 400] : [100, 1_000, 10_000];
  return { names: await gameNames(root), train: of('train'), seen: spread(of('valid_seen'), quick ? 2 : 70), sizes };
}

/** Everything that is measured with one seed. */
export function measuredWith({ names, train, seen, sizes }: StudyGames, seed: number) {
  const largest = sizes[sizes.length - 1];
  const drawn = [...Rng.fromSeed(seed).split('games').permutation(train.length)].map((i) => train[i]);
  const tries = triesIn(drawn, names, seed, largest);
  const rules = sizes.map((size) => judged(tries.slice(0, size), drawn[0]));
  const asked = [...commandTries(seen, names, { seed: 99, perGame: 15, count: 10_000 })];
  const commands = [...commandTries(drawn, names, { seed, perGame: PER_GAME, count: largest })];
  const states = sizes.map((size) => ({ size, ...nextStates(induceOperators(commands.slice(0, size)), asked) }));
  return { seed, rules, states, steps: asked.length };
}

function summarised(rows: readonly Row[], sizes: readonly number[]): Measurement {
  const last = sizes.length - 1;
  const raw = {
    transitions: sizes,
    f1: sizes.map((_, i) =>
      bootstrap(
        rows.map(({ rules }) => rules[i].f1),
        mean,
      ),
    ),
    f1OfPreconditions: sizes.map((_, i) =>
      bootstrap(
        rows.map(({ rules }) => rules[i].preconditions),
        mean,
      ),
    ),
    f1OfEffects: sizes.map((_, i) =>
      bootstrap(
        rows.map(({ rules }) => rules[i].effects),
        mean,
      ),
    ),
    validSeen: {
      steps: rows[0].steps,
      answered: sizes.map((_, i) =>
        bootstrap(
          rows.map(({ states }) => states[i].answered),
          mean,
        ),
      ),
      exactOfAll: sizes.map((_, i) =>
        bootstrap(
          rows.map(({ states }) => states[i].exact),
          mean,
        ),
      ),
      exactOfAnswered: sizes.map((_, i) =>
        bootstrap(
          rows.map(({ states }) => states[i].exact / states[i].answered),
          mean,
        ),
      ),
      textsOfAnswered: sizes.map((_, i) =>
        bootstrap(
          rows.map(({ states }) => states[i].texts / states[i].answered),
          mean,
        ),
      ),
    },
    seeds: rows,
  };
  const values = rows.map(({ rules }) => rules[last].f1);
  return { ...bootstrap(values, mean), n: rows.length, raw };
}

function triesIn(games: readonly FoundGame[], names: Names, seed: number, count: number): Transition[] {
  const tries: Transition[] = [];
  const counts = new Map<string, number>();
  for (const [i, found] of games.entries()) {
    if (tries.length >= count) break;
    const file = readGame(found);
    const domain = readDomain(file.domain, found.name);
    const game = new TextGame(file, { what: found.name, names });
    const rng = Rng.fromSeed(seed).split('explorer', i);
    const explorer = new Explorer(game, domain.actions, new Set(domain.predicates.keys()), rng, counts);
    // Every second game is played by its walkthrough, the others at random.
    tries.push(...explorer.explore(PER_GAME, i % 2 === 0 ? [] : file.walkthrough));
  }
  return tries.slice(0, count);
}

function judged(tries: readonly Transition[], { files: [file], name }: FoundGame) {
  const domain = readDomain(readGame({ files: [file], name }).domain, name);
  const scenes = [...new Set(tries.map(({ scene }) => scene))];
  const types = new Map(scenes.flatMap(({ objects }) => objects.map((one) => [one.name, one.type] as const)));
  const possible: Possible = {
    isOf: (type) => [...types.values()].includes(type),
    fits: ({ predicate, args }) =>
      args.every((arg, i) => arg.startsWith('?') || types.get(arg) === domain.predicates.get(predicate)![i]),
  };
  const { operators } = induceOperators(tries);
  const actions = domain.actions.map((action) => {
    const truth = trueOperator(action, possible);
    return {
      action: action.name,
      ...compared(
        truth,
        operators.find((one) => one.action === action.name),
      ),
    };
  });
  const part = (name: 'preconditions' | 'effects') => total(actions.map((one) => one[name]));
  const [preconditions, effects] = [part('preconditions'), part('effects')];
  const differ = actions.flatMap(({ action, missed, wrong }) =>
    missed.length + wrong.length === 0 ? [] : [{ action, missed, wrong }],
  );
  return {
    size: tries.length,
    f1: f1(total([preconditions, effects])),
    preconditions: f1(preconditions),
    effects: f1(effects),
    units: { preconditions, effects },
    differ,
  };
}

/** Shares of the steps: answered surely enough, with the exact next state, with the exact text. */
function nextStates(file: OperatorsFile, asked: readonly CommandTry[]) {
  const book = new OperatorBook(file);
  let [answered, exact, texts] = [0, 0, 0];
  for (const { scene, before, after, call, accepted, observation } of asked) {
    const outcome = book.outcome(scene, before, call);
    if ('unknown' in outcome || outcome.confidence < SURE) continue;
    answered += 1;
    const { facts } = applyOperations({ facts: before }, outcome.operations) as { facts: FactTable };
    if (outcome.accepted === accepted && isDeepStrictEqual(facts, after)) exact += 1;
    if (outcome.observation === observation) texts += 1;
  }
  return { answered: answered / asked.length, exact: exact / asked.length, texts: texts / asked.length };
}
