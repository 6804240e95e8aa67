// Settings, and values of settings, that files of users may still have, and what is said instead: what replaces each.

/** By path, or `path=value`; elements of a list go by the list's path, and what lies below a section by the section's. */
export const RETIRED_SETTINGS: Readonly<Record<string, string>> = {
  'replay.storage': 'leave it out: rows are kept in memory',
  'replay.selector.kind=recency': 'use uniform or prioritized',
  'replay.generative.relevance': 'leave it out: rows are drawn by plain diffusion (SynthER)',
  'replay.generative.condition': 'leave it out: rows are drawn by plain diffusion (SynthER)',
  'replay.generative.guidance': 'leave it out: rows are drawn by plain diffusion (SynthER)',
  'rl.planner': 'leave it out: iCEM always plans',
  'collect.explore.planner': 'leave it out: iCEM always plans',
  'rl.algorithm=vineppo': 'use grpo, gigpo, rloo or ppo',
  'rl.algorithm=rest': 'use grpo, gigpo, rloo or ppo',
  'rl.forks': 'leave it out: it was of vineppo',
  'rl.restEvery': 'leave it out: it was of rest',
  'rl.versionLag': 'leave it out: policies learn from their own episodes',
  'rl.network=decoder': 'use relevance or elements, or export a dataset and train with TRL or verl',
  'rl.decoder': 'use rl.network: relevance or elements',
  'model.kind=latent': 'use an ensemble on stacked observations: model.kind: ensemble, env.stack: 4',
  'model.analogy': 'leave it out: there is no such backend any more',
  'model.backends=analogy': 'leave it out: there is no such backend any more',
  'model.llm.promptTokens': 'use model.llm.stateTokens, model.llm.historyTokens and model.llm.retrieval.k',
  'model.page-llm.mode': 'leave it out: pages are written as trees',
  'experience.retrieval': 'leave it out: records are found by BM25',
  'tasks.variation.personas': 'use user.persona of a task',
  'tasks.variation.strategies=persona': 'use entity-swap, compose or propose',
  'tasks.variation.strategies=harder': 'use entity-swap, compose or propose',
  'tasks.variation.strategies=easier': 'use entity-swap, compose or propose',
  'tasks.variation.strategies=rephrase': 'use entity-swap, compose or propose',
  'tasks.curriculum.scores': 'use tasks.curriculum.prior: tasks are drawn by the variance of their outcomes',
  'tasks.curriculum.combine': 'use tasks.curriculum.prior: tasks are drawn by the variance of their outcomes',
  'synth.export=hermes': 'use sharegpt',
  'synth.export=screens': 'use native, which keeps pictures',
  'synth.export=tokens': 'use native, which keeps agent.tokens',
  'domain.agentgym': 'use domain.openenv or domain.mcp',
  'domain.dialect': 'use domain.openenv or domain.mcp',
  'domain.uploads': 'leave it out: there is no action upload_file any more',
  'domain.perturb': 'leave it out',
  'env.openenv': 'use env.gymnasium',
  'env.patienceSeconds': 'leave it out',
  'env.id=gridworld': 'use another environment: reverie scenarios lists them',
  'quickstart.computePerHour': 'leave it out: multiply the seconds of a real step by your price',
  shadow: 'use reverie fidelity, and synth.maxSteps for as many steps as its report trusts',
  'fidelity.learning': 'leave it out: the section learning is not measured any more',
  'fidelity.sections=learning': 'leave it out: the section learning is not measured any more',
};

/** What is said of a setting that is no more, or of a value it can no longer have; undefined where it never was. */
export function retiredSetting(path: string, value?: unknown): string | undefined {
  const key = path.replaceAll(/\[\d+\]/g, '');
  const retired = value === undefined ? key : `${key}=${String(value)}`;
  if (!Object.hasOwn(RETIRED_SETTINGS, retired)) return undefined;
  const instead = RETIRED_SETTINGS[retired];
  return `"${path}"${value === undefined ? '' : `: ${String(value)}`} is no longer there; ${instead}.`;
}
