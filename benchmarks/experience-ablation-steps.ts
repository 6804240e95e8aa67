// One step, teacher-forced, as `reverie fidelity` asks it: what an arm's answers come to, unanswered ones counted as wrong.

import { concurrently } from '../src/core/threads.js';
import type { Responder } from '../src/env/tools/tools-family.js';
import { askQuestion, type StepRow } from '../src/fidelity/tools/answers.js';
import { CHANGE_GROUPS, type ChangeGroup, changeGroup, type ToolsQuestion } from '../src/fidelity/tools/question.js';
import type { Arm } from './experience-ablation-arms.js';
import type { Share } from './experience-ablation-share.js';

export interface StepScores {
  readonly observation: Share;
  readonly errorFlag: Share;
  readonly refused: Share;
  /** Repaired after a first proposal was refused. */
  readonly repaired: Share;
  /** No answer came of the model's server: counted as wrong everywhere. */
  readonly unanswered: Share;
  /** State after the call equals the true one, by number of changes; text has none. */
  readonly state?: Readonly<Record<ChangeGroup, Share>>;
  /** All reads of what changed answer as they truly would; changes that no read shows are left out. */
  readonly readBack: Readonly<Record<ChangeGroup | 'all', Share>>;
  readonly answeredBy: Readonly<Record<string, number>>;
}

export interface AskOptions {
  readonly seed: number;
  readonly concurrency: number;
  /** Questions that would begin later (`performance.now()`) are left out. */
  readonly until?: number;
}

interface Outcome {
  readonly question: ToolsQuestion;
  readonly row: StepRow;
}

export async function scoreSteps(
  arm: Arm,
  responder: Responder,
  questions: readonly ToolsQuestion[],
  { seed, concurrency, until = Number.POSITIVE_INFINITY }: AskOptions,
): Promise<StepScores> {
  const asked = await concurrently(questions, concurrency, async (question, i) =>
    performance.now() > until ? undefined : { question, row: await askQuestion(responder, question, i, { seed }) },
  );
  const outcomes = asked.filter((outcome) => outcome !== undefined);
  const read = outcomes.filter(({ question }) => question.readBacks.length > 0);
  const isReadBack = ({ readBack }: StepRow) => readBack;
  return {
    observation: shareOf(outcomes, ({ observation }) => observation),
    errorFlag: shareOf(outcomes, ({ error }) => error),
    refused: shareOf(outcomes, ({ refused }) => refused),
    repaired: shareOf(outcomes, ({ repaired }) => repaired),
    unanswered: shareOf(outcomes, ({ answered }) => !answered),
    ...(arm.mode === 'typed' ? { state: byGroup(outcomes, ({ state }) => state) } : {}),
    readBack: { ...byGroup(read, isReadBack), all: shareOf(read, isReadBack) },
    answeredBy: countBackends(outcomes),
  };
}

function shareOf(among: readonly Outcome[], isHit: (row: StepRow) => boolean | null): Share {
  return { hits: among.filter(({ row }) => isHit(row) === true).length, of: among.length };
}

function byGroup(among: readonly Outcome[], isHit: (row: StepRow) => boolean | null): Record<ChangeGroup, Share> {
  const shares = CHANGE_GROUPS.map((group) => {
    const own = among.filter(({ question }) => changeGroup(question) === group);
    return [group, shareOf(own, isHit)];
  });
  return Object.fromEntries(shares) as Record<ChangeGroup, Share>;
}

function countBackends(outcomes: readonly Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { row } of outcomes) {
    const name = row.refused === false ? (row.backend ?? 'nobody') : 'nobody';
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
