// Ranking of agents for scenarios of tools: a ladder of agents that need no language model does the same tasks against the exact rules
// and in the simulation. What an episode was worth is found by the task's verifier on the state each world ended in.

import { NO_COST } from '../../core/cost.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import type { ToolsPolicy } from '../../env/tools/tools-family.js';
import { RandomAgent, ReferenceAgent } from '../../synth/episodes/agents/baseline-agents.js';
import { type RankSource, rankInstrument, unrankable } from '../rank.js';
import type { Instrument } from '../section.js';
import { type RunSimulated, runFidelityEpisode } from './episodes.js';
import type { ToolsGround } from './judged.js';

/** Shares of calls that reference agents get wrong, those first that tell most where a ladder is short; then ever finer ones. */
const ERRORS = [
  ...[0, 0.5, 0.1, 0.3, 0.7, 0.2, 0.9, 1, 0.05, 0.4, 0.6, 0.8],
  ...[0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95],
  ...[0.02, 0.08, 0.12, 0.18, 0.22, 0.28, 0.32, 0.38, 0.42, 0.48],
];
const RANDOM_CALLS = 6;
/** Episodes that are run at once: in a simulation by a language model they wait most of the time. */
const CHUNK_EPISODES = 8;

/** Says good-bye and does nothing: what a task is worth where nothing happens. */
const SILENT: ToolsPolicy = {
  version: 'does nothing',
  act: () => ({ action: { content: 'Good-bye.' }, cost: NO_COST }),
};

/** Rungs from the full solution to nothing at all; `policies` of them, as many as there are kinds. */
export function agentLadder(policies: number): { readonly name: string; readonly agent: ToolsPolicy }[] {
  const references = ERRORS.slice(0, Math.max(1, policies - 2))
    .sort((a, b) => a - b)
    .map((error) => ({
      name: error === 0 ? 'reference' : `reference, ${Math.round(100 * error)} % wrong`,
      agent: new ReferenceAgent(error),
    }));
  return [
    ...references,
    { name: 'random calls', agent: new RandomAgent(RANDOM_CALLS) },
    { name: 'does nothing', agent: SILENT },
  ];
}

/** Tasks that have a solution in turn, each time with other seeds. Without rules of the domain, or such tasks, the section says so. */
export function toolsRank(
  { setup, domain, user }: Pick<ToolsGround, 'setup' | 'domain' | 'user'>,
  run: RunSimulated,
): Instrument {
  const { scenario, seed } = setup;
  const { policies, episodes } = scenario.config.fidelity.rank;
  const solved = domain.tasks.filter(({ reference }) => reference !== undefined);
  if (domain.rules === undefined)
    return unrankable('The domain has no exact rules, so that agents cannot be ranked for real.');
  if (solved.length === 0)
    return unrankable('No task of the domain has reference calls, so that there is no ladder of agents.');
  const agents = agentLadder(policies);
  const stage = { scenario, domain, user, seed, responder: rulesResponder(domain) };
  const source: RankSource = {
    policies: agents.map(({ name }) => name),
    episodes,
    returnsOf: (world, policy, rows, signal) =>
      Promise.all(
        rows.map(async (row) => {
          const cast = { task: solved[row % solved.length], agent: agents[policy].agent, row };
          const episode =
            world === 'real'
              ? await runFidelityEpisode(stage, { ...cast, source: 'real' }, signal)
              : await run({ ...cast, isJudged: false }, signal);
          return episode?.return ?? null;
        }),
      ),
  };
  const note = `The ladder: agents that know each task's solution and get a share of its calls wrong, one that calls at random, one that does nothing; ${solved.length} tasks in turn. Agents that read the answers could tell worlds apart that these cannot.`;
  return rankInstrument(source, { seed, notes: [note], chunkEpisodes: CHUNK_EPISODES });
}
