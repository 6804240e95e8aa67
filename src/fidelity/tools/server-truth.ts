// A server as truth: what it answers now to agents that call its tools at random, in episodes lived there for it. Its state is not
// known, so only what is said can be compared.

import { contentHash } from '../../core/canonical-json.js';
import { concurrently } from '../../core/threads.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import { type RealEnvironment, realResponder } from '../../env/tools/rules-responder.js';
import type { ToolsScenario } from '../../kinds/tools.js';
import { RandomAgent } from '../../synth/episodes/agents/baseline-agents.js';
import { patiently } from './answers.js';
import { liveFidelityEpisode } from './episodes.js';
import { type ToolsTruth, truthOfRecords } from './recorded-truth.js';

/** Calls of each agent before it says good-bye, in turn. */
const AGENTS = [4, 8, 6].map((calls) => new RandomAgent(calls));
/** Calls of an episode that are questions of their own, at least: how many episodes are lived follows from it. */
const CALLS = 4;

/** @throws what the server is at fault with */
export async function serverTruth(
  scenario: ToolsScenario,
  domain: ToolsDomain,
  real: RealEnvironment,
  seed: number,
): Promise<ToolsTruth> {
  const { questions, episodes } = scenario.config.fidelity;
  const stage = { scenario, domain, seed, user: real.user, responder: realResponder(domain) };
  const rows = Array.from({ length: Math.max(episodes, Math.ceil(questions / CALLS)) }, (_, row) => row);
  const lived = await concurrently(rows, real.sessions, (row) => {
    const cast = { task: domain.tasks[row % domain.tasks.length], agent: AGENTS[row % AGENTS.length] };
    return patiently(() => liveFidelityEpisode(stage, { ...cast, row, source: 'real' }));
  });
  const records = lived.filter((record) => record !== undefined);
  return truthOfRecords(scenario, domain, seed, records, {
    kind: 'environment',
    description: `${domain.id}: calls at random, as its server answered them`,
    version: contentHash(records.map(({ messages }) => messages)),
  });
}
