// What fidelity.rank judges: bodies with models made by the product's own jobs, and worlds of tools with
// retrieval, with typed state and behind the router, all by one language model whose error is known.

import { controlledName } from './controlled-name.js';

/** Of the language model: share of calls whose outcome is wrong. */
export const TRANSITION_ERROR = 0.1;

export interface Body {
  readonly scenario: string;
  /** Settings of the run that gives policies and data; in dream mode, the model too. Policies are kept on the way: each is a rung. */
  readonly train: readonly string[];
}

const REAL = [
  ...['train.mode=real', 'train.realSteps=8000', 'train.initialRandomSteps=2000', 'train.evalEvery=4000'],
  ...['train.updatesPerStep=0.75', 'train.keepPolicyEvery=500'],
];

export const BODIES: readonly Body[] = [
  { scenario: 'cartpole-swingup', train: ['train.keepPolicyEvery=125'] },
  { scenario: 'pendulum', train: ['train.mode=real', 'train.realSteps=4000', 'train.keepPolicyEvery=400'] },
  ...['inverted-pendulum', 'reacher', 'hopper', 'half-cheetah', 'walker2d'].map((scenario) => ({
    scenario,
    train: REAL,
  })),
];

/** Of the ladder, for bodies and worlds of tools alike. */
export function ladderSettings(quick: boolean): string[] {
  return [`fidelity.rank.policies=${quick ? 8 : 30}`];
}

export interface ToolsWorld {
  readonly scenario: string;
  /** Where its data lie among those that are given by path. */
  readonly data?: string;
  /** Of the router; `ROUTER` unless given. */
  readonly backends?: readonly string[];
  readonly questions: number;
  readonly rankEpisodes: number;
}

export const ROUTER: readonly string[] = ['rules', 'replay', 'llm'];

export const TOOLS: readonly ToolsWorld[] = [
  { scenario: 'helpdesk', questions: 300, rankEpisodes: 40 },
  { scenario: 'cellar', questions: 300, rankEpisodes: 40 },
  // Without records there is nothing to replay.
  { scenario: 'tau-airline', data: 'tau/airline', backends: ['rules', 'llm'], questions: 200, rankEpisodes: 20 },
];

/** The router with each of its backends left out, and the language model alone. */
function subjectsOf(backends: readonly string[]): string {
  const others = (name: string) => backends.filter((one) => one !== name).join(', ');
  const subjects = [
    ...backends.map((name) => `{name: without ${name}, model: {backends: [${others(name)}]}}`),
    '{name: typed state, model: {backends: [llm]}}',
    '{name: typed state without retrieval, model: {backends: [llm], llm: {retrieval: {k: 0}}}}',
  ];
  return `fidelity.subjects=[${subjects.join(', ')}]`;
}

export interface ToolsChoice {
  readonly url: string;
  readonly seed: number;
  readonly data?: string;
  readonly quick: boolean;
}

/** The first model is the router; the others stand beside it. */
export function toolsSettings(world: ToolsWorld, { url, seed, data, quick }: ToolsChoice): string[] {
  const model = controlledName({ seed, transitionError: TRANSITION_ERROR, rewardError: 0 });
  const { backends = ROUTER } = world;
  const { questions, rankEpisodes } = quick ? { questions: 10, rankEpisodes: 4 } : world;
  return [
    ...(data === undefined ? [] : [`domain.data=${data}`, 'domain.release=tau1']),
    `model.backends=[${backends.join(', ')}]`,
    'model.rules.tools=reads',
    'llm.provider=openai-compatible',
    `llm.url=${url}`,
    `llm.model=${JSON.stringify(model)}`,
    subjectsOf(backends),
    `fidelity.questions=${questions}`,
    `fidelity.rank.episodes=${rankEpisodes}`,
    'fidelity.repeats=2',
  ];
}
