// TextWorldExpress: which games there are, and how its jar is asked (textworldexpress.runtime.PythonInterface).

import { findJar, javaGamesDomain, javaGameUnknown } from 'reverie/extend';

const WHAT = 'TextWorldExpress';

const PACKAGE = {
  what: WHAT,
  package: 'textworld-express',
  module: 'textworld_express',
  variable: 'TEXTWORLD_EXPRESS_JAR',
};

const GAMES = ['cookingworld', 'twc', 'coin', 'mapreader', 'arithmetic', 'sorting', 'simonsays', 'peckingorder'];

/** First seed of each of the authors' folds; each has a thousand. */
const FIRST_SEED = { train: 0, dev: 10_000, test: 20_000 };
const SEEDS = 1_000;

export function domainOf({ jar, only = GAMES, folds, each = 10, parameters = {} }, folder, splits) {
  for (const name of [...only, ...Object.keys(parameters)]) {
    if (!GAMES.includes(name)) throw javaGameUnknown(WHAT, 'game', name, GAMES);
  }
  const games = only.flatMap((name) =>
    (folds ?? Object.keys(splits)).flatMap((fold) =>
      Array.from({ length: Math.min(each, SEEDS) }, (_, i) => {
        const seed = FIRST_SEED[fold] + i;
        return { id: `${name}.${fold}.${seed}`, name, fold, seed, split: splits[fold], tags: [name, fold] };
      }),
    ),
  );
  const form = formOf(parameters);
  return javaGamesDomain({
    id: 'textworld-express',
    games,
    jar: findJar(PACKAGE, jar, folder),
    form,
    settings: { parameters },
  });
}

function formOf(parameters) {
  const load = ({ name, fold, seed }, withGold) => ['loadJSON', name, fold, seed, written(parameters[name]), withGold];
  return {
    className: 'textworldexpress.runtime.PythonInterface',
    // Two games of one problem would sort the same things.
    isolated: ({ name }) => name === 'sorting',
    seats: { shared: 64, isolated: 8 },
    begin: (game) => ({
      calls: [load(game, false), ['getTaskDescription']],
      read: ([json, goal]) => {
        const moment = momentOf(json);
        const told = moment.observation.includes(goal) ? [] : [goal];
        return { ...moment, goal, observation: [...told, moment.observation].join('\n\n') };
      },
    }),
    step: (text, { admissible }) => ({
      calls: [['stepJSON', text]],
      read: ([json]) => {
        const moment = momentOf(json);
        // What is not among them is answered without a step.
        const isIdle = admissible?.includes(text.trim()) === false;
        return isIdle ? { ...moment, isError: true, isIdle } : moment;
      },
    }),
    walkthrough: (game) => ({ calls: [load(game, true), ['getGoldActionSequence']], read: ([, commands]) => commands }),
  };
}

/** `numLocations=5,includeDoors=0` */
function written(parameters = {}) {
  const number = (value) => (typeof value === 'boolean' ? Number(value) : value);
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${number(value)}`)
    .join(',');
}

function momentOf(json) {
  const { observation, look, inventory, validActions, score, tasksuccess, taskfailure } = JSON.parse(json);
  // An error is told as a failed game that has no commands.
  if (score < 0 && validActions.join('') === '') return { ...NOTHING, fault: observation };
  // Earlier jars wrote both as texts.
  const failed = String(taskfailure) === 'true';
  const success = !failed && (String(tasksuccess) === 'true' || score >= 1);
  return { observation, look, inventory, score, done: success || failed, success, admissible: validActions };
}

const NOTHING = { observation: '', look: '', inventory: '', score: 0, done: true, success: false };
