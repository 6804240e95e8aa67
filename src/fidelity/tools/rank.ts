// Ranking of agents for scenarios of tools: a ladder of agents that need no language model lives the same tasks against the
// exact rules and in the dream. What an episode was worth is found by the task's verifier on the state each world ended in.

import { NO_COST } from '../../core/cost.js';
import type { ToolsTask } from '../../env/tools/domain.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import type { Responder, ToolsPolicy } from '../../env/tools/tools-family.js';
import type { ToolsScenario } from '../../kinds/tools.js';
import { RandomAgent, ReferenceAgent } from '../../synth/episodes/agents/baseline-agents.js';
import { planRow, type RowPlan, runEpisode } from '../../synth/episodes/run-episode.js';
import type { Instrument } from '../measure.js';
import { type EpisodeReturn, type RankSource, rankInstrument, unrankable } from '../rank.js';
import type { FidelitySetup } from '../setup.js';
import { type EpisodeStage, episodeEnvironment } from './episodes.js';

type Parts = Pick<EpisodeStage, 'domain' | 'user'>;

/** Lives an episode in a dream that answers of itself, such as one on a server. */
export type LiveInDream = (
  agent: ToolsPolicy,
  task: ToolsTask,
  plan: RowPlan,
  signal?: AbortSignal,
) => Promise<{ readonly return: number | null; readonly length: number }>;

export interface NamedAgent {
  readonly name: string;
  readonly agent: ToolsPolicy;
}

/** Shares of calls that reference agents get wrong, those first that tell most where a ladder is short; then ever finer ones. */
const ERRORS = [
  ...[0, 0.5, 0.1, 0.3, 0.7, 0.2, 0.9, 1, 0.05, 0.4, 0.6, 0.8],
  ...[0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95],
  ...[0.02, 0.08, 0.12, 0.18, 0.22, 0.28, 0.32, 0.38, 0.42, 0.48],
];
const RANDOM_CALLS = 6;
/** Episodes that are lived at once: in a dream of a language model they wait most of the time. */
const CHUNK_EPISODES = 8;

/** Says good-bye and does nothing: what a task is worth where nothing happens. */
export class SilentAgent implements ToolsPolicy {
  readonly version = 'does nothing';

  act() {
    return { action: { content: 'Good-bye.' }, cost: NO_COST };
  }
}

/** Rungs from the full solution to nothing at all; `policies` of them, as many as there are kinds. */
export function agentLadder(policies: number): NamedAgent[] {
  const references = ERRORS.slice(0, Math.max(1, policies - 2))
    .sort((a, b) => a - b)
    .map((error) => ({
      name: error === 0 ? 'reference' : `reference, ${Math.round(100 * error)} % wrong`,
      agent: new ReferenceAgent(error),
    }));
  const floor = [
    { name: 'random calls', agent: new RandomAgent(RANDOM_CALLS) },
    { name: 'does nothing', agent: new SilentAgent() },
  ];
  return [...references, ...floor];
}

/**
 * Lives tasks that have a solution in turn, each time with other seeds; `dream` answers calls where it is dreamt. Without rules
 * of the domain, or tasks with a solution, nothing is measured and the section says so.
 */
export function toolsRankInstrument(
  setup: FidelitySetup<ToolsScenario>,
  parts: Parts,
  dream: Responder | LiveInDream,
): Instrument {
  if (parts.domain.rules === undefined) {
    return unrankable('The domain has no exact rules, so that agents cannot be ranked for real.');
  }
  const source = new AgentLadder(setup, parts, dream);
  if (source.tasks === 0)
    return unrankable('No task of the domain has reference calls, so that there is no ladder of agents.');
  const note = `The ladder: agents that know each task's solution and get a share of its calls wrong, one that calls at random, one that does nothing; ${source.tasks} tasks in turn. Agents that read what they are told could tell worlds apart that these cannot.`;
  return rankInstrument(source, { seed: setup.seed, notes: [note], chunkEpisodes: CHUNK_EPISODES });
}

class AgentLadder implements RankSource {
  readonly policies: readonly string[];
  readonly episodes: number;
  private readonly agents: readonly NamedAgent[];
  private readonly solved: readonly ToolsTask[];

  constructor(
    private readonly setup: FidelitySetup<ToolsScenario>,
    private readonly parts: Parts,
    private readonly dream: Responder | LiveInDream,
  ) {
    const { fidelity } = setup.scenario.config;
    this.agents = agentLadder(fidelity.rank.policies);
    this.policies = this.agents.map(({ name }) => name);
    this.episodes = fidelity.rank.episodes;
    this.solved = parts.domain.tasks.filter(({ reference }) => reference !== undefined);
  }

  get tasks(): number {
    return this.solved.length;
  }

  async returnsOf(world: 'real' | 'dream', policy: number, episodes: readonly number[], signal?: AbortSignal) {
    const answers = world === 'real' ? rulesResponder(this.parts.domain) : this.dream;
    return Promise.all(episodes.map((episode) => this.live(answers, world, policy, episode, signal)));
  }

  private async live(
    responder: Responder | LiveInDream,
    world: 'real' | 'dream',
    policy: number,
    episode: number,
    signal?: AbortSignal,
  ): Promise<EpisodeReturn | null> {
    const { scenario, seed } = this.setup;
    // The same plan whoever acts: agents that err draw their errors alike.
    const plan = planRow(episode, { seed, groupSize: 1, branchAt: 0 });
    const task = this.solved[episode % this.solved.length];
    if (typeof responder === 'function')
      return this.returnOf(await responder(this.agents[policy].agent, task, plan, signal));
    const environment = episodeEnvironment(this.parts, responder, scenario);
    const record = await runEpisode(
      environment,
      this.agents[policy].agent,
      task,
      plan,
      {
        scenario: scenario.config.name,
        scenarioHash: scenario.hash,
        seed,
        source: world === 'real' ? 'real' : 'synthetic',
        responderVersion: responder.version,
        userVersion: this.parts.user.version,
        maxSteps: scenario.config.synth.maxSteps,
        weigh: () => 1,
      },
      signal,
    );
    return this.returnOf({ return: record.return, length: record.steps.length });
  }

  /** null: the verifier could not decide. */
  private returnOf({ return: value, length }: Awaited<ReturnType<LiveInDream>>): EpisodeReturn | null {
    if (value === null) return null;
    return { return: value, length };
  }
}
