// One step, teacher-forced: each question is asked in the true state after the true conversation.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import type { Finding, Instrument } from '../instrument.js';
import type { FidelityChart, FidelityTable, WorstTransition } from '../report/fidelity-report.js';
import { estimateIn, findingOf, percent, shareMetric, type Value } from '../section.js';
import { shareEstimate } from '../statistics/estimate.js';
import { type AskedQuestions, CHUNK, constructed, type StepRow } from './answers.js';
import {
  backendOf,
  byBackend,
  firstAnswers,
  inGroup,
  isRight,
  isSilentlyWrong,
  type JudgedStep,
  oneStepMetrics,
  valuesOf,
} from './one-step-metrics.js';
import { CHANGE_GROUPS } from './question.js';

export interface OneStepOptions {
  readonly asked: AskedQuestions;
  /** Times each question is asked, each with another seed: how much of an error is mere sampling. */
  readonly repeats: number;
  /** Who answers by what is also the truth. */
  readonly truthBackend?: string;
  /** What cannot be compared with this truth. */
  readonly notes?: readonly string[];
}

export function oneStepInstrument(options: OneStepOptions): Instrument<StepRow> {
  const { asked, repeats } = options;
  const units = asked.questions.length * repeats;
  return {
    id: 'one-step',
    chunks: Math.ceil(units / CHUNK),
    unit: 'questions',
    measure: async (chunk, signal) => {
      const rows: StepRow[] = [];
      for (let unit = chunk * CHUNK; unit < Math.min((chunk + 1) * CHUNK, units); unit++) {
        const attempt = Math.floor(unit / asked.questions.length);
        rows.push(await asked.row(unit % asked.questions.length, attempt, signal));
      }
      return rows;
    },
    conclude: (rows) => concluded(options, rows),
  };
}

function concluded({ asked, repeats, truthBackend, notes = [] }: OneStepOptions, rows: readonly StepRow[]): Finding {
  const { questions } = asked;
  const steps = firstAnswers(questions, rows);
  const found = oneStepMetrics(steps, noiseOf(questions.length, rows));
  const estimate = (key: string) => estimateIn(found, key);
  const answering = steps.map(({ row }) => backendOf(row));
  const construction = constructed(answering, truthBackend);
  const isOwn = truthBackend !== undefined && answering.includes(truthBackend);
  return findingOf(
    {
      id: 'one-step',
      title: 'One step',
      summary:
        `Of ${steps.length} calls in true states, ${percent(estimate('all-right'))} are answered all right; ` +
        `${percent(estimate('silent-state-error'))} look right and leave a wrong state.`,
      charts: [groupChart(steps), backendChart(steps)],
      tables: [backendTable(steps)],
      worst: worstSteps(steps),
      notes: [...notes, ...(isOwn ? [WORTH_GATING] : []), ...notesOf(steps, repeats)],
      ...(estimate('state-exact').value === null ? { missing: missingOf(steps) } : {}),
      ...construction,
    },
    found,
  );
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

/** Share of pairs of answers to one question that differ; null where there is no pair. */
function noiseOf(questions: number, rows: readonly StepRow[]): Value[] {
  const outcomes = Array.from({ length: questions }, (): string[] => []);
  for (const { question, outcome } of rows) if (outcome !== null) outcomes[question].push(outcome);
  return outcomes.map((own) => {
    const pairs = own.flatMap((one, i) => own.slice(i + 1).map((other) => one !== other));
    return pairs.length === 0 ? null : pairs.filter(Boolean).length / pairs.length;
  });
}

function notesOf(steps: readonly JudgedStep[], repeats: number): string[] {
  const stateless = steps.filter(({ row }) => row.answered && row.hash === null).length;
  const unread = steps.filter(({ question }) => question.readBacks.length === 0).length;
  return [
    'Calls of one episode are counted as if they were independent of each other.',
    ...(stateless === 0
      ? []
      : [`${stateless} answers are plain text without a state: only reads show what they forget.`]),
    ...(unread === steps.length ? ['No read shows a change of any of these calls, so nothing is read back.'] : []),
    ...(repeats > 1 ? [] : ['Each question was asked once: the noise of sampling is not known (fidelity.repeats).']),
  ];
}

function groupChart(steps: readonly JudgedStep[]): FidelityChart {
  const told = { key: '', label: '', better: 'higher', meaning: '' } as const;
  return {
    kind: 'bars',
    title: 'Right states by number of simultaneous changes',
    caption: 'Share of calls after which the state is right, by how many things they truly change.',
    bars: CHANGE_GROUPS.map((group) => ({
      label: group,
      estimate: shareMetric(
        told,
        inGroup(steps, group, ({ state }) => state),
      ).metric.estimate,
      unit: 'share',
    })),
  };
}

function backendChart(steps: readonly JudgedStep[]): FidelityChart {
  return {
    kind: 'bars',
    title: 'All right, by who answered',
    caption: 'Share of calls that are all right, by backend of the router.',
    bars: [...byBackend(steps)].map(([label, own]) => ({ label, estimate: hits(own, isRight), unit: 'share' })),
  };
}

function backendTable(steps: readonly JudgedStep[]): FidelityTable {
  return {
    title: 'Who answered',
    columns: ['backend', 'calls', 'state exact', 'observation exact', 'looks right, state wrong'],
    rows: [...byBackend(steps)].map(([name, own]) => [
      name,
      String(own.length),
      percent(hits(own, ({ state }) => state)),
      percent(hits(own, ({ observation }) => observation)),
      percent(hits(own, isSilentlyWrong)),
    ]),
  };
}

function hits(steps: readonly JudgedStep[], of: (row: StepRow) => boolean | null) {
  const there = valuesOf(steps, of).filter((value) => value !== null);
  return shareEstimate(
    there.reduce((sum, value) => sum + value, 0),
    there.length,
  );
}

// The answers that were most wrong, in full.

const SHOWN = 12;
/** Of the conversation before a call. */
const SHOWN_MESSAGES = 4;
const SHOWN_CHARS = 2_000;

/** A state that is wrong behind feedback that is right counts most: nothing else would show it. */
function worstSteps(steps: readonly JudgedStep[]): WorstTransition[] {
  return steps
    .filter(({ row }) => row.wrong !== null)
    .map((step) => ({ step, badness: badnessOf(step) }))
    .sort((a, b) => b.badness - a.badness)
    .slice(0, SHOWN)
    .map(({ step, badness }) => worstOf(step, badness));
}

function badnessOf({ row }: JudgedStep): number {
  const { stateDistance, observationDistance, error } = row;
  const silent = isSilentlyWrong(row) ? 1 : 0;
  return 2 * (stateDistance ?? 0) + (observationDistance ?? 0) + (error === false ? 1 : 0) + silent;
}

function worstOf({ question, row }: JudgedStep, badness: number): WorstTransition {
  const { query, truth, id } = question;
  const { observation, isError, operations, differences } = row.wrong!;
  return {
    title: `${query.call.name} in ${query.task.id} (${id})`,
    badness,
    context: contextOf(question),
    action: { name: query.call.name, arguments: query.call.arguments },
    real: { observation: truth.observation, isError: truth.isError, operations: (truth.operations ?? null) as Json },
    dreamt: { observation, isError, operations },
    differences: [...saidDifferences(row, truth.observation, observation), ...differences],
    ...(row.backend === null ? {} : { backend: row.backend }),
    ...(row.confidence === null ? {} : { confidence: row.confidence }),
  };
}

function saidDifferences({ observation }: JudgedStep['row'], real: string, dreamt: string) {
  return observation === false ? [{ path: 'observation', real, dreamt }] : [];
}

function contextOf({ query }: JudgedStep['question']): JsonObject {
  const said = query.messages.slice(1, -1).slice(-SHOWN_MESSAGES);
  return {
    task: query.task.id,
    step: query.step,
    conversation: said.map(({ role, content }) => ({ role, content: (content ?? '').slice(0, SHOWN_CHARS) })),
  };
}
