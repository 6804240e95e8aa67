// Episodes of agents that err, each in its own way: in the real environment for calls to ask about, in a simulation to see what it
// makes of them. What is true of a simulated one: its calls, carried out for real.

import type { Json } from '../../core/canonical-json.js';
import { Rng } from '../../core/rng.js';
import { applyOperations } from '../../env/state/operations.js';
import { stateHash } from '../../env/state/state.js';
import type { ToolsDomain, ToolsTask, Verdict } from '../../env/tools/domain.js';
import { initialStateOf } from '../../env/tools/situation.js';
import { ToolsEpisodeEnvironment } from '../../env/tools/tools-environment.js';
import type { Responder, ToolsPolicy, UserSimulator } from '../../env/tools/tools-family.js';
import { verifyEpisode } from '../../env/tools/verify-episode.js';
import type { ToolsScenario } from '../../kinds/tools.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import type { Source } from '../../replay/transition.js';
import { RandomAgent, ReferenceAgent } from '../../synth/episodes/agents/baseline-agents.js';
import { type EpisodeSettings, planRow, runEpisode } from '../../synth/episodes/run-episode.js';
import { episodeWeight } from '../../worldmodel/tools/checks.js';
import { type CarriedOut, carryOutForReal } from './open-loop.js';

/** Who acts, in turn: by the solution with this share of wrong calls, and at random. */
const AGENTS: readonly ToolsPolicy[] = [
  new ReferenceAgent(0),
  new ReferenceAgent(0.3),
  new ReferenceAgent(0.5),
  new RandomAgent(),
  new ReferenceAgent(0.3),
  new ReferenceAgent(0.5),
];

/** Where episodes are run, and what decides them. */
interface EpisodeStage {
  readonly scenario: ToolsScenario;
  readonly domain: ToolsDomain;
  readonly responder: Responder;
  readonly user: UserSimulator;
  readonly seed: number;
  /** Decides what exact checks leave open. */
  readonly judge?: EpisodeSettings['judge'];
}

/** Task and agent of episode `row`: all tasks come in turn, in an order drawn by seed, before one comes again. */
export function castOf(
  tasks: readonly ToolsTask[],
  row: number,
  seed: number,
): { task: ToolsTask; agent: ToolsPolicy } {
  const order = shuffled(tasks, Rng.fromSeed(seed).split('fidelity-tasks'));
  const round = Math.floor(row / order.length);
  return { task: order[row % order.length], agent: AGENTS[(row + round) % AGENTS.length] };
}

export function shuffled<T>(items: readonly T[], rng: Rng): T[] {
  return items
    .map((item) => ({ item, at: rng.uniform() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/** The same plan whichever agent acts: agents that err draw their errors alike. Throws what the responder, the user or the judge throw. */
export function runFidelityEpisode(
  { scenario, domain, seed, responder, user, judge }: EpisodeStage,
  { task, agent, row, source }: { task: ToolsTask; agent: ToolsPolicy; row: number; source: Source },
  signal?: AbortSignal,
): Promise<EpisodeRecord> {
  const { name: id, model, synth, user: said } = scenario.config;
  const { maxSteps } = synth;
  const parts = { id, domain, responder, user, maxSteps, maxTurns: said.maxTurns };
  const plan = planRow(row, { seed, groupSize: 1, branchAt: 0 });
  const settings: EpisodeSettings = {
    scenario: id,
    scenarioHash: scenario.hash,
    seed,
    source,
    responderVersion: responder.version,
    userVersion: user.version,
    maxSteps,
    weigh: (predictions) => episodeWeight(predictions, model),
    judge,
  };
  return runEpisode(new ToolsEpisodeEnvironment(parts), agent, task, plan, settings, signal);
}

/** Runs episode `row` in a simulation; undefined: it got no answer. `isJudged`: a judge decides what exact checks leave open. */
export type RunSimulated = (
  cast: { readonly task: ToolsTask; readonly agent: ToolsPolicy; readonly row: number; readonly isJudged: boolean },
  signal?: AbortSignal,
) => Promise<EpisodeRecord | undefined>;

export type SimulatedRow = {
  readonly kind: 'episode';
  readonly episode: number;
  /** false: a model did not answer, and the episode was not run. */
  readonly answered: boolean;
  readonly task: string;
  readonly policy: string;
  /** Rewards; null: could not be decided. */
  readonly simulated: number | null;
  readonly real: number | null;
  /** Whether the simulated state at the end is the real one; null for models without a state. */
  readonly endState: boolean | null;
  /** Whether a tool ended it in both or in neither; null where none was called that could. */
  readonly ends: boolean | null;
  readonly calls: readonly Json[];
  /** Checks that passed in one of the two alone. */
  readonly checks: readonly { readonly name: string; readonly simulated: Json; readonly real: Json }[];
};

interface SimulatedOptions {
  readonly count: number;
  /** The real environment's rules are this domain's. */
  readonly domain: ToolsDomain;
  readonly seed: number;
  readonly run: RunSimulated;
  /** Decides what exact checks leave open, as was done in the simulation; absent: it stays open. */
  readonly decide?: EpisodeSettings['judge'];
}

/** Each run once, for all instruments that look at it. */
export class SimulatedEpisodes {
  readonly count: number;
  readonly hasTruth: boolean;
  private readonly rows = new Map<number, Promise<SimulatedRow>>();

  constructor(private readonly options: SimulatedOptions) {
    this.hasTruth = options.domain.rules !== undefined;
    this.count = this.hasTruth && options.domain.tasks.length > 0 ? options.count : 0;
  }

  row(episode: number, signal?: AbortSignal): Promise<SimulatedRow> {
    const made = this.rows.get(episode) ?? this.made(episode, signal);
    this.rows.set(episode, made);
    // What failed is run anew.
    made.catch(() => this.rows.delete(episode));
    return made;
  }

  private async made(episode: number, signal?: AbortSignal): Promise<SimulatedRow> {
    const { domain, seed, run } = this.options;
    const cast = castOf(domain.tasks, episode, seed);
    const record = await run({ ...cast, row: episode, isJudged: true }, signal);
    if (record === undefined) {
      const nothing = { simulated: null, real: null, endState: null, ends: null, calls: [], checks: [] };
      return { kind: 'episode', episode, answered: false, task: '', policy: '', ...nothing };
    }
    const { task } = cast;
    const real = await carryOutForReal(domain, task, record.messages, signal);
    const verdict = real.isWhole ? await this.realVerdict(task, real, signal) : undefined;
    const hash = endHash(domain, task, record);
    return {
      kind: 'episode',
      episode,
      answered: true,
      task: task.id,
      policy: record.policyVersion,
      simulated: record.verdict.reward,
      real: verdict?.reward ?? null,
      endState: !real.isWhole || hash === null ? null : hash === stateHash(real.finalState),
      ends: real.isWhole ? endsAlike(domain, record, real) : null,
      calls: record.messages.flatMap((message) =>
        message.role === 'assistant'
          ? (message.toolCalls ?? []).map((call) => ({ name: call.name, arguments: call.arguments }))
          : [],
      ),
      checks: verdict === undefined ? [] : differingChecks(record.verdict, verdict),
    };
  }

  private async realVerdict(task: ToolsTask, end: CarriedOut, signal?: AbortSignal): Promise<Verdict> {
    const { domain, decide } = this.options;
    const verdict = verifyEpisode(domain, task, end);
    if (decide === undefined || verdict.reward !== null) return verdict;
    return (await decide({ domain, task, end, verdict, predictions: [] }, signal)).verdict;
  }
}

function endHash(domain: ToolsDomain, task: ToolsTask, { steps }: EpisodeRecord): string | null {
  const predictions = steps.flatMap((step) => step.predictions);
  if (predictions.some(({ stateless }) => stateless)) return null;
  const start = initialStateOf(domain, task);
  return stateHash(predictions.reduce((state, { operations }) => applyOperations(state, operations), start));
}

function endsAlike({ tools }: ToolsDomain, { steps }: EpisodeRecord, real: CarriedOut): boolean | null {
  const ending = new Set(tools.filter(({ terminates }) => terminates).map(({ name }) => name));
  const answered = steps.flatMap(({ action, predictions }) =>
    predictions.map(({ isError }, i) => ({ isError, name: action.toolCalls![i].name })),
  );
  const called = answered.filter(({ name }) => ending.has(name));
  return called.length === 0 ? null : called.some(({ isError }) => !isError) === real.terminated;
}

function differingChecks(simulated: Verdict, real: Verdict): SimulatedRow['checks'] {
  return real.checks.flatMap((check) => {
    const other = simulated.checks.find(({ name }) => name === check.name);
    if (other === undefined || other.passed === check.passed) return [];
    return [{ name: check.name, simulated: other.reason, real: check.reason }];
  });
}
