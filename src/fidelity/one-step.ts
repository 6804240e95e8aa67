// One step. Of numbers: what the model says follows each recorded transition, without noise. Of tools: each question is asked in the
// true state after the true conversation; what was right, how far off the rest was, and what was not an answer at all.

import type { Json } from '../core/canonical-json.js';
import { stateHash } from '../env/state/state.js';
import type { FidelityTable, LinesChart, WorstTransition } from './report.js';
import {
  estimateIn,
  type Finding,
  figuresOf,
  findingOf,
  type Instrument,
  meanOf,
  metricTable,
  percent,
  pointOf,
  shareOf,
  short,
  shown,
  shownShare,
  type Value,
} from './section.js';
import { CHUNK, constructed, type StepRow, type ToolsQuestion } from './tools/answers.js';
import type { ToolsJudged } from './tools/judged.js';
import {
  CHUNK_ROWS,
  chunkOfRows,
  clusteredMean,
  clusteredRatio,
  clusteredShare,
  difference,
  type Ground,
  intervalRng,
  type Judged,
  meanSquare,
  widths,
} from './vector/ground.js';

const ABOUT = { id: 'one-step', title: 'One step' } as const;

// Of numbers.

/** What the model makes of one transition. */
type VectorRow = {
  /** Of each element of the next observation, signed, in standard deviations of its change. */
  readonly errors: readonly number[];
};

export function vectorOneStep(judged: Judged): Instrument<VectorRow> {
  const { ground, subject } = judged;
  const { rows } = ground.truth.rows;
  const { obsDim } = widths(ground.truth);
  return {
    id: 'one-step',
    chunks: Math.ceil(rows / CHUNK_ROWS),
    measure: async (chunk) => {
      const { first, end, action, carry, rng } = await chunkOfRows(judged, 'one-step', chunk);
      const said = await subject.model.imagine(carry, action, rng, { propagation: 'mean', deterministic: true });
      return Array.from({ length: end - first }, (_, r) => {
        const next = Array.from(said.observation.subarray(r * obsDim, (r + 1) * obsDim), short);
        return { errors: errorsOf(ground, next, 0, first + r) };
      });
    },
    conclude: (found) => concludeVector(judged, found),
  };
}

/** Of an observation, at `from` in `values`, as what follows recorded row `row`. */
function errorsOf({ truth, scales }: Ground, values: ArrayLike<number>, from: number, row: number): number[] {
  const { obsDim } = widths(truth);
  const { nextObs } = truth.rows;
  return scales.change.map((scale, j) =>
    difference(values[from + j], nextObs[row * obsDim + j], scale, scales.isDiscrete),
  );
}

const VECTOR_METRICS = metricTable(`
state-error           | lower  | number | State error | Root mean squared error of the next observation over elements and transitions, each element in standard deviations of its real change in one step.
skill-persistence     | higher | number | Skill over persistence | One minus the squared state error over that of predicting no change: 1 is perfect, 0 is worthless.
state-within          | higher | share  | States within tolerance | Share of transitions whose error, as the root mean square over elements in standard deviations of their change, is within the tolerance.
`);

type Errors = readonly (readonly number[])[];

function concludeVector({ ground, subject }: Judged, rows: readonly VectorRow[]): Finding {
  const { truth, units, plan, scales } = ground;
  const { obsDim } = widths(truth);
  const rng = (key: string) => intervalRng(plan, 'one-step', key);
  const errors = rows.map((row) => row.errors);
  const persistence = Array.from({ length: truth.rows.rows }, (_, r) =>
    errorsOf(ground, truth.rows.obs, r * obsDim, r),
  );
  const [square, still] = [errors.map(meanSquare), persistence.map(meanSquare)];
  const share = (key: string, hits: readonly boolean[]) => clusteredShare(hits, units, rng(key));
  const found = {
    'state-error': clusteredMean(square, units, rng('state-error'), Math.sqrt),
    'skill-persistence': clusteredRatio(square, still, units, rng('skill-persistence'), (ratio) => 1 - ratio),
    'state-within': share(
      'state-within',
      square.map((value) => Math.sqrt(value) <= plan.tolerance),
    ),
  };
  const value = (key: keyof typeof found) => found[key].estimate.value;
  return findingOf(
    {
      ...ABOUT,
      summary: `One step is off by ${shown(value('state-error'))} standard deviations of a step's change; ${shownShare(value('state-within'))} of the states are within tolerance.`,
      charts: [elementChart(ground, errors, persistence)],
      notes: [
        ...subject.notes,
        'The model answers without noise (the mean of its elites): what a sampled simulation adds is seen in other sections.',
        ...(scales.isDiscrete ? ['States are discrete: an error is 1 where the state is wrong, else 0.'] : []),
      ],
    },
    figuresOf(VECTOR_METRICS, found),
  );
}

function elementChart({ truth, plan, units }: Ground, model: Errors, persistence: Errors): LinesChart {
  const series = (name: string, errors: Errors, stream: string) => ({
    name,
    points: truth.elements.flatMap((label, j) => {
      const squares = errors.map((row) => row[j] ** 2);
      const rng = intervalRng(plan, 'one-step', `${stream}-${j}`);
      return pointOf(j + 1, clusteredMean(squares, units, rng, Math.sqrt).estimate, label);
    }),
  });
  return {
    kind: 'points',
    title: 'Error by element',
    caption: 'Root mean squared error of each element of the next observation, beside that of predicting no change.',
    xTitle: 'Element',
    yTitle: 'Error (standard deviations of its change)',
    series: [series('model', model, 'element'), series('persistence', persistence, 'persistence')],
  };
}

// Of tools.

export function toolsOneStep(judged: ToolsJudged): Instrument<StepRow> {
  const { ground, asked } = judged;
  const { repeats } = ground.setup.scenario.config.fidelity;
  return {
    id: 'one-step',
    chunks: Math.ceil((asked.questions.length * repeats) / CHUNK),
    measure: (chunk, signal) => asked.chunk(chunk, repeats, signal),
    conclude: (rows) => concludeTools(judged, rows, repeats),
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

const TOOLS_METRICS = metricTable(`
state-exact           | higher  | share | State exact | Share of calls after which the simulated state is the real one, by hash.
state-exact-floor     | neither | share | State exact if every call is refused | Share of calls that truly change nothing: what a model that refuses every call has as \`state-exact\`.
state-distance        | lower   | share | State distance | Wrong values of the state among those that changed for real or in the simulation; 0 where none is wrong.
observation-exact     | higher  | share | Observation exact | Share of calls that are answered in the real words; JSON is compared as JSON.
error-flag            | higher  | share | Error or not | Share of calls that fail in the simulation if, and only if, they fail for real.
all-right             | higher  | share | All right | Share of calls of which observation, error and, where there is one, state are right.
silent-state-error    | lower   | share | Looks right, state wrong | Share of calls whose feedback is right while the state behind it is wrong: the episode does not show it.
refused               | lower   | share | Refused | Share of calls that no backend could answer without faults.
unanswered            | lower   | share | Unanswered | Share of calls to which no answer came; they count nowhere else.
sampling-noise        | lower   | share | Sampling noise | Share of pairs of answers to the same question, asked with other seeds, that differ from each other.
`);

function concludeTools({ ground, asked, notes }: ToolsJudged, rows: readonly StepRow[], repeats: number): Finding {
  const { questions } = asked;
  const { truthBackend } = ground.truth;
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
      ...ABOUT,
      summary:
        `Of ${steps.length} calls in true states, ${percent(estimateIn(figures, 'all-right'))} are answered all right; ` +
        `${percent(estimateIn(figures, 'silent-state-error'))} look right and leave a wrong state.`,
      tables: [backendTable(steps)],
      worst: worstSteps(steps),
      notes: [...notes.steps, ...(isOwn ? [WORTH_GATING] : []), ...notesOf(repeats)],
      ...(estimateIn(figures, 'state-exact').value === null ? { missing: missingOf(steps) } : {}),
      ...constructed(answering, truthBackend),
    },
    figures,
  );
}

function figuresFrom(steps: readonly JudgedStep[], noise: readonly Value[]) {
  const share = (of: (row: StepRow) => boolean | null) => shareOf(steps.map(({ row }) => of(row)));
  return figuresOf(TOOLS_METRICS, {
    'state-exact': share(({ state }) => state),
    'state-exact-floor': shareOf(
      steps.map(({ question: { query, after }, row }) =>
        row.state === null ? null : stateHash(after!) === stateHash(query.state),
      ),
    ),
    'state-distance': meanOf(
      'state-distance',
      steps.map(({ row }) => row.stateDistance),
    ),
    'observation-exact': share(({ observation }) => observation),
    'error-flag': share(({ error }) => error),
    'all-right': share(isRight),
    'silent-state-error': share(isSilentlyWrong),
    refused: share(({ refused }) => refused),
    unanswered: share(({ answered }) => !answered),
    'sampling-noise': meanOf('sampling-noise', noise),
  });
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
    : 'No call of which the state afterwards is known was answered.';
}

function notesOf(repeats: number): string[] {
  return [
    'Calls of one episode are counted as if they were independent of each other.',
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
  const { stateDistance, observation, error } = row;
  const faults = [observation === false, error === false, isSilentlyWrong(row)];
  return 2 * (stateDistance ?? 0) + faults.filter(Boolean).length;
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
