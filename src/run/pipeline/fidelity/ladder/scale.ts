// How far ahead returns are discounted where policies are ranked and bounds on their returns are made.

import type { ScenarioConfig, ToolsScenarioConfig } from '../../../../kinds/index.js';

/** Where the learner's own discount is 1. */
const FALLBACK = 0.99;

/** That of the scenario's learner. */
export function policyGamma({ rl }: Pick<ScenarioConfig, 'rl'>): number {
  return rl.gamma < 1 ? rl.gamma : FALLBACK;
}

/** Episodes of tools have no discount: one that looks as far ahead as the longest of them is. */
export function agentGamma({ synth }: Pick<ToolsScenarioConfig, 'synth'>): number {
  return 1 - 1 / Math.max(2, synth.maxSteps);
}
