// Settings, and values of settings, that files of users may still have, and what is said instead: what replaces each.

/** By path, or `path=value`; elements of a list go by the list's path, and what lies below a section by the section's. */
const RETIRED_SETTINGS: Readonly<Record<string, string>> = {
  'replay.selector.kind=recency': 'use uniform or prioritized',
  'collect.policy=explore': 'use random or checkpoint',
  'rl.algorithm=vineppo': 'use grpo, gigpo, rloo or ppo',
  'rl.algorithm=rest': 'use grpo, gigpo, rloo or ppo',
  'rl.elements': 'use rl.relevance',
  'rl.decoder': 'export a dataset and train with TRL or verl',
  'model.kind=latent': 'use an ensemble on stacked observations: model.kind: ensemble, env.stack: 4',
  'model.backends=induced': 'use rules: reverie induce writes rules.yaml, which the backend rules answers by',
  'llm.provider=node-llama-cpp': 'serve the file with llama.cpp or Ollama, and give llm.url',
  'llm.modelPath': 'serve the file with llama.cpp or Ollama, and give llm.url',
  'llm.connectSeconds': 'use llm.timeoutSeconds',
  'model.llm.promptTokens': 'use model.llm.stateTokens, model.llm.historyTokens and model.llm.retrieval.k',
  'tasks.variation.personas': 'use user.persona of a task',
  'quality.lengths': 'use synth.maxSteps, and the longest row that your trainer takes (max_length)',
  'quality.verdict': 'use quality.imitation',
  'synth.export=jsonl': 'use parquet',
  'synth.export=hermes': 'use sharegpt',
  'synth.export=screens': 'use native, which keeps pictures',
  'synth.export=tokens': 'use native, which keeps agent.tokens',
  'domain.agentgym': 'use domain.openenv or domain.mcp',
  'domain.dialect': 'use domain.openenv or domain.mcp',
  'env.openenv': 'use env.gymnasium',
  quickstart: 'of a world of text: run reverie train twice, with train.mode=dream and with train.mode=real',
  'quickstart.computePerHour': 'leave it out: multiply the seconds of a real step by your price',
  shadow: 'use reverie fidelity, and synth.maxSteps for as many steps as its report trusts',
  'fidelity.tiersOff': 'name the models under fidelity.subjects: [{name: without rules, model: {backends: [replay]}}]',
  'rl.actorLr': 'use rl.lr',
  'rl.criticLr': 'use rl.lr',
  'rl.alphaLr': 'use rl.lr',
};

/** What is said of a setting that is no more, or of a value it can no longer have; undefined where it never was. */
export function retiredSetting(path: string, value?: unknown): string | undefined {
  const key = path.replaceAll(/\[\d+\]/g, '');
  const retired = value === undefined ? key : `${key}=${String(value)}`;
  if (!Object.hasOwn(RETIRED_SETTINGS, retired)) return undefined;
  const instead = RETIRED_SETTINGS[retired];
  return `"${path}"${value === undefined ? '' : `: ${String(value)}`} is no longer there; ${instead}.`;
}
