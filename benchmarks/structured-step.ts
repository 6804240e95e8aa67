// What a step of a structured world costs: the service desk by its rules, through `Environment`, every task by its reference
// calls and what its agent says at the end. `value` is the rate a user gets, against the 1,500 steps/s that were measured when
// each call woke a thread. Seconds are those of the processor that this process had, whatever else the machine was doing, with
// what V8 compiles and collects beside it. The desk's rules are part of the package and run as its code does; what the same rules cost as a
// user's, in the sandbox, is in `raw`.

import { appendFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolsDomain } from '../src/env/tools/domain.js';
import { loadDomain } from '../src/env/tools/load-domain.js';
import { rulesResponder } from '../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../src/env/tools/scripted-user.js';
import { ToolsEpisodeEnvironment } from '../src/env/tools/tools-environment.js';
import type { ToolsAction } from '../src/env/tools/tools-family.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, measurePaired, median } from './measure.js';

/** Steps/s of one core before rules were answered in the thread that asks. */
const BEFORE = 1_500;
/** Of a round, at least: a job's, not a first second's. */
const SECONDS = 2;

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const rounds = quick ? 2 : 9;
  const seconds = quick ? 0.2 : SECONDS;
  const temporary = mkdtempSync(join(tmpdir(), 'reverie-bench-'));
  const [ours, users] = [join(root, 'packs', 'helpdesk'), join(temporary, 'helpdesk')];
  cpSync(ours, users, { recursive: true });
  // Another file than the package's, with the same rules.
  appendFileSync(join(users, 'rules.js'), '\n');
  const [packaged, sandboxed] = [await loadDomain(ours), await loadDomain(users)];
  try {
    const rates = await measurePaired({
      rounds,
      ours: () => stepsPerSecond(packaged, seconds),
      baseline: () => stepsPerSecond(sandboxed, seconds),
      log,
    });
    const ratios = rates.ours.map((rate) => rate / BEFORE);
    const raw = {
      stepsPerSecond: rates.ours,
      sandboxedStepsPerSecond: rates.baseline,
      sandboxedRatio: median(rates.baseline) / BEFORE,
    };
    return { ...bootstrap(ratios, median), n: rounds, raw };
  } finally {
    for (const domain of [packaged, sandboxed]) domain.close();
    rmSync(temporary, { recursive: true });
  }
}

async function stepsPerSecond(domain: ToolsDomain, seconds: number): Promise<number> {
  const responder = rulesResponder(domain);
  const env = new ToolsEpisodeEnvironment({ id: 'helpdesk', domain, responder, user: new ScriptedUser() });
  const began = process.cpuUsage();
  const spent = () => {
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1e6;
  };
  let steps = 0;
  while (spent() < seconds) steps += await allTasks(env, domain);
  env.close();
  return steps / spent();
}

/** All tasks once; how many steps these were. */
async function allTasks(env: ToolsEpisodeEnvironment, domain: ToolsDomain): Promise<number> {
  let steps = 0;
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
  return steps;
}
