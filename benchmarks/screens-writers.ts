// What checks, retrieval and the typed state are worth to a language model that writes pages: actions on MiniWoB++'s screens, answered by
// page-llm through a server whose errors are known (every tenth reply), with each of them and without. The value is the share of actions
// whose screen is exactly right with all checks, less the share without; the interval is over tasks.

import { isDeepStrictEqual } from 'node:util';
import type { ScreenState } from '../src/env/screens/screen-state.js';
import { screenText } from '../src/env/screens/screen-tree.js';
import { applyOperations } from '../src/env/state/operations.js';
import type { ToolsDomain } from '../src/env/tools/domain.js';
import { initialStateOf } from '../src/env/tools/task-states.js';
import type { Responder } from '../src/env/tools/tools-family.js';
import { makeLanguageModel } from '../src/llm/served-model.js';
import type { EpisodeRecord } from '../src/replay/experience/experience.js';
import { ExperienceStore } from '../src/replay/experience/store.js';
import { realSteps } from '../src/run/pipeline/tools/gathered-records.js';
import { elementF1 } from '../src/screens/fidelity/element-scores.js';
import { makeRouter } from '../src/worldmodel/tools/make-router.js';
import { parseToolsModelConfig } from '../src/worldmodel/tools/tools-model-schema.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { COPYING, ERRING, type Happened, startControlledPages } from './controlled-pages.js';
import { bootstrap, mean } from './measure.js';
import { openScreens, recordedWalks, tasksOf } from './screen-walks.js';

const TASKS = ['click-button', 'click-checkboxes', 'click-link', 'click-option', 'enter-text', 'focus-text-2'];
const STEPS = 6;
const ERROR_RATE = 0.1;
/** Times that each action is asked about, each with another seed. */
const DRAWS = 5;

interface Arm {
  readonly model: typeof ERRING | typeof COPYING;
  readonly config: object;
}

const pages = (settings: object = {}, check: object = {}) => ({ backends: ['page-llm'], 'page-llm': settings, check });
const ARMS: Readonly<Record<string, Arm>> = {
  'all checks': { model: ERRING, config: pages() },
  'without the check of outcomes': { model: ERRING, config: pages({}, { outcome: false }) },
  'as HTML, all checks': { model: ERRING, config: pages({ mode: 'html' }) },
  'as HTML, without the check of outcomes': { model: ERRING, config: pages({ mode: 'html' }, { outcome: false }) },
  'without a typed state': { model: ERRING, config: { backends: ['llm'], llm: { mode: 'text', retrieval: { k: 0 } } } },
  'from records alone': { model: COPYING, config: pages({ retrieval: { exceptOwnTask: true } }) },
  'from records alone, without retrieval': { model: COPYING, config: pages({ retrieval: { k: 0 } }) },
};
const [CHECKED, BELIEVED] = Object.keys(ARMS);

/** What one action came to. */
interface Outcome {
  readonly family: string;
  /** The screen that is shown is the real one to the letter. */
  readonly isShownRight: boolean;
  /** So is the state, ids and all; null where there is none. */
  readonly isRight: boolean | null;
  readonly elements: number | null;
  readonly isRefused: boolean;
  readonly calls: number;
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const names = quick ? TASKS.slice(0, 1) : TASKS;
  const domain = await openScreens({ root, names, seeds: quick ? 1 : 4, browser: 'jsdom' });
  const index = await ExperienceStore.open();
  try {
    const maxSteps = quick ? 2 : STEPS;
    await index.add(realSteps(domain, await recordedWalks({ domain, tasks: tasksOf(domain), seed: 0, maxSteps })));
    const walks = await recordedWalks({ domain, tasks: tasksOf(domain, 'validation'), seed: 1, maxSteps });
    const server = await startControlledPages(happenedIn(domain, walks), { errorRate: ERROR_RATE, seed: 1 });
    const arms: Record<string, object> = {};
    const outcomes: Record<string, Outcome[]> = {};
    try {
      for (const [arm, { model: name, config }] of Object.entries(ARMS)) {
        const model = await makeLanguageModel({ provider: 'openai-compatible', url: server.url, model: name });
        const router = await makeRouter(parseToolsModelConfig({ kind: 'tools', ...config }), { domain, index, model });
        outcomes[arm] = await outcomesOf(domain, router, walks, quick ? 1 : DRAWS);
        arms[arm] = summed(outcomes[arm]);
        log(`${arm}: ${JSON.stringify(arms[arm])}`);
        await model.close();
      }
    } finally {
      await server.close();
    }
    const gains = names.map((family) => rightOf(outcomes[CHECKED], family) - rightOf(outcomes[BELIEVED], family));
    return {
      ...bootstrap(gains, mean),
      n: gains.length,
      raw: { arms, errorRate: ERROR_RATE, draws: DRAWS, walks: walks.length },
    };
  } finally {
    domain.close();
  }
}

/** Each action of recorded walks, on its real screen. */
function* actionsOf(domain: ToolsDomain, walks: readonly EpisodeRecord[]) {
  for (const { task: id, seed, steps, messages } of walks) {
    const task = domain.tasks.find((one) => one.id === id)!;
    let state = initialStateOf(domain, task) as ScreenState;
    for (const [step, { action, message, predictions }] of steps.entries()) {
      const [call] = action.toolCalls!;
      const after = applyOperations(state, predictions[0].operations) as ScreenState;
      yield {
        query: { domain, task, messages: messages.slice(0, message + 1), call, step, seed, state },
        before: state,
        after,
      };
      state = after;
    }
  }
}

function happenedIn(domain: ToolsDomain, walks: readonly EpisodeRecord[]): Happened[] {
  return [...actionsOf(domain, walks)].map(({ query: { call }, before, after }) => ({ call, before, after }));
}

async function outcomesOf(
  domain: ToolsDomain,
  dream: Responder,
  walks: readonly EpisodeRecord[],
  draws: number,
): Promise<Outcome[]> {
  const found: Outcome[] = [];
  const asked = [...actionsOf(domain, walks)].flatMap((one) =>
    Array.from({ length: draws }, (_, draw) => ({ ...one, draw })),
  );
  for (const { query, after, draw } of asked) {
    const answer = await dream.answer({ ...query, seed: query.seed + draw });
    const dreamt = applyOperations(query.state, answer.operations) as ScreenState;
    const isTyped = answer.stateless !== true;
    found.push({
      family: query.task.family,
      isShownRight: answer.observation === screenText(after),
      isRight: isTyped ? isDeepStrictEqual([dreamt.elements, dreamt.focused], [after.elements, after.focused]) : null,
      elements: isTyped ? elementF1(after, dreamt) : null,
      isRefused: answer.refused !== undefined,
      calls: answer.cost.calls,
    });
  }
  return found;
}

function summed(outcomes: readonly Outcome[]): object {
  const share = (is: (one: Outcome) => boolean | number | null) => {
    const values = outcomes.map(is).filter((value) => value !== null);
    return values.length === 0 ? null : mean(values.map(Number));
  };
  return {
    actions: outcomes.length,
    shownRight: share(({ isShownRight }) => isShownRight),
    right: share(({ isRight }) => isRight),
    elements: share(({ elements }) => elements),
    refused: share(({ isRefused }) => isRefused),
    wrongAndBelieved: share(({ isShownRight, isRefused }) => !isShownRight && !isRefused),
    callsAnAction: share(({ calls }) => calls),
  };
}

function rightOf(outcomes: readonly Outcome[], family: string): number {
  return mean(outcomes.filter((one) => one.family === family).map(({ isShownRight }) => Number(isShownRight)));
}
