// ScienceWorld: which tasks there are, and how its jar is asked (scienceworld.runtime.pythonapi.PythonInterface).

import { findJar, javaGamesDomain, javaGameUnknown } from 'reverie/extend';

const WHAT = 'ScienceWorld';

const PACKAGE = { what: WHAT, package: 'scienceworld', module: 'scienceworld', variable: 'SCIENCEWORLD_JAR' };

/** Variations of each task, in the order of the package. */
export const VARIATIONS = {
  boil: 30,
  melt: 30,
  freeze: 30,
  'change-the-state-of-matter-of': 30,
  'use-thermometer': 540,
  'measure-melting-point-known-substance': 436,
  'measure-melting-point-unknown-substance': 300,
  'power-component': 20,
  'power-component-renewable-vs-nonrenewable-energy': 20,
  'test-conductivity': 900,
  'test-conductivity-of-unknown-substances': 600,
  'find-living-thing': 300,
  'find-non-living-thing': 300,
  'find-plant': 300,
  'find-animal': 300,
  'grow-plant': 126,
  'grow-fruit': 126,
  'chemistry-mix': 32,
  'chemistry-mix-paint-secondary-color': 36,
  'chemistry-mix-paint-tertiary-color': 36,
  'lifespan-longest-lived': 125,
  'lifespan-shortest-lived': 125,
  'lifespan-longest-lived-then-shortest-lived': 125,
  'identify-life-stages-1': 14,
  'identify-life-stages-2': 10,
  'inclined-plane-determine-angle': 168,
  'inclined-plane-friction-named-surfaces': 1386,
  'inclined-plane-friction-unnamed-surfaces': 162,
  'mendelian-genetics-known-plant': 120,
  'mendelian-genetics-unknown-plant': 480,
};

const SIMPLIFICATIONS = [
  'easy',
  'teleportAction',
  'openDoors',
  'selfWateringFlowerPots',
  'openContainers',
  'noElectricalAction',
];

/** The authors' folds of a task, by the number of its variations: half, a quarter and the rest. */
export function foldsOf(variations) {
  const all = Array.from({ length: variations }, (_, i) => i);
  if (variations < 5) {
    const [train, dev, test] = [
      [[], [], []],
      [[0], [], [0]],
      [[0], [], [1]],
      [[0], [1], [2]],
      [[0, 1], [2], [3]],
    ][variations];
    return { train, dev, test };
  }
  const quarter = Math.floor(variations / 4);
  return {
    train: all.slice(0, 2 * quarter),
    dev: all.slice(2 * quarter, 3 * quarter),
    test: all.slice(3 * quarter, 5 * quarter),
  };
}

export function domainOf(
  { jar, only = Object.keys(VARIATIONS), folds, each = 2, simplifications = [] },
  folder,
  splits,
) {
  for (const name of only) {
    if (!(name in VARIATIONS)) throw javaGameUnknown(WHAT, 'task', name, Object.keys(VARIATIONS));
  }
  for (const name of simplifications) {
    if (!SIMPLIFICATIONS.includes(name)) throw javaGameUnknown(WHAT, 'simplification', name, SIMPLIFICATIONS);
  }
  const games = only.flatMap((name) => {
    const variations = foldsOf(VARIATIONS[name]);
    return (folds ?? Object.keys(splits)).flatMap((fold) =>
      variations[fold].slice(0, each).map((variation) => {
        return {
          id: `${name}.${fold}.${variation}`,
          name,
          variation,
          family: name,
          split: splits[fold],
          tags: [name, fold],
        };
      }),
    );
  });
  return javaGamesDomain({
    id: 'scienceworld',
    games,
    jar: findJar(PACKAGE, jar, folder),
    form: formOf(simplifications.join(',')),
    settings: { simplifications },
  });
}

const SEEN = [['freeActionLook'], ['freeActionInventory'], ['getScore'], ['getCompleted']];

function formOf(simplifications) {
  const load = ({ name, variation }, withGold) => ['load', name, variation, simplifications, withGold];
  return {
    className: 'scienceworld.runtime.pythonapi.PythonInterface',
    // All games of a process draw from one stream, and count their things together.
    isolated: () => true,
    seats: { shared: 0, isolated: 3 },
    begin: (game) => ({
      // As the package begins: a look around is the first move.
      calls: [load(game, false), ['getTaskDescription'], ['step', 'look around'], ...SEEN],
      read: ([fault, goal, observation, ...seen]) => {
        if (fault) return { ...NOTHING, fault };
        return { ...momentOf(observation, seen), goal, observation: `${goal}\n\n${observation}` };
      },
    }),
    step: (text) => ({
      calls: [['step', text], ...SEEN],
      read: ([observation, ...seen]) => {
        const moment = momentOf(observation, seen);
        return /^(No known action matches|Unknown action)/.test(observation) ? { ...moment, isError: true } : moment;
      },
    }),
    admissible: () => ({ calls: [['getValidActionObjectCombinations']], read: ([commands]) => commands }),
    walkthrough: (game) => ({ calls: [load(game, true), ['getGoldActionSequence']], read: ([, commands]) => commands }),
  };
}

/** Scores are points of a hundred; less than none is a game that is lost. */
function momentOf(observation, [look, inventory, raw, completed]) {
  const score = Math.round(100 * raw) / 100;
  return { observation, look, inventory, score, done: completed || score < 0, success: score >= 1 };
}

const NOTHING = { observation: '', look: '', inventory: '', score: 0, done: true, success: false };
