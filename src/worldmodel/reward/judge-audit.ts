// The audit of a judge, and the gate it opens: no reward by a judge without one.

import { z } from 'zod';
import { contentHash, type JsonObject } from '../../core/canonical-json.js';
import { addCosts, type Cost, NO_COST } from '../../core/cost.js';
import { describeIssues, reverieError } from '../../core/errors.js';
import { type Rate as Share, wilson } from '../../core/statistics.js';
import { concurrently } from '../../core/threads.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { Message } from '../../env/tools/message.js';
import { initialStateOf } from '../../env/tools/situation.js';
import { RecordProblem, readConversation } from '../../replay/experience/logs/conversation.js';
import { filesAt, type LogRecord, recordsOf, stateAfter } from '../../replay/experience/logs/read-episode-logs.js';
import { type AuditLimits, type Judge, shownChanges } from './judge.js';

const WORST = 20;
const CONCURRENCY = 8;
const ERRORS = ['false positive', 'false negative', 'flip', 'abstention'] as const;

export interface AuditReport {
  readonly format: 'reverie-judge-audit/1';
  /** Version of the judge. */
  readonly judge: string;
  /** `hash` is of what a judge sees of it: policy and tools. */
  readonly domain: { readonly id: string; readonly hash: string };
  readonly labelled: Readonly<Record<'episodes' | 'successes' | 'failures', number>> & { readonly hash: string };
  readonly repeats: number;
  /** Of failed episodes that were decided, those passed; of good ones, those failed. */
  readonly falsePositive: Rate;
  readonly falseNegative: Rate;
  readonly abstention: Rate;
  /** Of all episodes, those not judged alike every time. */
  readonly flip: Rate;
  readonly worst: readonly WorstCase[];
  readonly cost: Cost;
}

/** A share of episodes with its 95 % interval. */
export type Rate = Share & { readonly count: number };

/** `label`: why it is good or failed, by its label; `said`: by the judge. */
interface WorstCase {
  readonly id: string;
  readonly task: string;
  readonly error: (typeof ERRORS)[number];
  readonly confidence: number;
  readonly label: string;
  readonly said: string;
}

export function rateOf(hits: number, of: number): Rate {
  return { ...wilson(hits, of), count: hits, of };
}

/** @throws JUDGE_UNRELIABLE unless its audit found the judge good enough */
export function requireAudited({ judge, domain, ...report }: AuditReport, limits: AuditLimits): void {
  const faults = (Object.keys(limits) as (keyof AuditLimits)[])
    .filter((name) => report[name].high > limits[name])
    .map((name) => `${name} ${shown(report[name])}, allowed ${limits[name]}`);
  if (faults.length > 0)
    throw reverieError('JUDGE_UNRELIABLE', { judge, domain: domain.id, problem: faults.join('; ') });
}

function shown({ count: hits, of, high }: Rate): string {
  return `${hits} of ${of} (up to ${(100 * high).toFixed(0)} %)`;
}

/** What is judged of every labelled episode beside its task's rubric. */
const OVERALL_CRITERION =
  'The agent did what the user wanted as far as the policy allows it, refused or handed over what it does not allow, broke no rule of the policy on the way, and told the user the truth.';

interface Judged {
  readonly episode: LabelledEpisode;
  /** One a repeat. */
  readonly outcomes: readonly (boolean | null)[];
  readonly confidence: number;
  readonly said: string;
  readonly cost: Cost;
}

/** Judges every episode `judge.config.audit.repeats` times. Throws FILE_INVALID without episodes; what the model throws. */
export async function auditJudge(
  judge: Judge,
  domain: ToolsDomain,
  episodes: readonly LabelledEpisode[],
  { seed = 0, signal }: { readonly seed?: number; readonly signal?: AbortSignal } = {},
): Promise<AuditReport> {
  if (episodes.length === 0) throw labelledInvalid(`of domain "${domain.id}"`, 'there are none');
  const judged = await concurrently(episodes, CONCURRENCY, (episode) =>
    judgeLabelled(judge, domain, episode, seed, signal),
  );
  const [failures, successes] = [false, true].map((label) => judged.filter(({ episode }) => episode.success === label));
  const shareOf = (of: readonly Judged[], isHit: (each: Judged) => boolean) =>
    rateOf(of.filter(isHit).length, of.length);
  return {
    format: 'reverie-judge-audit/1',
    judge: judge.version,
    domain: { id: domain.id, hash: judgedDomainHash(domain) },
    labelled: {
      hash: labelledHash(episodes),
      episodes: episodes.length,
      successes: successes.length,
      failures: failures.length,
    },
    repeats: judge.config.audit.repeats,
    falsePositive: shareOf(failures.filter(isDecided), ({ outcomes }) => outcomes[0] === true),
    falseNegative: shareOf(successes.filter(isDecided), ({ outcomes }) => outcomes[0] === false),
    abstention: shareOf(judged, (each) => !isDecided(each)),
    flip: shareOf(judged, isFlipped),
    worst: worstOf(judged),
    cost: judged.reduce((sum, { cost }) => addCosts(sum, cost), NO_COST),
  };
}

/** Identifies labelled episodes by all that a judge is asked and should answer. */
export function labelledHash(episodes: readonly LabelledEpisode[]): string {
  return contentHash(
    episodes.map(({ id, task, messages, success, criteria = [] }) => [id, task, messages, success, criteria]),
  );
}

export function judgedDomainHash({ id, policy, tools }: ToolsDomain): string {
  return contentHash([id, policy, tools]);
}

async function judgeLabelled(
  judge: Judge,
  domain: ToolsDomain,
  episode: LabelledEpisode,
  seed: number,
  signal: AbortSignal | undefined,
): Promise<Judged> {
  const { task, messages, finalState, criteria = [...(task.verifier.rubric ?? []), OVERALL_CRITERION] } = episode;
  const changes = finalState && { stateChanges: shownChanges(initialStateOf(domain, task), finalState) };
  const question = { policy: domain.policy, goal: task.user.goal, messages, criteria, ...changes };
  const judgements = [];
  for (let repeat = 0; repeat < judge.config.audit.repeats; repeat++)
    judgements.push(await judge.judge({ ...question, seed: seed + repeat }, signal));
  const [first] = judgements;
  const telling = first.checks.find(({ passed }) => passed !== true) ?? first.checks[0];
  return {
    episode,
    outcomes: judgements.map(({ checks }) => outcomeOf(checks.map(({ passed }) => passed))),
    confidence: first.confidence,
    said: telling.reason,
    cost: judgements.reduce((sum, { cost }) => addCosts(sum, cost), NO_COST),
  };
}

function outcomeOf(passed: readonly (boolean | null)[]): boolean | null {
  if (passed.includes(false)) return false;
  return passed.includes(null) ? null : true;
}

const isDecided = ({ outcomes }: Judged) => outcomes[0] !== null;

const isFlipped = ({ outcomes }: Judged) => outcomes.some((outcome) => outcome !== outcomes[0]);

function errorOf(judged: Judged): WorstCase['error'] | undefined {
  const [first] = judged.outcomes;
  if (first !== null && first !== judged.episode.success) return first ? 'false positive' : 'false negative';
  if (isFlipped(judged)) return 'flip';
  return first === null ? 'abstention' : undefined;
}

/** Errors first that cost most, and among them those the judge was surest of. */
function worstOf(judged: readonly Judged[]): WorstCase[] {
  const cases = judged.flatMap((each): WorstCase[] => {
    const error = errorOf(each);
    if (error === undefined) return [];
    const { episode, confidence, said } = each;
    const { id, task, reason } = episode;
    return [{ id, task: task.id, error, confidence, label: reason, said }];
  });
  const rank = ({ error }: WorstCase) => ERRORS.indexOf(error);
  return cases.sort((a, b) => rank(a) - rank(b) || b.confidence - a.confidence).slice(0, WORST);
}

// Episodes whose verdict is known, against which a judge is held: JSON lines
// {"id", "task", "messages", "success": true | false, "reason", "criteria"?}.

interface LabelledEpisode {
  readonly id: string;
  readonly task: ToolsTask;
  readonly messages: readonly Message[];
  readonly success: boolean;
  readonly reason: string;
  /** What is judged; absent: the task's rubric and that the user's goal was met within policy. */
  readonly criteria?: readonly string[];
  /** The state it ended in, where the domain's rules tell. */
  readonly finalState?: JsonObject;
}

const labelSchema = z.looseObject({
  id: z.string().min(1),
  success: z.boolean(),
  reason: z.string(),
  criteria: z.array(z.string().min(1)).min(1).optional(),
});

/** Reads a file, or all of a folder. Throws LOG_INVALID or FILE_INVALID naming file and line. */
export async function readLabelledEpisodes(path: string, domain: ToolsDomain): Promise<LabelledEpisode[]> {
  const episodes: LabelledEpisode[] = [];
  for (const file of filesAt(path)) {
    for await (const record of recordsOf(file)) {
      const read = labelled(record, domain);
      if (typeof read === 'string') throw labelledInvalid(`"${file}", ${record.where}`, read);
      if (episodes.some(({ id }) => id === read.id))
        throw labelledInvalid(`"${file}", ${record.where}`, `the id "${read.id}" was there before`);
      episodes.push(read);
    }
  }
  return episodes;
}

/** The episode, or what is wrong with it. */
function labelled({ value, problem }: LogRecord, domain: ToolsDomain): LabelledEpisode | string {
  if (problem !== undefined) return problem;
  const label = labelSchema.safeParse(value);
  if (!label.success) return describeIssues(label.error);
  const { id, success, reason, criteria } = label.data;
  try {
    const { task: name, messages } = readConversation(value);
    const task = domain.tasks.find((each) => each.id === name);
    if (task === undefined) return `there is no task "${name}" in ${domain.id}`;
    const finalState = stateAfter(domain, name, messages);
    const known = { ...(criteria ? { criteria } : {}), ...(finalState ? { finalState } : {}) };
    return { id, task, messages, success, reason, ...known };
  } catch (error) {
    if (error instanceof RecordProblem) return error.message;
    throw error;
  }
}

function labelledInvalid(where: string, problem: string): Error {
  const hint = 'Give JSON lines {"id", "task", "messages", "success": true or false, "reason"} of tasks of the domain.';
  return reverieError('FILE_INVALID', { problem: `Labelled episodes ${where}: ${problem}.`, hint });
}
