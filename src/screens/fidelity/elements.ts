// How alike two screens are, element by element. An element counts as right with its id, role, name and every property; where it
// stands in the tree is not counted.

import type { ScreenState } from '../../env/screens/screen-state.js';
import { applyOperations } from '../../env/state/operations.js';
import {
  estimateIn,
  meanOf as estimateOf,
  type Finding,
  figuresOf,
  findingOf,
  type Instrument,
  metricTable,
  percent,
  type Question,
  shareOf,
} from '../../fidelity/section.js';
import { CHUNK, constructed, patientAnswer, type ToolsQuestion } from '../../fidelity/tools/answers.js';
import type { ToolsJudged } from '../../fidelity/tools/judged.js';
import { durable, TOOLS_QUESTIONS } from '../../fidelity/tools/opening.js';
import { isAnother } from '../mechanics.js';

/** Of a simulated screen beside the real one that followed from the same. */
interface ElementScores {
  /** F1 over all elements. */
  readonly elements: number;
  /** F1 over what changed: elements that came, went or became others; null where nothing did in either. */
  readonly changes: number | null;
  /** Whether it says rightly that the page became another: most of its elements new, or the task ended. */
  readonly transition: boolean;
}

export function elementScores(before: ScreenState, real: ScreenState, simulated: ScreenState): ElementScores {
  return {
    elements: elementF1(real, simulated),
    changes: f1(changesOf(before, real), changesOf(before, simulated)),
    transition: isAnother(before, real) === isAnother(before, simulated) && real.done === simulated.done,
  };
}

/** 1 for two empty screens. */
export function elementF1(real: ScreenState, simulated: ScreenState): number {
  return f1(keysOf(real), keysOf(simulated)) ?? 1;
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

function f1(real: ReadonlySet<string>, simulated: ReadonlySet<string>): number | null {
  if (real.size + simulated.size === 0) return null;
  const both = [...simulated].filter((key) => real.has(key)).length;
  return (2 * both) / (real.size + simulated.size);
}

type Row = {
  readonly backend: string;
  /** null: the screen afterwards is not known, or no answer came. */
  readonly elements: number | null;
  readonly changes: number | null;
  readonly transition: boolean | null;
  /** Whether it is carried out, or refused, as it truly is. */
  readonly outcome: boolean | null;
};

export function elementsInstrument({ ground, answering, notes }: ToolsJudged): Instrument<Row> {
  const { questions, truthBackend } = ground.truth;
  const { seed } = ground.setup;
  return {
    id: 'elements',
    chunks: Math.ceil(questions.length / CHUNK),
    measure: async (chunk, signal) => {
      const rows: Row[] = [];
      for (const question of questions.slice(chunk * CHUNK, (chunk + 1) * CHUNK)) {
        const query = { ...question.query, seed };
        rows.push(rowOf(question, await patientAnswer(answering.unaided, query, signal)));
      }
      return rows;
    },
    conclude: (rows) => concluded(rows, { truthBackend, notes: notes.steps }),
  };
}

type Answer = Awaited<ReturnType<typeof patientAnswer>>;

function rowOf({ query, truth, after }: ToolsQuestion, answer: Answer): Row {
  const unknown = { elements: null, changes: null, transition: null };
  if (answer === undefined) return { backend: 'unanswered', outcome: null, ...unknown };
  const backend = answer.refused === undefined ? answer.backend : 'refused';
  const outcome = answer.isError === truth.isError;
  if (after === undefined || answer.stateless) return { backend, outcome, ...unknown };
  const simulated = applyOperations(query.state, answer.operations) as ScreenState;
  return { backend, outcome, ...elementScores(query.state as ScreenState, after as ScreenState, simulated) };
}

const METRICS = metricTable(`
element-f1      | higher | number | F1 of elements | Elements of the simulated screen after one action, against the real one: id, role, name, every property.
change-f1       | higher | number | F1 of changes | The same over elements that came, went or became others; actions that change nothing in either are left out.
action-outcome  | higher | share  | Actions with the right outcome | Share of actions that are carried out, or refused, as they truly are.
page-transition | higher | share  | Page transitions | Share of actions after which the page is rightly another, or the same, and the task rightly over, or not.
`);

interface Judging {
  readonly truthBackend?: string;
  readonly notes: readonly string[];
}

function concluded(rows: readonly Row[], { truthBackend, notes }: Judging): Finding {
  const found = figuresOf(METRICS, {
    'element-f1': estimateOf(
      'element-f1',
      rows.map(({ elements }) => elements),
    ),
    'change-f1': estimateOf(
      'change-f1',
      rows.map(({ changes }) => changes),
    ),
    'action-outcome': shareOf(rows.map(({ outcome }) => outcome)),
    'page-transition': shareOf(rows.map(({ transition }) => transition)),
  });
  const f1 = estimateIn(found, 'element-f1');
  const outcome = estimateIn(found, 'action-outcome');
  return findingOf(
    {
      id: 'elements',
      title: 'Elements',
      summary: `After ${rows.length} actions on true screens, the F1 of the elements is ${f1.value?.toFixed(3) ?? 'not known'}; ${percent(outcome)} are carried out or refused as they truly are.`,
      charts: [],
      tables: [],
      notes: [
        ...notes,
        'An action that the model does not know changes nothing, and most of a screen stays as it is: F1 of changes tells more.',
      ],
      ...(f1.value === null ? { missing: 'Of no action the screen afterwards is known.' } : {}),
      ...constructed(
        rows.map(({ backend }) => backend),
        truthBackend,
      ),
    },
    found,
  );
}

export const SCREEN_QUESTIONS: readonly Question<ToolsJudged>[] = [
  ...TOOLS_QUESTIONS,
  { id: 'elements', comesWith: 'one-step', ask: durable(elementsInstrument) },
];
