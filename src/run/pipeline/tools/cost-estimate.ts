// What a tools job will probably cost, told before its first call; assumptions are those of the tasks' own solutions.

import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import type { LlmRole, ToolsScenarioConfig } from '../../../kinds/tools.js';
import { estimateTokens } from '../../../llm/completion.js';
import type { LlmConfig } from '../../../llm/config.js';
import { type Asker, assumedEstimate, type Range } from '../../../synth/episodes/estimate.js';
import { routerBackends } from '../../../worldmodel/tools/backends.js';
import { backendSettings } from '../../../worldmodel/tools/router.js';
import { formatCount, formatNumber } from '../../format.js';

/** Tokens of one turn, beside what is said once: middle of recorded tool conversations. */
const TURN_TOKENS = 150;
const DEMONSTRATION_TOKENS = 200;
const TRAJECTORY_TOKENS = 2_000;
/** Of a screen and, now and then, a sub-goal. */
const SCREEN_TOKENS = 1_500;

/** `Estimate: 1.2 k calls (400 to 6 k), 2.1 M tokens (…), cost 0.8 (…), …`; undefined where no language model is asked. */
export function estimateJob(
  config: ToolsScenarioConfig,
  domain: ToolsDomain,
  tasks: readonly ToolsTask[],
): string | undefined {
  if (config.llm === null) return undefined;
  const { calls, tokens, money } = assumedEstimate(config.synth.episodes, askersOf(config, domain, tasks));
  const range = ({ value, low, high }: Range, text: (value: number) => string) =>
    `${text(value)} (${text(low)} to ${text(high)})`;
  const parts = [`${range(calls, formatCount)} calls`, `${range(tokens, formatCount)} tokens`];
  if (money.high > 0) parts.push(`cost ${range(money, formatNumber)}`);
  return `Estimate: ${parts.join(', ')}, from the tasks' solutions and the prompts.`;
}

function askersOf(config: ToolsScenarioConfig, domain: ToolsDomain, tasks: readonly ToolsTask[]): Asker[] {
  const { agent, user, model, reward, synth } = config;
  const asker = (role: LlmRole, calls: Range, promptTokens: number): Asker => {
    const { prices } = { ...config.llm, ...config.roles[role] } as Partial<LlmConfig>;
    const { prompt: promptPrice, completion: replyPrice } = prices ?? { prompt: 0, completion: 0 };
    return { calls, promptTokens, growthTokens: TURN_TOKENS, replyTokens: TURN_TOKENS, promptPrice, replyPrice };
  };
  const system = estimateTokens(domain.policy) + estimateTokens(JSON.stringify(domain.tools));
  const askers: Asker[] = [];
  if (reward.judge !== null) {
    const { votes } = reward.judge;
    askers.push(asker('judge', { value: votes, low: 0, high: votes }, 3_000));
  }
  if (synth.mode === 'amplify') {
    // Whole trajectories: one call each, and a long reply.
    const prompt = system + model.llm.stateTokens + TRAJECTORY_TOKENS;
    const writer = asker('world', { value: 1, low: 1, high: 1 }, prompt);
    return [{ ...writer, replyTokens: TRAJECTORY_TOKENS }, ...askers];
  }
  // Calls a solution makes: the middle task, and the shortest and longest there may be.
  const lengths = tasks.map(({ reference }) => reference?.calls.length ?? 4);
  const mean = lengths.reduce((a, b) => a + b, 0) / Math.max(1, lengths.length);
  const turns: Range = { value: mean, low: Math.min(...lengths, mean), high: synth.maxSteps };
  const scaled = (by: Range) => ({
    value: turns.value * by.value,
    low: turns.low * by.low,
    high: turns.high * by.high,
  });
  if (agent.kind === 'llm')
    askers.push(asker('agent', { value: turns.value + 2, low: turns.low + 1, high: turns.high }, system));
  // Walks have no solution to go by: as long as they may be.
  if (agent.kind === 'guided' && synth.wrap?.walks === undefined)
    askers.push(asker('agent', { value: synth.maxSteps, low: 2, high: 3 * synth.maxSteps }, SCREEN_TOKENS));
  if (synth.wrap !== undefined) {
    const { judges = 3 } = synth.wrap;
    askers.push(asker('tasks', { value: 1, low: 0, high: 2 }, 2 * SCREEN_TOKENS));
    askers.push(asker('judge', { value: judges, low: 0, high: 2 * judges }, 2 * SCREEN_TOKENS));
  }
  if (model.backends.includes('llm')) {
    const { retrieval, stateTokens, mode, consistency } = model.llm;
    const state = mode === 'typed' ? Math.min(stateTokens, estimateTokens(JSON.stringify(domain.initialState))) : 0;
    const asked = (1 - sharedByRules(model, domain)) * consistency;
    const prompt = system + state + retrieval.k * DEMONSTRATION_TOKENS;
    askers.push(asker('world', scaled({ value: asked, low: asked, high: asked }), prompt));
  }
  for (const name of model.backends) {
    // One that says what it asks the model for a call, as if it answered all of them.
    const entry = routerBackends.get(name);
    const use = entry.asks?.(backendSettings(entry, model));
    if (use !== undefined) askers.push(asker('world', scaled(use.requests), use.promptTokens));
  }
  if (user.kind === 'llm') askers.push(asker('user', { value: 3, low: 1, high: user.maxTurns }, 600));
  return askers;
}

/** Share of tools that exact code answers. */
function sharedByRules({ backends, rules }: ToolsScenarioConfig['model'], domain: ToolsDomain): number {
  if (!backends.includes('rules') || domain.rules === undefined) return 0;
  const { tools } = rules;
  const isRuled = (name: string, kind: string) =>
    tools === 'all' || (tools === 'reads' ? kind === 'read' : tools.includes(name));
  const ruled = domain.tools.filter(({ name, kind }) => domain.rules?.tools.has(name) && isRuled(name, kind));
  return ruled.length / Math.max(1, domain.tools.length);
}
