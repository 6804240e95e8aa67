// What simulations of tools are held against, and where it comes from: the domain's exact rules, a real server, or recorded episodes.

import { resolve } from 'node:path';
import { contentHash, type JsonObject } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { concurrently } from '../../core/threads.js';
import { applyOperations } from '../../env/state/operations.js';
import { callChecks } from '../../env/tools/check-action.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { Message, ToolCall } from '../../env/tools/message.js';
import { exactPrediction, type Prediction, refusalOf } from '../../env/tools/prediction.js';
import { elsewhere, type RealEnvironment, realResponder, rulesResponder } from '../../env/tools/rules-responder.js';
import { ScriptedUser } from '../../env/tools/scripted-user.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { Responder } from '../../env/tools/tools-family.js';
import type { ToolsScenario } from '../../kinds/tools.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { ReplayedCalls, readEpisodeLogs } from '../../replay/experience/logs/read-episode-logs.js';
import { RandomAgent } from '../../synth/episodes/agents/baseline-agents.js';
import type { TruthReport } from '../report.js';
import { type FidelityServices, notHeldOut } from '../section.js';
import { patiently, questionId, type ToolsQuestion } from './answers.js';
import { carryOutForReal, castOf, runFidelityEpisode, shuffled, type TrueSequence, type TrueStep } from './episodes.js';

export interface ToolsTruth {
  readonly report: TruthReport;
  /** In an order drawn by seed. */
  readonly questions: readonly ToolsQuestion[];
  /** Real episodes to be carried out in the simulation. */
  readonly sequences: readonly TrueSequence[];
  /** The backend that answers by what is also the truth, if any. */
  readonly truthBackend?: string;
  /** What cannot be compared, and why. */
  readonly notes: readonly string[];
}

interface TruthAsked extends Partial<Pick<FidelityServices, 'signal' | 'progress'>> {
  readonly scenario: ToolsScenario;
  readonly domain: ToolsDomain;
  readonly seed: number;
  /** File or folder of recorded episodes in place of the truth that the scenario names. */
  readonly heldOut?: string;
  /** Scenarios of the models under judgement: none may have seen what is held out. */
  readonly answering: readonly ToolsScenario[];
}

/** @throws SCENARIO_INVALID, LOG_INVALID, INPUT_INVALID, the signal's reason, what a server is at fault with */
export function truthOf(asked: TruthAsked): Promise<ToolsTruth> {
  if (asked.heldOut !== undefined || asked.scenario.config.fidelity.truth === 'recorded') return recordedTruth(asked);
  const real = elsewhere(asked.domain);
  return real === undefined ? rulesTruth(asked) : serverTruth(asked, real);
}

/** Calls of an episode that is worth carrying out again. */
const LEAST_CALLS = 2;

/** Says it where there are not as many questions as were wanted. */
function fewer(found: number, wanted: number): string[] {
  return found < wanted ? [`There are ${found} different calls to ask about, not the ${wanted} that were wanted.`] : [];
}

// The domain's exact rules: calls of agents that err in real episodes, as many as are wanted.

/** Rounds over all tasks that bring nothing new before there are fewer questions than were wanted. */
const IDLE_ROUNDS = 3;

async function rulesTruth({ scenario, domain, seed, progress, signal }: TruthAsked): Promise<ToolsTruth> {
  const { name: path, fidelity } = scenario.config;
  if (domain.rules === undefined) {
    const problem =
      '"fidelity.truth" is "rules", but the domain has none. Give recorded episodes: fidelity.truth=recorded.';
    throw reverieError('SCENARIO_INVALID', { path, problem });
  }
  const { questions: count, episodes } = fidelity;
  const { tasks, tools, rules } = domain;
  const phase = progress?.phase('ask the real environment', count, 'calls');
  const records: EpisodeRecord[] = [];
  const found = new Map<string, ToolsQuestion>();
  for (let [round, idle] = [0, 0]; found.size < count && idle < IDLE_ROUNDS; round++) {
    const before = found.size;
    const calls: ToolsQuestion[] = [];
    for (let row = round * tasks.length; row < (round + 1) * tasks.length; row++) {
      const stage = { scenario, domain, seed, user: new ScriptedUser(), responder: recordingRules(domain, calls) };
      records.push(await runFidelityEpisode(stage, { ...castOf(tasks, row, seed), row, source: 'real' }, signal));
      phase?.set(Math.min(found.size + calls.length, count));
    }
    for (const question of calls) if (!found.has(question.id)) found.set(question.id, question);
    idle = found.size === before ? idle + 1 : 0;
  }
  phase?.end();
  const questions = shuffled([...found.values()], Rng.fromSeed(seed).split('questions')).slice(0, count);
  const sequences: TrueSequence[] = [];
  for (const { id, task: name, messages } of shuffled(records, Rng.fromSeed(seed).split('sequences'))) {
    if (sequences.length === episodes) break;
    const task = tasks.find((each) => each.id === name)!;
    const { steps, isWhole } = await carryOutForReal(domain, task, messages, signal);
    if (!isWhole || steps.length < LEAST_CALLS) continue;
    const known = steps.map(({ prediction: { observation, isError }, state }) => ({ observation, isError, state }));
    sequences.push({ id, task, messages, steps: known });
  }
  const unknown = tools.filter(({ name }) => !rules.tools.has(name)).map(({ name }) => name);
  return {
    questions,
    sequences,
    truthBackend: 'rules',
    report: {
      kind: 'environment',
      description: `${domain.id}: calls of agents that err, answered by the domain's exact rules`,
      version: domain.version,
      transitions: questions.length,
      episodes: records.length,
    },
    notes: [
      ...fewer(questions.length, count),
      ...(unknown.length === 0 ? [] : [`Not asked, as no rules know what they truly do: ${unknown.join(', ')}.`]),
    ],
  };
}

/** The real environment, with what it is asked and answers kept. Tools that its rules do not know are refused, and are nothing to ask about. */
function recordingRules(domain: ToolsDomain, calls: ToolsQuestion[]): Responder {
  const real = rulesResponder(domain);
  return {
    ...real,
    answer: (query) => {
      const { name } = query.call;
      if (domain.rules?.tools.has(name)) {
        const truth = real.answer(query) as Prediction;
        calls.push({ id: questionId(query), query, truth, after: applyOperations(query.state, truth.operations) });
        return truth;
      }
      const refusal = refusalOf([`${name} cannot be used here`]);
      return exactPrediction(refusal, { backend: 'real', modelVersion: real.version, why: ['no rule'] });
    },
  };
}

// A real server: what it answers now to agents that call its tools at random. Its state is not known, so only what is said can be
// compared.

/** Calls of each agent before it says good-bye, in turn. */
const AGENTS = [4, 8, 6].map((calls) => new RandomAgent(calls));
/** Calls of an episode that are questions of their own, at least: how many episodes are run follows from it. */
const CALLS = 4;

async function serverTruth({ scenario, domain, seed }: TruthAsked, real: RealEnvironment): Promise<ToolsTruth> {
  const { questions, episodes } = scenario.config.fidelity;
  const stage = { scenario, domain, seed, user: real.user, responder: realResponder(domain) };
  const rows = Array.from({ length: Math.max(episodes, Math.ceil(questions / CALLS)) }, (_, row) => row);
  const found = await concurrently(rows, real.sessions, (row) => {
    const cast = { task: domain.tasks[row % domain.tasks.length], agent: AGENTS[row % AGENTS.length] };
    return patiently(() => runFidelityEpisode(stage, { ...cast, row, source: 'real' }));
  });
  const records = found.filter((record) => record !== undefined);
  return truthOfRecords(scenario, domain, seed, records, {
    kind: 'environment',
    description: `${domain.id}: calls at random, as its server answered them`,
    version: contentHash(records.map(({ messages }) => messages)),
  });
}

// Recorded episodes: what tools answered is what is true. The state around a call is known as long as the domain's rules, where it
// has any, answer as was recorded.

async function recordedTruth({ scenario, domain, seed, heldOut, answering }: TruthAsked): Promise<ToolsTruth> {
  const { fidelity, experience, name: path } = scenario.config;
  const named = heldOut ?? fidelity.recorded;
  const paths = named === null ? experience.logs : [named];
  if (paths.length === 0) {
    const problem = '"fidelity.truth" is "recorded", but neither fidelity.recorded nor experience.logs names a file.';
    throw reverieError('SCENARIO_INVALID', { path, problem });
  }
  const { records, skipped } = await readRecords(scenario, domain, paths);
  if (heldOut !== undefined) for (const one of answering) await refuseSeenEpisodes(heldOut, records, one, domain);
  const truth = truthOfRecords(scenario, domain, seed, records, {
    kind: 'recorded',
    description: `${domain.id}: recorded episodes, as the tools answered at the time`,
    version: contentHash(records.map(({ id }) => id)),
  });
  if (truth.questions.length === 0) {
    const problem = 'the recorded episodes (fidelity.recorded) hold no call that could be asked about.';
    throw reverieError('SCENARIO_INVALID', { path, problem });
  }
  const unread = skipped === 0 ? [] : [`${skipped} records could not be read and were skipped.`];
  return { ...truth, notes: [...truth.notes, ...unread] };
}

async function readRecords({ config, folder }: ToolsScenario, domain: ToolsDomain, paths: readonly string[]) {
  const records: EpisodeRecord[] = [];
  let skipped = 0;
  for (const path of paths) {
    const options = { domain, scenario: config.name, tolerant: config.experience.tolerant };
    const logs = await readEpisodeLogs(resolve(folder, path), options);
    records.push(...logs.episodes);
    skipped += logs.skipped.length;
  }
  return { records, skipped };
}

/** What tools answered in these episodes, as questions, and episodes to be carried out. */
function truthOfRecords(
  { config: { fidelity } }: ToolsScenario,
  domain: ToolsDomain,
  seed: number,
  records: readonly EpisodeRecord[],
  about: Pick<TruthReport, 'kind' | 'description' | 'version'>,
): ToolsTruth {
  const walked = records.map((record) => walk(domain, record));
  const different = new Map(walked.flatMap(({ calls }) => calls).map((call) => [call.id, call]));
  const rng = Rng.fromSeed(seed);
  const questions = shuffled([...different.values()], rng.split('questions')).slice(0, fidelity.questions);
  const sequences = walked.map(({ sequence }) => sequence).filter(({ steps }) => steps.length >= LEAST_CALLS);
  const unknown = walked.reduce((total, one) => total + one.unknown, 0);
  return {
    questions,
    sequences: shuffled(sequences, rng.split('sequences')).slice(0, fidelity.episodes),
    report: { ...about, transitions: questions.length, episodes: records.length },
    notes: [
      ...fewer(questions.length, fidelity.questions),
      ...(domain.rules === undefined
        ? ['The domain has no rules, so no state is known: only what is said is compared.']
        : []),
      ...(unknown === 0
        ? []
        : [
            `Of ${unknown} calls the state is not known, as the rules do not answer as was recorded: those made in it are not asked about.`,
          ]),
    ],
  };
}

interface Walked {
  /** Calls that can be asked about. */
  readonly calls: readonly ToolsQuestion[];
  readonly sequence: TrueSequence;
  /** Calls whose state before, or afterwards, is not known, although the domain has rules. */
  readonly unknown: number;
}

/** All calls of an episode that were answered, in order. */
function walk(domain: ToolsDomain, record: EpisodeRecord): Walked {
  // A task that only the record knows has no goal and no verifier.
  const own: ToolsTask = { id: record.task, family: record.family, user: { goal: '' }, verifier: {} };
  const task = domain.tasks.find(({ id }) => id === record.task) ?? own;
  const initial = initialStateOf(domain, task);
  const replayed = domain.rules === undefined ? undefined : new ReplayedCalls(domain, task.id);
  const answers = new Map(record.messages.flatMap((one) => (one.role === 'tool' ? [[one.toolCallId, one]] : [])));
  const messages: Message[] = [];
  const steps: TrueStep[] = [];
  const calls: ToolsQuestion[] = [];
  let unknown = 0;
  for (const message of record.messages) {
    if (message.role === 'tool') continue;
    messages.push(message);
    for (const call of message.role === 'assistant' ? (message.toolCalls ?? []) : []) {
      const reply = answers.get(call.id);
      if (reply === undefined) continue;
      const { content: observation, isError = false } = reply;
      // Without rules no state is known of any call: models are shown the first one, and judged by what they say.
      const before = replayed === undefined ? initial : replayed.current;
      const written = replayed?.next(call, observation).operations;
      const after = replayed?.current;
      if (before === undefined || (replayed !== undefined && written === undefined && after === undefined)) unknown++;
      // Tools that are no writes change nothing, whatever they answered.
      const operations = written ?? (after === undefined ? undefined : []);
      const known = after === undefined ? {} : { after };
      if (before !== undefined && isAsked(domain, call)) {
        const query = { domain, task, messages: [...messages], call, step: steps.length, seed: 0, state: before };
        const truth = { observation, isError, ...(operations === undefined ? {} : { operations }) };
        calls.push({ id: questionId(query), query, truth, ...known });
      }
      steps.push({ observation, isError, ...(after === undefined ? {} : { state: after as JsonObject }) });
      messages.push(reply);
    }
  }
  return { calls, sequence: { id: record.id, task, messages: record.messages, steps }, unknown };
}

function isAsked({ tools }: ToolsDomain, call: ToolCall): boolean {
  return call.rawArguments === undefined && callChecks(tools).problems(call).length === 0;
}

// Whether held-out episodes were kept from the model: no family of tasks and no episode is among the records that it answers from.

/** Families that an error names. */
const NAMED = 5;

/**
 * Refuses episodes that are like what the scenario's model answers from (`experience.logs`).
 * @throws INPUT_INVALID naming the families, LOG_INVALID
 */
export async function refuseSeenEpisodes(
  path: string,
  episodes: readonly EpisodeRecord[],
  scenario: ToolsScenario,
  domain: ToolsDomain,
): Promise<void> {
  const { records } = await readRecords(scenario, domain, scenario.config.experience.logs);
  const overlap = episodeOverlap(episodes, records);
  if (overlap !== undefined) throw notHeldOut(path, overlap);
}

/** What both have, in words; undefined where they have nothing in common. */
export function episodeOverlap(
  heldOut: readonly EpisodeRecord[],
  trained: readonly EpisodeRecord[],
): string | undefined {
  const families = new Set(trained.map(({ family }) => family).filter((family) => family !== ''));
  const shared = heldOut.filter(({ family }) => families.has(family));
  if (shared.length > 0) return `families of tasks: ${familiesOf(shared)}`;
  const ids = new Set(trained.map(({ id }) => id));
  const same = heldOut.filter(({ id }) => ids.has(id));
  return same.length > 0 ? `${same.length} of the same episodes` : undefined;
}

function familiesOf(episodes: readonly EpisodeRecord[]): string {
  const all = [...new Set(episodes.map(({ family }) => family))].sort();
  const more = all.length - NAMED;
  return `${all.slice(0, NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
