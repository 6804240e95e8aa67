// One step: each question is asked in the true state after the true conversation. What was right, how far off the rest was, and what
// was not an answer at all.

import type { Json } from '../../core/canonical-json.js';
import { stateHash } from '../../env/state/state.js';
import type { FidelityTable, WorstTransition } from '../report.js';
import {
  estimateIn,
  type Finding,
  figuresOf,
  findingOf,
  type Instrument,
  type MetricInfo,
  meanOf,
  metricTable,
  percent,
  shareOf,
  type Value,
} from '../section.js';
import { CHUNK, constructed, type StepRow } from './answers.js';
import type { ToolsJudged } from './judged.js';
import type { ToolsQuestion } from './question.js';

export function toolsOneStep({ ground, asked, notes }: ToolsJudged): Instrument<StepRow> {
  const { repeats } = ground.setup.scenario.config.fidelity;
  const { questions } = asked;
  const units = questions.length * repeats;
  return {
    id: 'one-step',
    chunks: Math.ceil(units / CHUNK),
    measure: async (chunk, signal) => {
      const rows: StepRow[] = [];
      for (let unit = chunk * CHUNK; unit < Math.min((chunk + 1) * CHUNK, units); unit++) {
        rows.push(await asked.row(unit % questions.length, Math.floor(unit / questions.length), signal));
      }
      return rows;
    },
    conclude: (rows) => conclude(questions, rows, repeats, ground.truth.truthBackend, notes.steps),
  };
}

/** The first answer to a question. */
interface JudgedStep {
  readonly question: ToolsQuestion;
  readonly row: StepRow;
}

/** Whether everything that is known of an answer is right: observation, error, and the state where there is one. */
export function isRight({ answered, observation, error, state }: StepRow): boolean | null {
  return answered ? observation === true && error === true && state !== false : null;
}

/** Feedback that looks right while the state is wrong: what an agent, and a judge of conversations, cannot see. */
function isSilentlyWrong({ observation, error, state }: StepRow): boolean | null {
  return state === null ? null : observation === true && error === true && !state;
}

const METRICS = metricTable(`
state-exact           | higher  | share | State exact | Share of calls after which the simulated state is the real one, by hash.
state-exact-floor     | neither | share | State exact if every call is refused | Share of calls that truly change nothing: what a model that refuses every call has as \`state-exact\`.
state-distance        | lower   | share | State distance | Wrong values of the state among those that changed for real or in the simulation; 0 where none is wrong.
observation-exact     | higher  | share | Observation exact | Share of calls that are answered in the real words; JSON is compared as JSON.
observation-distance  | lower   | share | Observation distance | Word edits from the simulated to the real observation over the words of the longer one.
error-flag            | higher  | share | Error or not | Share of calls that fail in the simulation if, and only if, they fail for real.
all-right             | higher  | share | All right | Share of calls of which observation, error and, where there is one, state are right.
silent-state-error    | lower   | share | Looks right, state wrong | Share of calls whose feedback is right while the state behind it is wrong: the episode does not show it.
hallucinated-entities | lower   | share | Made-up entities | Share of answers with an id that is in neither state, call, conversation nor the real answer.
refused               | lower   | share | Refused | Share of calls that no backend could answer without faults.
unanswered            | lower   | share | Unanswered | Share of calls to which no answer came; they count nowhere else.
sampling-noise        | lower   | share | Sampling noise | Share of pairs of answers to the same question, asked with other seeds, that differ from each other.
`);

function conclude(
  questions: readonly ToolsQuestion[],
  rows: readonly StepRow[],
  repeats: number,
  truthBackend: string | undefined,
  notes: readonly string[],
): Finding {
  const first = new Map(rows.filter(({ attempt }) => attempt === 0).map((row) => [row.question, row]));
  const steps = questions.flatMap((question, i): JudgedStep[] => {
    const row = first.get(i);
    return row === undefined ? [] : [{ question, row }];
  });
  const figures = figuresFrom(steps, noiseOf(questions.length, rows));
  const answering = steps.map(({ row }) => backendOf(row));
  const isOwn = truthBackend !== undefined && answering.includes(truthBackend);
  return findingOf(
    {
      id: 'one-step',
      title: 'One step',
      summary:
        `Of ${steps.length} calls in true states, ${percent(estimateIn(figures, 'all-right'))} are answered all right; ` +
        `${percent(estimateIn(figures, 'silent-state-error'))} look right and leave a wrong state.`,
      tables: [backendTable(steps)],
      worst: worstSteps(steps),
      notes: [...notes, ...(isOwn ? [WORTH_GATING] : []), ...notesOf(steps, repeats)],
      ...(estimateIn(figures, 'state-exact').value === null ? { missing: missingOf(steps) } : {}),
      ...constructed(answering, truthBackend),
    },
    figures,
  );
}

function figuresFrom(steps: readonly JudgedStep[], noise: readonly Value[]) {
  const share = (of: (row: StepRow) => boolean | null) => shareOf(steps.map(({ row }) => of(row)));
  const mean = (key: 'stateDistance' | 'observationDistance', name: string) =>
    meanOf(
      name,
      steps.map(({ row }) => row[key]),
    );
  // Values keep the places of all questions.
  const byBackend = backendsOf(steps).map((backend) => {
    const info: MetricInfo = {
      label: `All right, by ${backend}`,
      better: 'higher',
      unit: 'share',
      meaning: `Share of calls that are all right, of those answered by ${backend}.`,
    };
    const found = share((row) => (backendOf(row) === backend ? isRight(row) : null));
    return { key: `all-right-${backend}`, info, found };
  });
  return figuresOf(
    { ...METRICS, ...Object.fromEntries(byBackend.map(({ key, info }) => [key, info])) },
    {
      'state-exact': share(({ state }) => state),
      'state-exact-floor': shareOf(
        steps.map(({ question: { query, after }, row }) =>
          row.state === null ? null : stateHash(after!) === stateHash(query.state),
        ),
      ),
      'state-distance': mean('stateDistance', 'state-distance'),
      'observation-exact': share(({ observation }) => observation),
      'observation-distance': mean('observationDistance', 'observation-distance'),
      'error-flag': share(({ error }) => error),
      'all-right': share(isRight),
      'silent-state-error': share(isSilentlyWrong),
      'hallucinated-entities': share(({ answered, unknown }) => (answered ? unknown.length > 0 : null)),
      refused: share(({ refused }) => refused),
      unanswered: share(({ answered }) => !answered),
      'sampling-noise': meanOf('sampling-noise', noise),
      ...Object.fromEntries(byBackend.map(({ key, found }) => [key, found])),
    },
  );
}

/** Who answered; a call that was refused was answered by no backend. */
function backendOf({ answered, refused, backend }: StepRow): string {
  if (!answered) return 'unanswered';
  return refused || backend === null ? 'refused' : backend;
}

function backendsOf(steps: readonly JudgedStep[]): string[] {
  return [...new Set(steps.map(({ row }) => backendOf(row)))].filter((name) => name !== 'unanswered').sort();
}

/** Share of pairs of answers to one question that differ; null where there is no pair. */
function noiseOf(questions: number, rows: readonly StepRow[]): Value[] {
  const outcomes = Array.from({ length: questions }, (): string[] => []);
  for (const { question, outcome } of rows) if (outcome !== null) outcomes[question].push(outcome);
  return outcomes.map((own) => {
    const pairs = own.flatMap((one, i) => own.slice(i + 1).map((other) => one !== other));
    return pairs.length === 0 ? null : pairs.filter(Boolean).length / pairs.length;
  });
}

/** Where exact rules answer what they also judge. */
const WORTH_GATING =
  'Exact rules answer here what exact rules are the truth of. What is worth a gate: the model without them (model.backends, fidelity.subjects), must-fail.passed, or records as truth (fidelity.truth=recorded).';

function missingOf(steps: readonly JudgedStep[]): string {
  if (steps.length === 0) return 'No call was asked about.';
  return steps.every(({ question }) => question.after === undefined)
    ? 'Of no call the state afterwards is known, so that only what was said is compared (see the section in the report).'
    : 'The model keeps no state: only what it said is compared (see the section in the report).';
}

function notesOf(steps: readonly JudgedStep[], repeats: number): string[] {
  const stateless = steps.filter(({ row }) => row.answered && !row.hasState).length;
  return [
    'Calls of one episode are counted as if they were independent of each other.',
    ...(stateless === 0 ? [] : [`${stateless} answers are plain text without a state.`]),
    ...(repeats > 1 ? [] : ['Each question was asked once: the noise of sampling is not known (fidelity.repeats).']),
  ];
}

function backendTable(steps: readonly JudgedStep[]): FidelityTable {
  return {
    title: 'Who answered',
    columns: ['backend', 'calls', 'state exact', 'observation exact', 'looks right, state wrong'],
    rows: backendsOf(steps).map((name) => {
      const own = steps.map(({ row }) => row).filter((row) => backendOf(row) === name);
      const hits = (of: (row: StepRow) => boolean | null) => percent(shareOf(own.map(of)).estimate);
      const shares = [({ state }: StepRow) => state, ({ observation }: StepRow) => observation, isSilentlyWrong];
      return [name, String(own.length), ...shares.map(hits)];
    }),
  };
}

const SHOWN = 12;
/** Of the conversation before a call. */
const SHOWN_MESSAGES = 4;
const SHOWN_CHARS = 2_000;

/** A state that is wrong behind feedback that is right counts most: nothing else would show it. */
function worstSteps(steps: readonly JudgedStep[]): WorstTransition[] {
  return steps
    .filter(({ row }) => row.wrong !== null)
    .map((step) => ({ step, badness: badnessOf(step.row) }))
    .sort((a, b) => b.badness - a.badness)
    .slice(0, SHOWN)
    .map(({ step, badness }) => worstOf(step, badness));
}

function badnessOf(row: StepRow): number {
  const { stateDistance, observationDistance, error } = row;
  const silent = isSilentlyWrong(row) ? 1 : 0;
  return 2 * (stateDistance ?? 0) + (observationDistance ?? 0) + (error === false ? 1 : 0) + silent;
}

function worstOf({ question, row }: JudgedStep, badness: number): WorstTransition {
  const { query, truth, id } = question;
  const { observation, isError, operations, differences } = row.wrong!;
  const said = query.messages.slice(1, -1).slice(-SHOWN_MESSAGES);
  return {
    title: `${query.call.name} in ${query.task.id} (${id})`,
    badness,
    context: {
      task: query.task.id,
      step: query.step,
      conversation: said.map(({ role, content }) => ({ role, content: (content ?? '').slice(0, SHOWN_CHARS) })),
    },
    action: { name: query.call.name, arguments: query.call.arguments },
    real: { observation: truth.observation, isError: truth.isError, operations: (truth.operations ?? null) as Json },
    simulated: { observation, isError, operations },
    differences: [
      ...(row.observation === false ? [{ path: 'observation', real: truth.observation, simulated: observation }] : []),
      ...differences,
    ],
    ...(row.backend === null ? {} : { backend: row.backend }),
    ...(row.confidence === null ? {} : { confidence: row.confidence }),
  };
}
