// One step, teacher-forced: each question is asked in the true state after the true conversation. What was right, how far off the
// rest was, and what was not an answer at all.

import type { Json } from '../../core/canonical-json.js';
import { stateHash } from '../../env/state/state.js';
import type { Finding, Instrument } from '../measure.js';
import type { FidelityChart, FidelityTable, WorstTransition } from '../report.js';
import {
  estimateIn,
  type FoundMetric,
  findingOf,
  meanOf,
  metricsOfInfos,
  metricTable,
  percent,
  shareOf,
  type Value,
} from '../section.js';
import { CHUNK, constructed, type StepRow } from './answers.js';
import type { ToolsJudged } from './judged.js';
import { CHANGE_GROUPS, type ChangeGroup, changeGroup, type ToolsQuestion } from './question.js';

export function oneStepInstrument({ ground, asked, notes }: ToolsJudged): Instrument<StepRow> {
  const { repeats } = ground.setup.scenario.config.fidelity;
  const { questions } = asked;
  const units = questions.length * repeats;
  return {
    id: 'one-step',
    chunks: Math.ceil(units / CHUNK),
    unit: 'questions',
    measure: async (chunk, signal) => {
      const rows: StepRow[] = [];
      for (let unit = chunk * CHUNK; unit < Math.min((chunk + 1) * CHUNK, units); unit++) {
        rows.push(await asked.row(unit % questions.length, Math.floor(unit / questions.length), signal));
      }
      return rows;
    },
    conclude: (rows) => concluded(questions, rows, repeats, ground.truth.truthBackend, notes.steps),
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
state-exact             | higher  | share | State exact | Share of calls after which the simulated state is the real one, by hash.
state-exact-floor       | neither | share | State exact if every call is refused | Share of calls that truly change nothing: what a model that refuses every call has as \`state-exact\`.
state-distance          | lower   | share | State distance | Wrong values of the state among those that changed for real or in the simulation; 0 where none is wrong.
read-back               | higher  | share | Read back | Share of changes that reads, answered by the same model, show as they truly would.
observation-exact       | higher  | share | Observation exact | Share of calls that are answered in the real words; JSON is compared as JSON.
observation-distance    | lower   | share | Observation distance | Word edits from the simulated to the real observation over the words of the longer one.
error-flag              | higher  | share | Error or not | Share of calls that fail in the simulation if, and only if, they fail for real.
all-right               | higher  | share | All right | Share of calls of which observation, error and, where there is one, state are right.
silent-state-error      | lower   | share | Looks right, state wrong | Share of calls whose feedback is right while the state behind it is wrong: nobody in the episode sees it.
spoken-error            | lower   | share | State right, feedback wrong | Share of calls whose state is right while the feedback on them is not.
hallucinated-entities   | lower   | share | Made-up entities | Share of answers with an id that is in neither state, call, conversation nor the real answer.
refused                 | lower   | share | Refused | Share of calls that no backend could answer without faults.
repaired                | lower   | share | Repaired | Share of calls whose first answer had faults and whose second stands.
unanswered              | lower   | share | Unanswered | Share of calls to which no answer came; they count nowhere else.
confidence              | neither | share | Confidence | Mean of what the model says of its own certainty.
state-exact-changes-0   | higher  | share | State exact, 0 changes | Share of right states after calls that truly change nothing.
state-exact-changes-1   | higher  | share | State exact, 1 change | Share of right states after calls that truly change one thing.
state-exact-changes-2-3 | higher  | share | State exact, 2-3 changes | Share of right states after calls that truly change two or three things at once.
state-exact-changes-4-plus | higher | share | State exact, 4+ changes | Share of right states after calls that truly change four or more things at once.
sampling-noise          | lower   | share | Sampling noise | Share of pairs of answers to the same question, asked with other seeds, that differ from each other.
`);

function concluded(
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
  const found = metricsOf(steps, noiseOf(questions.length, rows));
  const estimate = (key: string) => estimateIn(found, key);
  const answering = steps.map(({ row }) => backendOf(row));
  const isOwn = truthBackend !== undefined && answering.includes(truthBackend);
  return findingOf(
    {
      id: 'one-step',
      title: 'One step',
      summary:
        `Of ${steps.length} calls in true states, ${percent(estimate('all-right'))} are answered all right; ` +
        `${percent(estimate('silent-state-error'))} look right and leave a wrong state.`,
      charts: [groupChart(found), backendChart(steps)],
      tables: [backendTable(steps), ...madeUpTable(steps)],
      worst: worstSteps(steps),
      notes: [...notes, ...(isOwn ? [WORTH_GATING] : []), ...notesOf(steps, repeats)],
      ...(estimate('state-exact').value === null ? { missing: missingOf(steps) } : {}),
      ...constructed(answering, truthBackend),
    },
    found,
  );
}

function metricsOf(steps: readonly JudgedStep[], noise: readonly Value[]): FoundMetric[] {
  const share = (of: (row: StepRow) => boolean | null) => shareOf(steps.map(({ row }) => of(row)));
  const mean = (key: string, of: (row: StepRow) => number | null) =>
    meanOf(
      key,
      steps.map(({ row }) => of(row)),
    );
  const inGroup = (group: ChangeGroup) =>
    shareOf(steps.map(({ question, row }) => (changeGroup(question) === group ? row.state : null)));
  const metrics = metricsOfInfos(METRICS, {
    'state-exact': share(({ state }) => state),
    'state-exact-floor': shareOf(
      steps.map(({ question: { query, after }, row }) =>
        row.state === null ? null : stateHash(after!) === stateHash(query.state),
      ),
    ),
    'state-distance': mean('state-distance', ({ stateDistance }) => stateDistance),
    'read-back': share(({ readBack }) => readBack),
    'observation-exact': share(({ observation }) => observation),
    'observation-distance': mean('observation-distance', ({ observationDistance }) => observationDistance),
    'error-flag': share(({ error }) => error),
    'all-right': share(isRight),
    'silent-state-error': share(isSilentlyWrong),
    'spoken-error': share(({ observation, error, state }) =>
      state === null ? null : state && !(observation === true && error === true),
    ),
    'hallucinated-entities': share(({ answered, unknown }) => (answered ? unknown.length > 0 : null)),
    refused: share(({ refused }) => refused),
    repaired: share(({ repaired }) => repaired),
    unanswered: share(({ answered }) => !answered),
    confidence: mean('confidence', ({ confidence }) => confidence),
    'state-exact-changes-0': inGroup('0'),
    'state-exact-changes-1': inGroup('1'),
    'state-exact-changes-2-3': inGroup('2-3'),
    'state-exact-changes-4-plus': inGroup('4+'),
    'sampling-noise': meanOf('sampling-noise', noise),
  });
  return [...metrics, ...backendsOf(steps).map((backend) => backendMetric(steps, backend))];
}

/** Values keep the places of all questions. */
function backendMetric(steps: readonly JudgedStep[], backend: string): FoundMetric {
  const { estimate, samples } = shareOf(steps.map(({ row }) => (backendOf(row) === backend ? isRight(row) : null)));
  const about = {
    key: `all-right-${backend}`,
    label: `All right, by ${backend}`,
    better: 'higher',
    unit: 'share',
  } as const;
  const meaning = `Share of calls that are all right, of those answered by ${backend}.`;
  return { metric: { ...about, meaning, estimate }, values: samples };
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
  'Exact rules answer here what exact rules are the truth of. What is worth a gate: the model without them (model.backends, fidelity.tiersOff), must-fail.passed, or records as truth (fidelity.truth=recorded).';

function missingOf(steps: readonly JudgedStep[]): string {
  if (steps.length === 0) return 'No call was asked about.';
  return steps.every(({ question }) => question.after === undefined)
    ? 'Of no call the state afterwards is known, so that only what was said is compared (see the section in the report).'
    : 'The model keeps no state: only what it said is compared (see the section in the report).';
}

function notesOf(steps: readonly JudgedStep[], repeats: number): string[] {
  const stateless = steps.filter(({ row }) => row.answered && row.hash === null).length;
  const unread = steps.every(({ question }) => question.readBacks.length === 0);
  return [
    'Calls of one episode are counted as if they were independent of each other.',
    ...(stateless === 0
      ? []
      : [`${stateless} answers are plain text without a state: only reads show what they forget.`]),
    ...(unread ? ['No read shows a change of any of these calls, so nothing is read back.'] : []),
    ...(repeats > 1 ? [] : ['Each question was asked once: the noise of sampling is not known (fidelity.repeats).']),
  ];
}

function groupChart(found: readonly FoundMetric[]): FidelityChart {
  const groups = found.filter(({ metric }) => metric.key.startsWith('state-exact-changes-'));
  return {
    kind: 'bars',
    title: 'Right states by number of simultaneous changes',
    caption: 'Share of calls after which the state is right, by how many things they truly change.',
    bars: groups.map(({ metric: { estimate } }, i) => ({ label: CHANGE_GROUPS[i], estimate, unit: 'share' })),
  };
}

function backendChart(steps: readonly JudgedStep[]): FidelityChart {
  return {
    kind: 'bars',
    title: 'All right, by who answered',
    caption: 'Share of calls that are all right, by backend of the router.',
    bars: backendsOf(steps).map((label) => ({
      label,
      estimate: backendMetric(steps, label).metric.estimate,
      unit: 'share',
    })),
  };
}

function backendTable(steps: readonly JudgedStep[]): FidelityTable {
  return {
    title: 'Who answered',
    columns: ['backend', 'calls', 'state exact', 'observation exact', 'looks right, state wrong'],
    rows: backendsOf(steps).map((name) => {
      const own = steps.filter(({ row }) => backendOf(row) === name);
      const hits = (of: (row: StepRow) => boolean | null) => percent(shareOf(own.map(({ row }) => of(row))).estimate);
      return [
        name,
        String(own.length),
        hits(({ state }) => state),
        hits(({ observation }) => observation),
        hits(isSilentlyWrong),
      ];
    }),
  };
}

/** By tool, most first; nothing where nothing was made up. */
function madeUpTable(steps: readonly JudgedStep[]): FidelityTable[] {
  const made = steps.filter(({ row }) => row.unknown.length > 0);
  const tools = [...new Set(made.map(({ question }) => question.query.call.name))];
  const rows = tools.map((name) => {
    const calls = steps.filter(({ question, row }) => row.answered && question.query.call.name === name);
    const { estimate } = shareOf(calls.map(({ row }) => row.unknown.length > 0));
    return { name, estimate, example: calls.find(({ row }) => row.unknown.length > 0)!.row.unknown[0] };
  });
  if (rows.length === 0) return [];
  return [
    {
      title: 'Made-up entities by tool',
      columns: ['tool', 'share of answers', 'such as'],
      rows: rows
        .sort((a, b) => b.estimate.value! - a.estimate.value!)
        .map(({ name, estimate, example }) => [name, percent(estimate), example]),
    },
  ];
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
    dreamt: { observation, isError, operations },
    differences: [
      ...(row.observation === false ? [{ path: 'observation', real: truth.observation, dreamt: observation }] : []),
      ...differences,
    ],
    ...(row.backend === null ? {} : { backend: row.backend }),
    ...(row.confidence === null ? {} : { confidence: row.confidence }),
  };
}
