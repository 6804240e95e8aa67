// Recorded episodes as truth: what tools answered is what is true. The state around a call is known as long as the domain's
// rules, where it has any, answer as was recorded.

import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { canonicalJson, type JsonObject } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { callChecks } from '../../env/tools/check-action.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { Message, ToolCall } from '../../env/tools/message.js';
import type { Operation } from '../../env/tools/prediction.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { ToolsScenario } from '../../kinds/tools.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { ReplayedCalls, readEpisodeLogs } from '../../replay/experience/logs/read-episode-logs.js';
import type { TruthReport } from '../report.js';
import { refuseSeenEpisodes } from './held-out.js';
import type { TrueSequence, TrueStep } from './open-loop.js';
import { questionId, readBacksOf, shuffled, type ToolsQuestion, type TrueAnswer } from './question.js';

export interface HeldOut {
  readonly path: string;
  readonly from: readonly ToolsScenario[];
}

/**
 * @param heldOut  file or folder of episodes in place of those that the scenario names, which the models `from` these
 *   scenarios must not have seen
 * @throws SCENARIO_INVALID without records, LOG_INVALID, INPUT_INVALID
 */
export async function recordedTruth(
  scenario: ToolsScenario,
  domain: ToolsDomain,
  seed: number,
  heldOut?: HeldOut,
): Promise<ToolsTruth> {
  const { name } = scenario.config;
  const { records, skipped } = await recordsOf(scenario, domain, heldOut?.path);
  for (const answering of heldOut?.from ?? []) await refuseSeenEpisodes(heldOut!.path, records, answering, domain);
  const description = `${domain.id}: recorded episodes, as the tools answered at the time`;
  const version = createHash('sha256')
    .update(canonicalJson(records.map(({ id }) => id)))
    .digest('hex');
  const truth = truthOfRecords(scenario, domain, seed, records, { kind: 'recorded', description, version });
  if (truth.questions.length === 0) {
    const problem = 'the recorded episodes (fidelity.recorded) hold no call that could be asked about.';
    throw reverieError('SCENARIO_INVALID', { path: name, problem });
  }
  const unread = skipped === 0 ? [] : [`${skipped} records could not be read and were skipped.`];
  return { ...truth, notes: [...truth.notes, ...unread] };
}

/** What tools answered in these episodes, as questions in an order drawn by seed, and episodes to be carried out. */
export function truthOfRecords(
  { config: { fidelity } }: ToolsScenario,
  domain: ToolsDomain,
  seed: number,
  records: readonly EpisodeRecord[],
  about: Pick<TruthReport, 'kind' | 'description' | 'version'>,
): ToolsTruth {
  const walked = records.map((record) => walk(domain, record));
  const different = new Map(walked.flatMap(({ calls }) => calls).map((call) => [questionId(call.query), call]));
  const rng = Rng.fromSeed(seed);
  const drawn = shuffled([...different.values()], rng.split('questions')).slice(0, fidelity.questions);
  const questions = drawn.map(recordedQuestion);
  const sequences = walked.map(({ sequence }) => sequence).filter(({ steps }) => steps.length >= LEAST_CALLS);
  return {
    questions,
    sequences: shuffled(sequences, rng.split('sequences')).slice(0, fidelity.episodes),
    report: { ...about, transitions: questions.length, episodes: records.length },
    notes: [...fewer(questions.length, fidelity.questions), ...notesOf(domain, walked)],
  };
}

async function recordsOf({ config, folder }: ToolsScenario, domain: ToolsDomain, heldOut: string | undefined) {
  const { fidelity, experience, name } = config;
  const named = heldOut ?? fidelity.recorded;
  const paths = named === null ? experience.logs : [named];
  if (paths.length === 0) {
    const problem = '"fidelity.truth" is "recorded", but neither fidelity.recorded nor experience.logs names a file.';
    throw reverieError('SCENARIO_INVALID', { path: name, problem });
  }
  const records: EpisodeRecord[] = [];
  let skipped = 0;
  for (const path of paths) {
    const options = { domain, scenario: name, tolerant: experience.tolerant };
    const logs = await readEpisodeLogs(resolve(folder, path), options);
    records.push(...logs.episodes);
    skipped += logs.skipped.length;
  }
  return { records, skipped };
}

type RecordedCall = Pick<ToolsQuestion, 'query' | 'truth' | 'after'>;

interface Walked {
  /** Calls that can be asked about. */
  readonly calls: readonly RecordedCall[];
  readonly sequence: TrueSequence;
  /** Calls whose state before is not known, although the domain has rules. */
  readonly lost: number;
  /** Changes that the rules do not make as was recorded. */
  readonly unlike: number;
}

/** All calls of an episode that were answered, in order. */
function walk(domain: ToolsDomain, record: EpisodeRecord): Walked {
  const task = domain.tasks.find(({ id }) => id === record.task) ?? taskOf(record);
  const states = new RecordedStates(domain, task);
  const answers = new Map(record.messages.flatMap((one) => (one.role === 'tool' ? [[one.toolCallId, one]] : [])));
  const messages: Message[] = [];
  const steps: TrueStep[] = [];
  const calls: RecordedCall[] = [];
  for (const message of record.messages) {
    if (message.role === 'tool') continue;
    messages.push(message);
    for (const call of message.role === 'assistant' ? (message.toolCalls ?? []) : []) {
      const told = answers.get(call.id);
      if (told === undefined) continue;
      const { observation, isError, before, after, operations } = states.next(
        call,
        told.content,
        told.isError ?? false,
      );
      const query = { domain, task, messages: [...messages], call, step: steps.length, seed: 0 };
      const truth = { observation, isError, ...(operations === undefined ? {} : { operations }) };
      if (before !== undefined && isAsked(domain, call))
        calls.push({ query: { ...query, state: before }, truth, after });
      steps.push({ observation, isError, ...(after === undefined ? {} : { state: after }) });
      messages.push(told);
    }
  }
  const { lost, unlike } = states;
  return { calls, sequence: { id: record.id, task, messages: record.messages, steps }, lost, unlike };
}

function isAsked({ tools }: ToolsDomain, call: ToolCall): boolean {
  return call.rawArguments === undefined && callChecks(tools).problems(call).length === 0;
}

function recordedQuestion({ query, truth, after }: RecordedCall): ToolsQuestion {
  const { domain } = query;
  const { operations } = truth;
  const known = after !== undefined && operations !== undefined;
  const readBacks = known && domain.rules !== undefined ? readBacksOf(domain, query, { operations }, after) : [];
  return { id: questionId(query), query, truth, ...(after === undefined ? {} : { after }), readBacks };
}

/** A task that only the record knows. */
function taskOf({ task, family }: EpisodeRecord): ToolsTask {
  return { id: task, family, user: { goal: '' }, verifier: {} };
}

interface RecordedStep extends TrueAnswer {
  /** The state to ask in; undefined where it is not known and should be. */
  readonly before: JsonObject | undefined;
  readonly after: JsonObject | undefined;
}

/** The states around recorded calls. */
class RecordedStates {
  lost = 0;
  unlike = 0;
  private readonly calls: ReplayedCalls;
  private readonly initial: JsonObject;

  constructor(
    private readonly domain: ToolsDomain,
    task: ToolsTask,
  ) {
    this.calls = new ReplayedCalls(domain, task.id);
    this.initial = initialStateOf(domain, task);
  }

  next(call: ToolCall, observation: string, isError: boolean): RecordedStep {
    // Without rules no state is known of any call: models are shown the first one, and judged by what they say.
    if (this.domain.rules === undefined) return { observation, isError, before: this.initial, after: undefined };
    const before = this.calls.current;
    const { operations } = this.calls.next(call, observation);
    const after = this.calls.current;
    if (before === undefined) this.lost += 1;
    else if (operations === undefined && after === undefined) this.unlike += 1;
    // Tools that are no writes change nothing, whatever they answered.
    const changes: readonly Operation[] | undefined = operations ?? (after === undefined ? undefined : []);
    return { observation, isError, before, after, ...(changes === undefined ? {} : { operations: changes }) };
  }
}

function notesOf(domain: ToolsDomain, walked: readonly Walked[]): string[] {
  const sum = (key: 'lost' | 'unlike') => walked.reduce((total, one) => total + one[key], 0);
  const [lost, unlike] = [sum('lost'), sum('unlike')];
  return [
    ...(domain.rules === undefined
      ? ['The domain has no rules, so no state is known: only what is said is compared.']
      : []),
    ...(unlike === 0
      ? []
      : [`Of ${unlike} changes the state afterwards is not known: the rules do not answer as was recorded.`]),
    ...(lost === 0
      ? []
      : [`${lost} calls after such a change are not asked about, as the state they were made in is not known.`]),
  ];
}

// What dreams of tools are held against.

export interface ToolsTruth {
  readonly report: TruthReport;
  readonly questions: readonly ToolsQuestion[];
  /** Real episodes to be carried out in the dream. */
  readonly sequences: readonly TrueSequence[];
  /** Who answers by what is also the truth; absent where nobody does. */
  readonly truthBackend?: string;
  /** What cannot be compared, and why. */
  readonly notes: readonly string[];
}

/** Calls of an episode that is worth carrying out again. */
export const LEAST_CALLS = 2;

/** Says it where there are not as many questions as were wanted. */
export function fewer(found: number, wanted: number): string[] {
  return found < wanted ? [`There are ${found} different calls to ask about, not the ${wanted} that were wanted.`] : [];
}
