// Episodes of agents that err, each in its own way: in the real environment for calls to ask about, in a dream to see what it
// makes of them.

import { Rng } from '../../core/rng.js';
import { concurrently } from '../../core/threads.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { ScriptedUser } from '../../env/tools/scripted-user.js';
import { ToolsEpisodeEnvironment } from '../../env/tools/tools-environment.js';
import type { Responder, ToolsPolicy, UserSimulator } from '../../env/tools/tools-family.js';
import type { ToolsScenario } from '../../kinds/tools.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import type { Source } from '../../replay/transition.js';
import { RandomAgent, ReferenceAgent } from '../../synth/episodes/agents/baseline-agents.js';
import { type EpisodeSettings, planRow, runEpisode } from '../../synth/episodes/run-episode.js';
import { episodeWeight } from '../../worldmodel/tools/checks.js';
import { type RealCall, recordingRules, shuffled } from './question.js';

/** Who acts, in turn: by the solution with this share of wrong calls, and at random. */
const AGENTS: readonly ToolsPolicy[] = [
  new ReferenceAgent(0),
  new ReferenceAgent(0.3),
  new ReferenceAgent(0.5),
  new RandomAgent(),
  new ReferenceAgent(0.3),
  new ReferenceAgent(0.5),
];

/** Where episodes are lived, and what decides them. */
export interface EpisodeStage {
  readonly scenario: ToolsScenario;
  readonly domain: ToolsDomain;
  readonly responder: Responder;
  readonly user: UserSimulator;
  readonly seed: number;
  /** Decides what exact checks leave open. */
  readonly judge?: EpisodeSettings['judge'];
}

/** Tasks and agents of episode `row`: all tasks come in turn, in an order drawn by seed, before one comes again. */
export function castOf(
  tasks: readonly ToolsTask[],
  row: number,
  seed: number,
): { task: ToolsTask; agent: ToolsPolicy } {
  const order = shuffled(tasks, Rng.fromSeed(seed).split('fidelity-tasks'));
  const round = Math.floor(row / order.length);
  return { task: order[row % order.length], agent: AGENTS[(row + round) % AGENTS.length] };
}

/** An environment of the domain in which `responder` answers calls. */
export function episodeEnvironment(
  { domain, user }: Pick<EpisodeStage, 'domain' | 'user'>,
  responder: Responder,
  { config }: ToolsScenario,
): ToolsEpisodeEnvironment {
  const { maxSteps } = config.synth;
  const { maxTurns } = config.user;
  return new ToolsEpisodeEnvironment({ id: config.name, domain, responder, user, maxSteps, maxTurns });
}

/** Throws what the responder, the user or the judge throw. */
export function liveFidelityEpisode(
  stage: EpisodeStage,
  { task, agent, row, source }: { task: ToolsTask; agent: ToolsPolicy; row: number; source: Source },
  signal?: AbortSignal,
): Promise<EpisodeRecord> {
  const { scenario, seed, responder, user, judge } = stage;
  const environment = episodeEnvironment(stage, responder, scenario);
  const plan = planRow(row, { seed, groupSize: 1, branchAt: 0 });
  const settings: EpisodeSettings = {
    scenario: scenario.config.name,
    scenarioHash: scenario.hash,
    seed,
    source,
    responderVersion: responder.version,
    userVersion: user.version,
    maxSteps: scenario.config.synth.maxSteps,
    weigh: (predictions) => episodeWeight(predictions, scenario.config.model),
    judge,
  };
  return runEpisode(environment, agent, task, plan, settings, signal);
}

export interface RealEpisode {
  readonly record: EpisodeRecord;
  readonly calls: readonly RealCall[];
}

export interface RealStage extends Pick<EpisodeStage, 'scenario' | 'domain' | 'seed'> {
  readonly signal?: AbortSignal;
}

/** One episode in each task, with agents in turn, of this round's seeds. */
export async function realEpisodes(
  { scenario, domain, seed, signal }: RealStage,
  round: number,
  onEpisode: (episode: RealEpisode) => void,
): Promise<RealEpisode[]> {
  return concurrently(domain.tasks, 1, async (_, i) => {
    const calls: RealCall[] = [];
    const stage = { scenario, domain, seed, user: new ScriptedUser(), responder: recordingRules(domain, calls) };
    const row = round * domain.tasks.length + i;
    const cast = { ...castOf(domain.tasks, row, seed), row, source: 'real' } as const;
    const lived = { record: await liveFidelityEpisode(stage, cast, signal), calls };
    onEpisode(lived);
    return lived;
  });
}
