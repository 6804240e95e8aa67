// How alike two screens are, element by element. An element counts as right with its id, role, name and every property; where it
// stands in the tree is not counted.

import type { ScreenState } from '../../env/screens/screen-state.js';
import { applyOperations } from '../../env/state/operations.js';
import type { Finding, Instrument } from '../../fidelity/measure.js';
import type { FidelityChart } from '../../fidelity/report.js';
import {
  estimateIn,
  type FoundMetric,
  findingOf,
  flag,
  meanMetric,
  percent,
  pointOf,
  shareMetric,
  streamOf,
  unmeasured,
} from '../../fidelity/section.js';
import type { Question } from '../../fidelity/setup.js';
import { meanEstimate } from '../../fidelity/statistics/bootstrap.js';
import { CHUNK, constructed, patientAnswer } from '../../fidelity/tools/answers.js';
import type { ToolsJudged } from '../../fidelity/tools/judged.js';
import { TOOLS_QUESTIONS } from '../../fidelity/tools/kind.js';
import type { DreamtStep, TrueStep } from '../../fidelity/tools/open-loop.js';
import type { ToolsQuestion } from '../../fidelity/tools/question.js';
import { isAnother } from '../mechanics.js';

/** Of a dreamt screen beside the real one that followed from the same. */
interface ElementScores {
  /** F1 over all elements. */
  readonly elements: number;
  /** F1 over what changed: elements that came, went or became others; null where nothing did in either. */
  readonly changes: number | null;
  /** Whether it says rightly that the page became another: most of its elements new, or the task ended. */
  readonly transition: boolean;
}

export function elementScores(before: ScreenState, real: ScreenState, dreamt: ScreenState): ElementScores {
  return {
    elements: elementF1(real, dreamt),
    changes: f1(changesOf(before, real), changesOf(before, dreamt)),
    transition: isAnother(before, real) === isAnother(before, dreamt) && real.done === dreamt.done,
  };
}

/** 1 for two empty screens. */
export function elementF1(real: ScreenState, dreamt: ScreenState): number {
  return f1(keysOf(real), keysOf(dreamt)) ?? 1;
}

function keysOf({ elements }: ScreenState): Set<string> {
  return new Set(Object.keys(elements).map((id) => keyOf({ elements }, id)));
}

function keyOf({ elements }: Pick<ScreenState, 'elements'>, id: string): string {
  const { children: _, ...own } = elements[id];
  const sorted = Object.entries(own).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([id, sorted]);
}

function changesOf(before: ScreenState, after: ScreenState): Set<string> {
  const [was, is] = [keysOf(before), keysOf(after)];
  const came = [...is].filter((key) => !was.has(key));
  const went = Object.keys(before.elements).filter((id) => after.elements[id] === undefined);
  return new Set([...came, ...went.map((id) => `without ${id}`)]);
}

function f1(real: ReadonlySet<string>, dreamt: ReadonlySet<string>): number | null {
  if (real.size + dreamt.size === 0) return null;
  const both = [...dreamt].filter((key) => real.has(key)).length;
  return (2 * both) / (real.size + dreamt.size);
}

type StepRow = {
  readonly kind: 'step';
  readonly backend: string;
  /** null: the screen afterwards is not known, or nobody answered. */
  readonly elements: number | null;
  readonly changes: number | null;
  readonly transition: boolean | null;
  /** Whether it is carried out, or refused, as it truly is. */
  readonly outcome: boolean | null;
};

/** F1 after each step of a walk. */
type WalkRow = { readonly kind: 'walk'; readonly elements: readonly (number | null)[] };
type Row = StepRow | WalkRow;

/** Walks of one chunk. */
const WALKS = 4;

/** Of a model that can be put into states. */
export function elementsInstrument({ ground, answering, carry, notes }: ToolsJudged): Instrument<Row> {
  const { questions, sequences, truthBackend } = ground.truth;
  const asked = Math.ceil(questions.length / CHUNK);
  const { seed } = ground.setup;
  return {
    id: 'elements',
    chunks: asked + Math.ceil(sequences.length / WALKS),
    unit: 'screens',
    measure: async (chunk, signal) => {
      const rows: Row[] = [];
      if (chunk < asked) {
        for (const question of questions.slice(chunk * CHUNK, (chunk + 1) * CHUNK)) {
          const query = { ...question.query, seed };
          rows.push(stepRow(question, await patientAnswer(answering!.unaided, query, signal)));
        }
        return rows;
      }
      const from = (chunk - asked) * WALKS;
      for (const sequence of sequences.slice(from, from + WALKS)) {
        const { steps } = await carry(sequence, signal);
        rows.push({ kind: 'walk', elements: steps.map((step, i) => walkedF1(step, sequence.steps[i])) });
      }
      return rows;
    },
    conclude: (rows) => concluded(rows, { truthBackend, notes: notes.steps }),
  };
}

type Answer = Awaited<ReturnType<typeof patientAnswer>>;

function stepRow({ query, truth, after }: ToolsQuestion, answer: Answer): StepRow {
  if (answer === undefined)
    return { kind: 'step', backend: 'nobody', elements: null, changes: null, transition: null, outcome: null };
  const backend = answer.refused === undefined ? answer.backend : 'refused';
  const outcome = answer.isError === truth.isError;
  if (after === undefined || answer.stateless)
    return { kind: 'step', backend, elements: null, changes: null, transition: null, outcome };
  const dreamt = applyOperations(query.state, answer.operations) as ScreenState;
  return { kind: 'step', backend, outcome, ...elementScores(query.state as ScreenState, after as ScreenState, dreamt) };
}

function walkedF1({ state }: DreamtStep, real: TrueStep | undefined): number | null {
  if (state === undefined || real?.state === undefined) return null;
  return elementF1(real.state as ScreenState, state as ScreenState);
}

interface Told {
  readonly truthBackend?: string;
  readonly notes: readonly string[];
}

function concluded(rows: readonly Row[], { truthBackend, notes }: Told): Finding {
  const steps = rows.filter((row) => row.kind === 'step');
  const walks = rows.filter((row) => row.kind === 'walk');
  const found = metricsOf(steps, walks);
  const f1 = estimateIn(found, 'element-f1');
  const outcome = estimateIn(found, 'action-outcome');
  return findingOf(
    {
      id: 'elements',
      title: 'Elements',
      summary: `After ${steps.length} actions on true screens, the F1 of the elements is ${f1.value?.toFixed(3) ?? 'not known'}; ${percent(outcome)} are carried out or refused as they truly are.`,
      charts: [walkChart(walks)],
      tables: [],
      worst: [],
      notes: [
        ...notes,
        'An action that the model does not know changes nothing, and most of a screen stays as it is: F1 of changes tells more.',
      ],
      ...(f1.value === null ? { missing: 'Of no action the screen afterwards is known.' } : {}),
      ...constructed(
        steps.map(({ backend }) => backend),
        truthBackend,
      ),
    },
    found,
  );
}

function metricsOf(steps: readonly StepRow[], walks: readonly WalkRow[]): FoundMetric[] {
  const mean = (key: string, label: string, meaning: string, values: readonly (number | null)[]) =>
    meanMetric({ key, label, meaning, better: 'higher', unit: 'number' }, values);
  const share = (key: string, label: string, meaning: string, values: readonly (boolean | null)[]) =>
    shareMetric({ key, label, meaning, better: 'higher' }, values.map(flag));
  return [
    mean(
      'element-f1',
      'F1 of elements',
      'Elements of the dreamt screen after one action, against the real one: id, role, name, every property.',
      steps.map(({ elements }) => elements),
    ),
    mean(
      'change-f1',
      'F1 of changes',
      'The same over elements that came, went or became others; actions that change nothing in either are left out.',
      steps.map(({ changes }) => changes),
    ),
    share(
      'action-outcome',
      'Actions with the right outcome',
      'Share of actions that are carried out, or refused, as they truly are.',
      steps.map(({ outcome }) => outcome),
    ),
    share(
      'page-transition',
      'Page transitions',
      'Share of actions after which the page is rightly another, or the same, and the task rightly over, or not.',
      steps.map(({ transition }) => transition),
    ),
    mean(
      'walk-f1',
      'F1 of elements, open loop',
      "Elements over all steps of real walks done again on the dream's own screens; mean over walks.",
      walks.map(({ elements }) => meanOf(elements)),
    ),
  ];
}

function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((a, b) => a + b, 0) / known.length;
}

/** Only walks that are still under way count after a step. */
function walkChart(walks: readonly WalkRow[]): FidelityChart {
  const length = Math.max(0, ...walks.map(({ elements }) => elements.length));
  const points = Array.from({ length }, (_, i) => i).flatMap((i) =>
    pointOf(
      i + 1,
      meanEstimate(
        walks.map(({ elements }) => elements[i] ?? null),
        streamOf(`walk-f1 ${i}`),
      ),
    ),
  );
  return {
    kind: 'lines',
    title: 'F1 of elements by step',
    caption: "Real walks done again on the dream's own screens; walks that are over do not count.",
    xTitle: 'step',
    yTitle: 'F1',
    series: [{ name: 'elements', points }],
  };
}

const ONLY_LIVED_IN = 'The screen is on the server: it cannot be put into one to be asked about.';

export const SCREEN_QUESTIONS: readonly Question<ToolsJudged>[] = [
  ...TOOLS_QUESTIONS,
  {
    id: 'elements',
    comesWith: 'one-step',
    ask: (judged) => {
      const instrument = elementsInstrument(judged);
      return judged.answering === undefined ? unmeasured(instrument, ONLY_LIVED_IN) : instrument;
    },
  },
];
