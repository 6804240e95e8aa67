// An episode whose rules answer at once and take long, as a browser's do: whoever wants to stop it is heard all the same.

import { expect, it } from 'vitest';
import { makeDomain } from '../../../src/env/tools/domains.js';
import { carryOutForReal } from '../../../src/fidelity/tools/episodes.js';
import { ReferenceAgent } from '../../../src/synth/episodes/agents/baseline-agents.js';
import { planRow, runEpisode } from '../../../src/synth/episodes/run-episode.js';
import { LIVED, rulesEnvironment } from '../../env/tools/library.js';

/** What answers at once, after it kept the thread for a while; and how often it was asked. */
async function slowDesk() {
  const domain = await makeDomain({ id: 'helpdesk' });
  const rules = domain.rules!;
  const asked = { times: 0 };
  const execute: typeof rules.execute = (state, call) => {
    asked.times += 1;
    for (const until = performance.now() + 60; performance.now() < until; );
    return rules.execute(state, call);
  };
  const slow = new Proxy(rules, { get: (of, key) => (key === 'execute' ? execute : Reflect.get(of, key, of)) });
  return { domain: { ...domain, rules: slow }, asked };
}

/** As a signal's listener is called: by the event loop. */
function soon(): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 1);
  return controller.signal;
}

it('stops where it is told to', async () => {
  const { domain, asked } = await slowDesk();
  const task = domain.tasks.find(({ reference }) => (reference?.calls.length ?? 0) > 3)!;
  const environment = () => rulesEnvironment(domain);
  const live = (signal?: AbortSignal) => {
    const plan = planRow(0, { seed: 0, groupSize: 1, branchAt: 0 });
    return runEpisode(environment(), new ReferenceAgent(0), task, plan, LIVED, signal);
  };
  const { messages } = await live();
  const calls = asked.times;

  asked.times = 0;
  await expect(live(soon())).rejects.toMatchObject({ name: 'AbortError' });
  expect(asked.times).toBeLessThan(calls);

  asked.times = 0;
  await expect(carryOutForReal(domain, task, messages, soon())).rejects.toMatchObject({ name: 'AbortError' });
  expect(asked.times).toBeLessThan(calls);
  domain.close();
});
