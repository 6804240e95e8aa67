// What a step of a structured world costs: the service desk by its rules, through `Environment`, every task by its reference
// calls and what its agent says at the end. `value` is the rate against the 1,500 steps/s that were measured when each call
// woke a thread; the trusted form of the same rules (`--trust-rules`) is in `raw`.

import { join } from 'node:path';
import {
  loadDomain,
  rulesResponder,
  ScriptedUser,
  type ToolsAction,
  type ToolsDomain,
  ToolsEpisodeEnvironment,
  trustRules,
} from '../src/env/index.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, measurePaired, median } from './measure.js';

/** Steps/s of one core before rules were answered in the thread that asks. */
const BEFORE = 1_500;

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const rounds = quick ? 2 : 9;
  const folder = join(root, 'packs', 'helpdesk');
  const sandboxed = await loadDomain(folder);
  // What is loaded from here on is trusted.
  trustRules();
  const trusted = await loadDomain(folder);
  try {
    const rates = await measurePaired({
      rounds,
      ours: () => stepsPerSecond(sandboxed),
      baseline: () => stepsPerSecond(trusted),
      log,
    });
    const ratios = rates.ours.map((rate) => rate / BEFORE);
    const raw = {
      sandboxedStepsPerSecond: rates.ours,
      trustedStepsPerSecond: rates.baseline,
      trustedRatio: median(rates.baseline) / BEFORE,
    };
    return { ...bootstrap(ratios, median), n: rounds, raw };
  } finally {
    sandboxed.close();
    trusted.close();
  }
}

/** All tasks once. */
async function stepsPerSecond(domain: ToolsDomain): Promise<number> {
  const responder = rulesResponder(domain);
  const env = new ToolsEpisodeEnvironment({ id: 'helpdesk', domain, responder, user: new ScriptedUser() });
  let steps = 0;
  const began = performance.now();
  for (const { id, reference } of domain.tasks) {
    const actions: ToolsAction[] = (reference?.calls ?? []).map((call) => ({
      content: null,
      toolCalls: [{ id: '', ...call }],
    }));
    await env.reset({ task: id, seed: steps });
    for (const action of [...actions, { content: reference?.say ?? 'Done. Is there anything else?' }]) {
      const { terminated, truncated } = await env.step(action);
      steps++;
      if (terminated || truncated) break;
    }
  }
  env.close();
  return steps / ((performance.now() - began) / 1000);
}
