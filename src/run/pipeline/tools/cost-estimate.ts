// What a tools job will probably cost, told before its first call; assumptions are those of the tasks' own solutions.

import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import type { LlmRole, ToolsScenarioConfig } from '../../../kinds/tools.js';
import { estimateTokens } from '../../../llm/completion.js';
import type { LlmConfig } from '../../../llm/config.js';
import { type Asker, assumedEstimate, type Estimate, type Range } from '../../../synth/episodes/estimate.js';
import { routerBackends } from '../../../worldmodel/tools/backends.js';
import { backendSettings } from '../../../worldmodel/tools/router.js';
import { formatCount, formatNumber } from '../../format.js';

/** Tokens of one turn, beside what is said once: middle of recorded tool conversations. */
const TURN_TOKENS = 150;
const DEMONSTRATION_TOKENS = 200;
const PER_MILLION = { prompt: 0, completion: 0 };

/** Undefined where no language model is asked. */
export function estimateJob(
  config: ToolsScenarioConfig,
  domain: ToolsDomain,
  tasks: readonly ToolsTask[],
): Estimate | undefined {
  if (config.llm === null) return undefined;
  const turns = turnsOf(tasks, config.synth.maxSteps);
  if (config.synth.mode === 'amplify')
    return assumedEstimate(config.synth.episodes, [writer(config, domain), ...judge(config)]);
  const askers = [
    ...(config.agent.kind === 'llm' ? [agent(config, domain, turns)] : []),
    ...(config.agent.kind === 'guided' && config.synth.wrap?.walks === undefined ? [guide(config)] : []),
    ...wrapper(config),
    ...(config.model.backends.includes('llm') ? [world(config, domain, turns)] : []),
    ...config.model.backends.flatMap((name) => backend(name, config, turns)),
    ...(config.user.kind === 'llm'
      ? [asker('user', config, { value: 3, low: 1, high: config.user.maxTurns }, 600)]
      : []),
    ...judge(config),
  ];
  return assumedEstimate(config.synth.episodes, askers);
}

/** `about 1.2 k calls (400 to 6 k), 2.1 M tokens (…), cost 0.8 (…)` */
export function estimateText({ calls, tokens, money }: Estimate): string {
  const range = ({ value, low, high }: Range, text: (value: number) => string) =>
    `${text(value)} (${text(low)} to ${text(high)})`;
  const parts = [`${range(calls, formatCount)} calls`, `${range(tokens, formatCount)} tokens`];
  if (money.high > 0) parts.push(`cost ${range(money, formatNumber)}`);
  return `Estimate: ${parts.join(', ')}, from the tasks' solutions and the prompts.`;
}

/** Calls a solution makes: the middle task, and the shortest and longest there may be. */
function turnsOf(tasks: readonly ToolsTask[], maxSteps: number): Range {
  const lengths = tasks.map(({ reference }) => reference?.calls.length ?? 4);
  const mean = lengths.reduce((a, b) => a + b, 0) / Math.max(1, lengths.length);
  return { value: mean, low: Math.min(...lengths, mean), high: maxSteps };
}

const TRAJECTORY_TOKENS = 2_000;

/** Whole trajectories: one call each, and a long reply. */
function writer(config: ToolsScenarioConfig, domain: ToolsDomain): Asker {
  const prompt = estimateTokens(domain.policy) + estimateTokens(JSON.stringify(domain.tools));
  const calls = { value: 1, low: 1, high: 1 };
  const prompts = prompt + config.model.llm.stateTokens + TRAJECTORY_TOKENS;
  return { ...asker('world', config, calls, prompts), replyTokens: TRAJECTORY_TOKENS };
}

function judge(config: ToolsScenarioConfig): Asker[] {
  if (config.reward.judge === null) return [];
  const { votes } = config.reward.judge;
  return [asker('judge', config, { value: votes, low: 0, high: votes }, 3_000)];
}

function agent(config: ToolsScenarioConfig, domain: ToolsDomain, turns: Range): Asker {
  const prompt = estimateTokens(domain.policy) + estimateTokens(JSON.stringify(domain.tools));
  const calls = { value: turns.value + 2, low: turns.low + 1, high: turns.high };
  return asker('agent', config, calls, prompt);
}

/** A screen a call, and now and then a sub-goal; what a walk was. */
const SCREEN_TOKENS = 1_500;

/** Walks have no solution to go by: as long as they may be, or half as long. */
function guide(config: ToolsScenarioConfig): Asker {
  const { maxSteps } = config.synth;
  return asker('agent', config, { value: maxSteps, low: 2, high: 3 * maxSteps }, SCREEN_TOKENS);
}

function wrapper(config: ToolsScenarioConfig): Asker[] {
  const { wrap } = config.synth;
  if (wrap === undefined) return [];
  const once = { value: 1, low: 0, high: 2 };
  const { judges = 3 } = wrap;
  const each = { value: judges, low: 0, high: 2 * judges };
  return [asker('tasks', config, once, 2 * SCREEN_TOKENS), asker('judge', config, each, 2 * SCREEN_TOKENS)];
}

function world({ model, ...config }: ToolsScenarioConfig, domain: ToolsDomain, turns: Range): Asker {
  const { retrieval, stateTokens, mode, consistency } = model.llm;
  const state = mode === 'typed' ? Math.min(stateTokens, estimateTokens(JSON.stringify(domain.initialState))) : 0;
  const system = estimateTokens(domain.policy) + estimateTokens(JSON.stringify(domain.tools));
  const exact = model.backends.includes('rules') && domain.rules !== undefined ? sharedByRules(model, domain) : 0;
  const calls = scaled(turns, (1 - exact) * consistency);
  const prompt = system + state + retrieval.k * DEMONSTRATION_TOKENS;
  return asker('world', { ...config, model }, calls, prompt);
}

/** One that says what it asks the model for a call, as if it answered all of them. */
function backend(name: string, config: ToolsScenarioConfig, turns: Range): Asker[] {
  const entry = routerBackends.get(name);
  const use = entry.asks?.(backendSettings(entry, config.model));
  if (use === undefined) return [];
  const { value, low, high } = use.requests;
  const calls = { value: turns.value * value, low: turns.low * low, high: turns.high * high };
  return [asker('world', config, calls, use.promptTokens)];
}

/** Share of tools that exact code answers. */
function sharedByRules({ rules }: ToolsScenarioConfig['model'], domain: ToolsDomain): number {
  const { tools } = rules;
  const isRuled = (name: string, kind: string) =>
    tools === 'all' || (tools === 'reads' ? kind === 'read' : tools.includes(name));
  const ruled = domain.tools.filter(({ name, kind }) => domain.rules?.tools.has(name) && isRuled(name, kind));
  return ruled.length / Math.max(1, domain.tools.length);
}

function asker(role: LlmRole, config: ToolsScenarioConfig, calls: Range, promptTokens: number): Asker {
  const llm = { ...config.llm, ...config.roles[role] } as Partial<LlmConfig>;
  const { prompt, completion } = llm.prices ?? PER_MILLION;
  return {
    calls,
    promptTokens,
    growthTokens: TURN_TOKENS,
    replyTokens: TURN_TOKENS,
    promptPrice: prompt,
    replyPrice: completion,
  };
}

function scaled({ value, low, high }: Range, by: number): Range {
  return { value: value * by, low: low * by, high: high * by };
}
