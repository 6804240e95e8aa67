// Calls of a conversation that took place somewhere, carried out somewhere else: those of a real episode in a simulation, on its
// own state and its own answers; those of a simulated one for real.

import type { JsonObject } from '../../core/canonical-json.js';
import { Rng } from '../../core/rng.js';
import { takeTurn } from '../../core/threads.js';
import { applyOperations } from '../../env/state/operations.js';
import { stateHash } from '../../env/state/state.js';
import { callChecks } from '../../env/tools/check-action.js';
import type { ToolsDomain, ToolsTask, Verdict } from '../../env/tools/domain.js';
import type { Message, ToolCall } from '../../env/tools/message.js';
import type { Prediction } from '../../env/tools/prediction.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import { initialStateOf } from '../../env/tools/situation.js';
import { ToolsEpisodeEnvironment } from '../../env/tools/tools-environment.js';
import type { CallQuery, Responder, ToolsPolicy, UserSimulator } from '../../env/tools/tools-family.js';
import { verifyEpisode } from '../../env/tools/verify-episode.js';
import type { ToolsScenario } from '../../kinds/tools.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import type { Source } from '../../replay/transition.js';
import { RandomAgent, ReferenceAgent } from '../../synth/episodes/agents/baseline-agents.js';
import { type EpisodeSettings, planRow, runEpisode } from '../../synth/episodes/run-episode.js';
import { episodeWeight } from '../../worldmodel/tools/checks.js';
import { isSameObservation, onlyOnce, patientAnswer, patiently } from './answers.js';

interface CarriedStep {
  readonly call: ToolCall;
  /** Calls of unknown tools, with arguments that break a schema, or after the end are refused by the environment itself. */
  readonly prediction: Prediction;
  /** Afterwards. */
  readonly state: JsonObject;
}

interface CarriedOut {
  readonly initialState: JsonObject;
  readonly finalState: JsonObject;
  /** The conversation with the answers that calls were given here; what was said is as it was. */
  readonly messages: readonly Message[];
  readonly steps: readonly CarriedStep[];
  /** Whether a tool that ends conversations did so. */
  readonly terminated: boolean;
  /** false: a call got no answer, and everything after it is missing. */
  readonly isWhole: boolean;
}

/**
 * @param past messages as they were, policy first
 * @param answer of one call; undefined: none came
 */
export async function carryOut(
  domain: ToolsDomain,
  task: ToolsTask,
  past: readonly Message[],
  answer: (query: CallQuery) => Promise<Prediction | undefined>,
  seed: number,
): Promise<CarriedOut> {
  const [checks, ofUser] = [domain.tools, domain.userTools ?? []].map(callChecks);
  const initialState = initialStateOf(domain, task);
  const messages: Message[] = [];
  const steps: CarriedStep[] = [];
  const doubts: Record<string, number> = {};
  let state = initialState;
  let terminated = false;
  const outcome = (isWhole: boolean) => ({ initialState, finalState: state, messages, steps, terminated, isWhole });
  for (const message of past) {
    if (message.role === 'tool') continue;
    // The user's own calls before its message: the environment itself refuses them as it does those of the agent.
    for (const { name, arguments: given } of message.role === 'user' ? (message.calls ?? []) : []) {
      const call = { id: `user-call-${messages.length}`, name, arguments: given };
      if (task.user.tools?.includes(name) === false || ofUser.problems(call).length > 0) continue;
      const query = { domain, task, state, messages: [...messages], call, step: steps.length, seed };
      const prediction = await answer(query);
      if (prediction === undefined) return outcome(false);
      state = applyOperations(state, prediction.operations);
    }
    messages.push(message);
    for (const call of message.role === 'assistant' ? (message.toolCalls ?? []) : []) {
      const problems: readonly string[] = terminated ? ['the conversation has ended'] : checks.problems(call);
      const query = { domain, task, state, messages: [...messages], call, step: steps.length, seed, doubts };
      const prediction: Prediction | undefined = problems.length > 0 ? checks.refuse(problems) : await answer(query);
      if (prediction === undefined) return outcome(false);
      const { observation, isError, operations, confidence } = prediction;
      if (confidence < 1) doubts[call.id] = confidence;
      state = applyOperations(state, operations);
      steps.push({ call, prediction, state });
      const reply: Message = { role: 'tool', toolCallId: call.id, name: call.name, content: observation };
      messages.push(isError ? { ...reply, isError } : reply);
      const ends = domain.tools.find(({ name }) => name === call.name)?.terminates === true;
      terminated ||= ends && !isError;
    }
  }
  return outcome(true);
}

/** Carried out for real, by the domain's rules; not whole where these do not know a tool. */
export function carryOutForReal(
  domain: ToolsDomain,
  task: ToolsTask,
  messages: readonly Message[],
  signal?: AbortSignal,
): Promise<CarriedOut> {
  const real = rulesResponder(domain);
  const answer = async (query: CallQuery) => {
    await takeTurn();
    signal?.throwIfAborted();
    return domain.rules?.tools.has(query.call.name) ? (real.answer(query) as Prediction) : undefined;
  };
  return carryOut(domain, task, messages, answer, 0);
}

// A real episode in a simulation: how far it keeps to what happened.

/** A call of a real episode, with what is known of it. */
export interface TrueStep {
  readonly observation: string;
  readonly isError: boolean;
  /** The state afterwards; absent where it is not known. */
  readonly state?: JsonObject;
}

/** A real episode, as far as it can be carried out again. */
export interface TrueSequence {
  /** Names it in reports. */
  readonly id: string;
  readonly task: ToolsTask;
  readonly messages: readonly Message[];
  /** One for each call, in order. */
  readonly steps: readonly TrueStep[];
}

/** Carries the calls of a real episode out in a simulation. */
export function carriedBy(responder: Responder, domain: ToolsDomain, seed: number) {
  return ({ task, messages }: TrueSequence, signal?: AbortSignal) =>
    carryOut(domain, task, messages, (query) => patientAnswer(responder, query, signal), seed);
}

export type OpenLoopStep = {
  /** null: not known. */
  readonly state: boolean | null;
  /** null: the environment refuses the call by itself, and no backend was asked. */
  readonly observation: boolean | null;
  /** Whether it is reported as an error where it is one; null as of the observation. */
  readonly error: boolean | null;
  readonly backend: string;
};

export type OpenLoopRow = {
  readonly kind: 'open-loop';
  readonly episode: number;
  readonly steps: readonly OpenLoopStep[];
  /** false: an answer was missing, so that the rest is not known. */
  readonly isWhole: boolean;
};

export async function openLoopRow(
  carry: ReturnType<typeof carriedBy>,
  sequence: TrueSequence,
  episode: number,
  signal?: AbortSignal,
): Promise<OpenLoopRow> {
  const carried = await carry(sequence, signal);
  const known = carried.steps.slice(0, sequence.steps.length);
  const steps = known.map(({ prediction: answer, state }, i): OpenLoopStep => {
    const real = sequence.steps[i];
    const isAsked = answer.backend !== 'schema';
    return {
      state: real.state === undefined ? null : stateHash(state) === stateHash(real.state),
      observation: isAsked ? isSameObservation(answer.observation, real.observation) : null,
      error: isAsked ? answer.isError === real.isError : null,
      backend: answer.refused === undefined ? answer.backend : 'refused',
    };
  });
  return { kind: 'open-loop', episode, steps, isWhole: carried.isWhole };
}

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
export function castOf(tasks: readonly ToolsTask[], row: number, seed: number) {
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
  const { maxTurns, patience } = said;
  const parts = { id, domain, responder, user, maxSteps, maxTurns, ...(patience !== null && { patience }) };
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
  /** Rewards; null: could not be decided. */
  readonly simulated: number | null;
  readonly real: number | null;
  /** Whether the simulated state at the end is the real one; null where no rules know it. */
  readonly endState: boolean | null;
};

/** Episodes of one chunk. */
export const CHUNK_EPISODES = 4;

/** Each run once, for all instruments that look at it. */
export class SimulatedEpisodes {
  readonly chunks: number;
  readonly hasTruth: boolean;
  private readonly count: number;
  private readonly once = onlyOnce<SimulatedRow>();

  constructor(
    private readonly options: {
      readonly count: number;
      /** The real environment's rules are this domain's. */
      readonly domain: ToolsDomain;
      readonly seed: number;
      readonly run: RunSimulated;
      /** Decides what exact checks leave open, as was done in the simulation; absent: it stays open. */
      readonly decide?: EpisodeSettings['judge'];
    },
  ) {
    this.hasTruth = options.domain.rules !== undefined;
    this.count = this.hasTruth && options.domain.tasks.length > 0 ? options.count : 0;
    this.chunks = Math.ceil(this.count / CHUNK_EPISODES);
  }

  async chunk(chunk: number, signal?: AbortSignal): Promise<SimulatedRow[]> {
    const rows: SimulatedRow[] = [];
    const end = Math.min((chunk + 1) * CHUNK_EPISODES, this.count);
    for (let episode = chunk * CHUNK_EPISODES; episode < end; episode++)
      rows.push(await this.once(episode, () => this.made(episode, signal)));
    return rows;
  }

  private async made(episode: number, signal?: AbortSignal): Promise<SimulatedRow> {
    const { domain, seed, run } = this.options;
    const cast = castOf(domain.tasks, episode, seed);
    const record = await run({ ...cast, row: episode, isJudged: true }, signal);
    if (record === undefined)
      return { kind: 'episode', episode, answered: false, simulated: null, real: null, endState: null };
    const { task } = cast;
    const real = await carryOutForReal(domain, task, record.messages, signal);
    const verdict = real.isWhole ? await this.realVerdict(task, real, signal) : undefined;
    return {
      kind: 'episode',
      episode,
      answered: true,
      simulated: record.verdict.reward,
      real: verdict?.reward ?? null,
      endState: real.isWhole ? stateHash(endOf(domain, task, record)) === stateHash(real.finalState) : null,
    };
  }

  private async realVerdict(task: ToolsTask, end: CarriedOut, signal?: AbortSignal): Promise<Verdict> {
    const { domain, decide } = this.options;
    const verdict = verifyEpisode(domain, task, end);
    if (decide === undefined || verdict.reward !== null) return verdict;
    const decided = await patiently(() => decide({ domain, task, end }, signal));
    return decided?.verdict ?? verdict;
  }
}

/** All answers of an episode, to calls of the user too. */
export function answersIn({ steps }: EpisodeRecord): Prediction[] {
  return steps.flatMap(({ predictions, userPredictions = [] }) => [...predictions, ...userPredictions]);
}

/** The state that an episode ended in. */
export function endOf(domain: ToolsDomain, task: ToolsTask, record: EpisodeRecord): JsonObject {
  const start = initialStateOf(domain, task);
  return answersIn(record).reduce((state, { operations }) => applyOperations(state, operations), start);
}
