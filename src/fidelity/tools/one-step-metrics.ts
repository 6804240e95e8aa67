// What one step's answers come to: exactness and distance of state and observation, and what was not an answer at all.

import { stateHash } from '../../env/state/state.js';
import { type FoundMetric, flag, meanMetric, shareMetric, type Value } from '../section.js';
import type { StepRow } from './answers.js';
import { CHANGE_GROUPS, type ChangeGroup, changeGroup, type ToolsQuestion } from './question.js';

export function oneStepMetrics(steps: readonly JudgedStep[], noise: readonly Value[]): FoundMetric[] {
  return [
    ...stateMetrics(steps),
    ...observationMetrics(steps),
    ...bothMetrics(steps),
    ...answerMetrics(steps),
    ...CHANGE_GROUPS.map((group) => groupMetric(steps, group)),
    ...[...byBackend(steps)].flatMap(([backend, own]) => backendMetric(steps, backend, own)),
    meanMetric(
      {
        key: 'sampling-noise',
        label: 'Sampling noise',
        better: 'lower',
        unit: 'share',
        meaning: 'Share of pairs of answers to the same question, asked with other seeds, that differ from each other.',
      },
      noise,
    ),
  ];
}

function stateMetrics(steps: readonly JudgedStep[]): FoundMetric[] {
  return [
    shareMetric(
      {
        key: 'state-exact',
        label: 'State exact',
        better: 'higher',
        meaning: 'Share of calls after which the dreamt state is the real one, by hash.',
      },
      valuesOf(steps, ({ state }) => state),
    ),
    shareMetric(
      {
        key: 'state-exact-floor',
        label: 'State exact if every call is refused',
        better: 'neither',
        meaning: 'Share of calls that truly change nothing: what a model that refuses every call has as `state-exact`.',
      },
      steps.map(({ question: { query, after }, row }) =>
        row.state === null ? null : flag(stateHash(after!) === stateHash(query.state)),
      ),
    ),
    meanMetric(
      {
        key: 'state-distance',
        label: 'State distance',
        better: 'lower',
        unit: 'share',
        meaning: 'Wrong values of the state among those that changed for real or in the dream; 0 where none is wrong.',
      },
      steps.map(({ row }) => row.stateDistance),
    ),
    shareMetric(
      {
        key: 'read-back',
        label: 'Read back',
        better: 'higher',
        meaning: 'Share of changes that reads, answered by the same model, show as they truly would.',
      },
      valuesOf(steps, ({ readBack }) => readBack),
    ),
  ];
}

function observationMetrics(steps: readonly JudgedStep[]): FoundMetric[] {
  return [
    shareMetric(
      {
        key: 'observation-exact',
        label: 'Observation exact',
        better: 'higher',
        meaning: 'Share of calls that are answered in the real words; JSON is compared as JSON.',
      },
      valuesOf(steps, ({ observation }) => observation),
    ),
    meanMetric(
      {
        key: 'observation-distance',
        label: 'Observation distance',
        better: 'lower',
        unit: 'share',
        meaning: 'Word edits from the dreamt to the real observation over the words of the longer one.',
      },
      steps.map(({ row }) => row.observationDistance),
    ),
    shareMetric(
      {
        key: 'error-flag',
        label: 'Error or not',
        better: 'higher',
        meaning: 'Share of calls that fail in the dream if, and only if, they fail for real.',
      },
      valuesOf(steps, ({ error }) => error),
    ),
  ];
}

function bothMetrics(steps: readonly JudgedStep[]): FoundMetric[] {
  return [
    shareMetric(
      {
        key: 'all-right',
        label: 'All right',
        better: 'higher',
        meaning: 'Share of calls of which observation, error and, where there is one, state are right.',
      },
      valuesOf(steps, isRight),
    ),
    shareMetric(
      {
        key: 'silent-state-error',
        label: 'Looks right, state wrong',
        better: 'lower',
        meaning:
          'Share of calls whose feedback is right while the state behind it is wrong: nobody in the episode sees it.',
      },
      valuesOf(steps, isSilentlyWrong),
    ),
    shareMetric(
      {
        key: 'spoken-error',
        label: 'State right, feedback wrong',
        better: 'lower',
        meaning: 'Share of calls whose state is right while the feedback on them is not.',
      },
      valuesOf(steps, isOnlySaidWrong),
    ),
  ];
}

function answerMetrics(steps: readonly JudgedStep[]): FoundMetric[] {
  const share = (key: string, label: string, meaning: string, of: (row: StepRow) => boolean | null) =>
    shareMetric({ key, label, better: 'lower', meaning }, valuesOf(steps, of));
  return [
    share('refused', 'Refused', 'Share of calls that nobody could answer without faults.', ({ refused }) => refused),
    share(
      'repaired',
      'Repaired',
      'Share of calls whose first answer had faults and whose second stands.',
      ({ repaired }) => repaired,
    ),
    share(
      'unanswered',
      'Unanswered',
      'Share of calls to which no answer came; they count nowhere else.',
      ({ answered }) => !answered,
    ),
    meanMetric(
      {
        key: 'confidence',
        label: 'Confidence',
        better: 'neither',
        unit: 'share',
        meaning: 'Mean of what the model says of its own certainty.',
      },
      steps.map(({ row }) => row.confidence),
    ),
  ];
}

const GROUP_KEYS: Readonly<Record<ChangeGroup, string>> = { '0': '0', '1': '1', '2-3': '2-3', '4+': '4-plus' };
const GROUP_WORDS: Readonly<Record<ChangeGroup, string>> = {
  '0': 'change nothing',
  '1': 'change one thing',
  '2-3': 'change two or three things at once',
  '4+': 'change four or more things at once',
};

function groupMetric(steps: readonly JudgedStep[], group: ChangeGroup): FoundMetric {
  return shareMetric(
    {
      key: `state-exact-changes-${GROUP_KEYS[group]}`,
      label: `State exact, ${group} changes`,
      better: 'higher',
      meaning: `Share of right states after calls that truly ${GROUP_WORDS[group]}.`,
    },
    inGroup(steps, group, ({ state }) => state),
  );
}

/** Values keep the places of all questions; none of those that got no answer. */
function backendMetric(steps: readonly JudgedStep[], backend: string, own: readonly JudgedStep[]): FoundMetric[] {
  if (backend === 'unanswered') return [];
  const mine = new Set(own);
  const told = {
    key: `all-right-${backend}`,
    label: `All right, by ${backend}`,
    better: 'higher',
    meaning: `Share of calls that are all right, of those answered by ${backend}.`,
  } as const;
  return [
    shareMetric(
      told,
      steps.map((step) => (mine.has(step) ? flag(isRight(step.row)) : null)),
    ),
  ];
}

// First answers to all questions, in the questions' order, as the values that metrics are made from.

export interface JudgedStep {
  readonly question: ToolsQuestion;
  readonly row: StepRow;
}

/** In the order of the questions; those of repeats are left out. */
export function firstAnswers(questions: readonly ToolsQuestion[], rows: readonly StepRow[]): JudgedStep[] {
  const first = new Map(rows.filter(({ attempt }) => attempt === 0).map((row) => [row.question, row]));
  return questions.flatMap((question, i) => {
    const row = first.get(i);
    return row === undefined ? [] : [{ question, row }];
  });
}

/** Whether everything that is known of an answer is right: observation, error, and the state where there is one. */
export function isRight({ answered, observation, error, state }: StepRow): boolean | null {
  return answered ? observation === true && error === true && state !== false : null;
}

/** Feedback that looks right while the state is wrong: what an agent, and a judge of conversations, cannot see. */
export function isSilentlyWrong({ observation, error, state }: StepRow): boolean | null {
  return state === null ? null : observation === true && error === true && !state;
}

/** The reverse: the state is right, and what is said is not. */
function isOnlySaidWrong({ observation, error, state }: StepRow): boolean | null {
  return state === null ? null : state && !(observation === true && error === true);
}

export function valuesOf(steps: readonly JudgedStep[], of: (row: StepRow) => boolean | null): Value[] {
  return steps.map(({ row }) => flag(of(row)));
}

/** null for questions of other groups, so that places stay the questions'. */
export function inGroup(
  steps: readonly JudgedStep[],
  group: ChangeGroup,
  of: (row: StepRow) => boolean | null,
): Value[] {
  return steps.map(({ question, row }) => (changeGroup(question) === group ? flag(of(row)) : null));
}

export function byBackend(steps: readonly JudgedStep[]): Map<string, JudgedStep[]> {
  const groups = new Map<string, JudgedStep[]>();
  for (const step of steps) {
    const name = backendOf(step.row);
    groups.set(name, [...(groups.get(name) ?? []), step]);
  }
  return new Map([...groups].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Who answered; a call that was refused was answered by nobody. */
export function backendOf({ answered, refused, backend }: StepRow): string {
  if (!answered) return 'unanswered';
  return refused || backend === null ? 'refused' : backend;
}
