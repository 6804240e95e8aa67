// How right are operators induced from ALFWorld's training games? Of 100, 1,000 and 10,000 tries of its actions, the F1 of preconditions
// and effects against the domain that the games have (how units are matched: true-operators.ts; how tries are made:
// alfworld-tries.ts). Each size is the beginning of the next. `raw` also has what was missed and what is wrong.

import { Rng } from '../src/core/rng.js';
import { induceOperators } from '../src/games/operators/induce-operators.js';
import type { Transition } from '../src/games/operators/tries.js';
import { readDomain } from '../src/games/pddl/read-task.js';
import { type FoundGame, type GameFile, readGame, TextGame } from '../src/games/pddl/text-game.js';
import { alfworldGames, gameNames } from './alfworld-games.js';
import { Explorer } from './alfworld-tries.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { compared, f1, type Possible, total, trueOperator } from './true-operators.js';

const PER_GAME = 50;

type Names = NonNullable<GameFile['names']>;

type Row = ReturnType<typeof measuredWith>;

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const study = await open(root, quick);
  const rows: Row[] = [];
  for (const seed of quick ? [0] : [0, 1, 2, 3, 4]) {
    const row = measuredWith(study, seed);
    log(`seed ${seed}, ${row.rules.map(({ size, f1: value }) => `${size}: F1 ${value.toFixed(3)}`).join('; ')}`);
    rows.push(row);
  }
  return summarised(rows, study.sizes);
}

interface StudyGames {
  readonly names: Names;
  readonly train: readonly FoundGame[];
  readonly sizes: readonly number[];
}

/** What all seeds share. */
async function open(root: string, quick: boolean): Promise<StudyGames> {
  const games = alfworldGames().filter(({ name }) => !/movable|Sliced/.test(name));
  const of = (split: string) => games.filter(({ name }) => name.split('/').includes(split));
  const sizes = quick ? [100, 400] : [100, 1_000, 10_000];
  return { names: await gameNames(root), train: of('train'), sizes };
}

/** Everything that is measured with one seed. */
function measuredWith({ names, train, sizes }: StudyGames, seed: number) {
  const largest = sizes[sizes.length - 1];
  const drawn = [...Rng.fromSeed(seed).split('games').permutation(train.length)].map((i) => train[i]);
  const tries = triesIn(drawn, names, seed, largest);
  const rules = sizes.map((size) => judged(tries.slice(0, size), drawn[0]));
  return { seed, rules };
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
