// What fidelity.rank judges: bodies with models made by the product's own jobs, and worlds of tools as plain text, with
// retrieval, with typed state and behind the router, all by one language model whose error is known.

import { controlledName } from './controlled-name.js';

/** Of the language model: share of calls whose outcome is wrong. */
export const TRANSITION_ERROR = 0.1;

export interface Body {
  readonly scenario: string;
  /** Settings of the run that gives policy and data; in dream mode, the model too. */
  readonly train: readonly string[];
  /** Made and judged once a seed, where several are asked for. */
  readonly isRepeated?: boolean;
}

const REAL = ['train.mode=real', 'train.realSteps=8000', 'train.initialRandomSteps=2000', 'train.evalEvery=4000'];

export const BODIES: readonly Body[] = [
  { scenario: 'cartpole-swingup', train: [], isRepeated: true },
  { scenario: 'pendulum', train: ['train.mode=real', 'train.realSteps=4000', 'train.evalEvery=2000'] },
  { scenario: 'hopper', train: [...REAL, 'train.updatesPerStep=0.75'] },
  { scenario: 'half-cheetah', train: [...REAL, 'train.updatesPerStep=0.75'] },
];

export interface ToolsWorld {
  readonly scenario: string;
  /** Where its data lie among those that are given by path. */
  readonly data?: string;
  readonly questions: number;
  readonly rankEpisodes: number;
}

export const TOOLS: readonly ToolsWorld[] = [
  { scenario: 'helpdesk', questions: 300, rankEpisodes: 40 },
  { scenario: 'cellar', questions: 300, rankEpisodes: 40 },
  { scenario: 'tau-airline', data: 'tau/airline', questions: 200, rankEpisodes: 20 },
];

const SUBJECTS = [
  '{name: typed state, model: {backends: [llm]}}',
  '{name: text with retrieval, model: {backends: [llm], llm: {mode: text}}}',
  '{name: plain text, model: {backends: [llm], llm: {mode: text, retrieval: {k: 0}}}}',
];

export interface ToolsChoice {
  readonly url: string;
  readonly seed: number;
  readonly data?: string;
  readonly quick: boolean;
}

/** The first model is the router; with each of its tiers off, and the language model alone in three ways, beside it. */
export function toolsSettings(world: ToolsWorld, { url, seed, data, quick }: ToolsChoice): string[] {
  const model = controlledName({ seed, transitionError: TRANSITION_ERROR, rewardError: 0 });
  const { questions, rankEpisodes } = quick ? { questions: 10, rankEpisodes: 4 } : world;
  return [
    ...(data === undefined ? [] : [`domain.data=${data}`, 'domain.release=tau1']),
    'model.backends=[rules, replay, llm]',
    'model.rules.tools=reads',
    'llm.provider=openai-compatible',
    `llm.url=${url}`,
    `llm.model=${JSON.stringify(model)}`,
    `fidelity.subjects=[${SUBJECTS.join(', ')}]`,
    'fidelity.tiersOff=true',
    `fidelity.questions=${questions}`,
    `fidelity.rank.episodes=${rankEpisodes}`,
    'fidelity.repeats=2',
  ];
}
