// How right a dream of TextWorldExpress by analogy is, one step at a time: twelve games of each of the eight kinds, each played by its
// walkthrough and twice at random among the listed commands. Recorded steps are put to the casebook without their episode, and without all that
// was recorded of their game. The value is the share of exactly right states (what is seen and held, commands, score, end) in games that
// were not recorded, mean over the eight kinds.

import { Rng } from '../src/core/rng.js';
import { initialStateOf, makeDomain, type ShownState, type ToolsDomain, type ToolsTask } from '../src/env/index.js';
import { applyOperations } from '../src/env/state/operations.js';
import { Casebook } from '../src/worldmodel/analogy/casebook.js';
import { type JudgedAnalogy, judged, type Withheld } from '../src/worldmodel/analogy/judging.js';
import { stepsOf, type Walks, walksOf } from '../src/worldmodel/analogy/recorded-walks.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';

const GAMES = ['cookingworld', 'twc', 'coin', 'mapreader', 'arithmetic', 'sorting', 'simonsays', 'peckingorder'];
const EACH = 12;
/** Random episodes of each game, and their longest. */
const RANDOM = 2;
const STEPS = 30;
/** Recorded steps of a kind that are asked about, evenly spaced. */
const ASKED = 300;

export async function run({ quick, log }: BenchmarkContext): Promise<Measurement> {
  const raw: Record<string, object> = {};
  const values: number[] = [];
  for (const game of quick ? ['simonsays'] : GAMES) {
    const domain = await makeDomain({
      id: 'textworld-express',
      folds: ['train'],
      only: [game],
      each: quick ? 3 : EACH,
    });
    try {
      const steps = stepsOf(recorded(domain));
      const book = new Casebook(steps);
      const asked = steps.filter((_, i) => i % Math.max(1, Math.floor(steps.length / ASKED)) === 0);
      const figures = (withheld: Withheld) => figuresOf(asked.map((step) => judged(book, step, withheld)));
      const found = { steps: steps.length, asked: asked.length, episode: figures('episode'), task: figures('task') };
      raw[game] = found;
      values.push(found.task.state);
      log(`${game}: ${JSON.stringify(found)}`);
    } finally {
      domain.close();
    }
  }
  return { ...bootstrap(values, mean), n: values.length, raw };
}

function figuresOf(list: readonly JudgedAnalogy[]) {
  const share = (is: (one: JudgedAnalogy) => boolean) => list.filter(is).length / list.length;
  return {
    answered: share(({ isAnswered }) => isAnswered),
    seen: share(({ isSeenRight }) => isSeenRight),
    commands: share(({ areCommandsRight }) => areCommandsRight),
    end: share(({ isEndExact }) => isEndExact),
    state: share(({ isStateExact }) => isStateExact),
    text: share(({ isTextExact }) => isTextExact),
    wins: list.filter(({ isWin }) => isWin).length,
    winsSaid: list.filter(({ claimsWin }) => claimsWin).length,
    winsRight: list.filter(({ claimsWin, isWin }) => claimsWin && isWin).length,
  };
}

function recorded(domain: ToolsDomain): Walks {
  const episodes = domain.tasks.flatMap((task) =>
    Array.from({ length: 1 + RANDOM }, (_, time) => played(domain, task, time)),
  );
  return walksOf(episodes, domain);
}

/** By the walkthrough the first time, then at random. */
function played(domain: ToolsDomain, task: ToolsTask, time: number) {
  const rng = Rng.fromSeed(time).split('twx-exactness', task.id);
  const walkthrough = task.reference!.calls.map((call) => String(call.arguments.text));
  const steps = [];
  let state = initialStateOf(domain, task);
  for (let i = 0; i < (time === 0 ? walkthrough.length : STEPS); i++) {
    const { done, admissible } = state as unknown as ShownState;
    if (done) break;
    const text = time === 0 ? walkthrough[i] : admissible![rng.int(admissible!.length)];
    const call = { id: '', name: 'act', arguments: { text } };
    const outcome = domain.rules!.execute(state, call);
    steps.push({ action: { content: null, toolCalls: [call] }, predictions: [outcome] });
    state = applyOperations(state, outcome.operations);
  }
  const { done, success } = state as unknown as ShownState;
  const about = { id: `${task.id} ${time}`, task: task.id, return: success ? 1 : 0, terminated: done };
  return { ...about, steps } as unknown as Parameters<typeof walksOf>[0] extends Iterable<infer E> ? E : never;
}
