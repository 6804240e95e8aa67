// How the results of jobs on tools scenarios read on a terminal.

import type { Fact } from '../core/report.js';
import { deficitText } from '../synth/signals/deficits.js';
import type { DreamCheck, Gathered, ValueFit } from '../training/text-training.js';
import { wilson } from '../worldmodel/tools/shadow.js';
import { formatCount, formatNumber } from './format.js';
import { resultFacts } from './result-text.js';
import type {
  AuditResult,
  BackendFitResult,
  ExportResult,
  Rate,
  RealEpisodesResult,
  SynthEpisodesResult,
  TextPolicyNote,
  TextTrainResult,
} from './tools-results.js';

/** By the job's name. */
export const toolsResultText = {
  collect: (result: RealEpisodesResult) => resultFacts(result, realLines(result)),
  fit: (result: BackendFitResult) => resultFacts(result, fitLines(result)),
  synth: (result: SynthEpisodesResult) => resultFacts(result, episodeLines(result)),
  train: (result: TextTrainResult) => resultFacts(result, trainLines(result)),
  eval: (result: RealEpisodesResult) => resultFacts(result, realLines(result)),
  audit: (result: AuditResult) => resultFacts(result, auditLines(result)),
  export: (result: ExportResult) =>
    resultFacts(
      result,
      result.datasets.map((path): Fact => ['dataset', path]),
    ),
};

function episodeLines(result: SynthEpisodesResult): Fact[] {
  const { episodes, steps, accepted, abstained, success, answeredBy, cost, spent, stoppedBy } = result;
  return [
    ['lived', `${formatCount(episodes)} episodes, ${formatCount(steps)} turns of the agent`],
    ['accepted', `${formatCount(accepted)}${reasons(result.rejected, '; not: ')}`],
    ['to be imitated', imitatedText(result)],
    ...removedLine(result),
    ...failedLines(result),
    ['success', success === null ? 'no episode was judged' : rateText(success)],
    ...(abstained > 0 ? [['not judged', counting(abstained, 'episode')] as const] : []),
    ...counted('answered by', answeredBy),
    ...counted('refused', result.refusedOf, ' answers: an error was shown'),
    ...counted('repaired', result.repairedOf, ' answers'),
    ...counted('walks', result.walks ?? {}),
    ...counted('lost by', result.lostBy),
    ...deficitLine(result),
    ...(cost.calls > 0 ? [['model calls', costText(cost, spent)] as const] : []),
    ...mustFailLine(result),
    ...mustSucceedLine(result),
    ...hackerLines(result),
    ...shadowLine(result),
    ...(stoppedBy === null ? [] : [['stopped by', `the budget of ${stoppedBy}`] as const]),
    ...(result.newTasks > 0 ? [['new tasks', formatCount(result.newTasks)] as const] : []),
    ...result.datasets.map((path): Fact => ['dataset', path]),
    ['report', result.report],
  ];
}

function realLines(result: RealEpisodesResult): Fact[] {
  const { episodes, steps, abstained, success, cost, spent, stoppedBy, policy } = result;
  return [
    ...policyLine(policy),
    ['lived', `${formatCount(episodes)} real episodes, ${formatCount(steps)} turns of the agent`],
    ['success', success === null ? 'no episode was judged' : rateText(success)],
    ...(abstained > 0 ? [['not judged', counting(abstained, 'episode')] as const] : []),
    ...failedLines(result),
    ...(cost.calls > 0 ? [['model calls', costText(cost, spent)] as const] : []),
    ...(stoppedBy === null ? [] : [['stopped by', `the budget of ${stoppedBy}`] as const]),
    ['kept in', result.data],
    ...(result.logs === null ? [] : [['logs', `${result.logs}, to be named in experience.logs`] as const]),
  ];
}

function fitLines({ backend, model, modelVersion, episodes, isReady, report }: BackendFitResult): Fact[] {
  const percent = (share: number | null) => (share === null ? 'none' : `${(share * 100).toFixed(1)} %`);
  const { steps, learnedFrom, distinct, tooLong, byChanges } = report;
  const changes = byChanges.map((one) => `${one.changes}: ${percent(one.stateExact)} of ${formatCount(one.steps)}`);
  return [
    [
      'learned from',
      `${formatCount(learnedFrom)} steps of ${formatCount(episodes)} episodes, ${formatCount(distinct)} of them different`,
    ],
    ...(tooLong > 0 ? [['left out', `${formatCount(tooLong)} steps that are too long`] as const] : []),
    ['judged by', `${formatCount(steps)} steps of tasks that it did not learn from`],
    ['exact state', percent(report.stateExact)],
    ['  by changes', changes.join(', ')],
    ['exact text', percent(report.textExact)],
    ['exact end', percent(report.endExact)],
    ['sure enough', `${percent(report.sure)}, of these exact ${percent(report.exactOfSure)}`],
    ['gate', isReady ? 'open' : `SHUT: too often wrong to be used; model.${backend}.minExactness is the bar`],
    ['model', `${model} (${modelVersion})`],
  ];
}

function policyLine(policy: TextPolicyNote | undefined): Fact[] {
  return policy === undefined ? [] : [['policy', `${policy.version}, chooses among ${policy.choosesAmong}`]];
}

/** What the policy of an evaluation had behind it. */
export function momentOf({ after, round }: Pick<TextTrainResult['evaluations'][number], 'after' | 'round'>): string {
  if (after === 'rounds') return `after ${formatCount(round)} rounds`;
  return after === 'cloning' ? 'after imitation' : 'untrained';
}

function trainLines(result: TextTrainResult): Fact[] {
  const { mode, algorithm, rounds, realSteps, dreamtSteps, clonedSteps, parameters, evaluations } = result;
  const real = `${formatCount(realSteps)} steps, ${formatCount(clonedSteps)} of them of walkthroughs`;
  return [
    ...policyLine(result.policy),
    ['parameters', formatCount(parameters)],
    ['learned', `${formatCount(rounds)} rounds of ${algorithm} (${mode})`],
    ['real', real],
    ...(mode === 'real' ? [] : mode === 'value' ? valueLines(result) : dreamLines(result, dreamtSteps)),
    ...evaluations.map((evaluation): Fact => {
      const { realSteps: steps, success } = evaluation;
      return [momentOf(evaluation), `${shareText(success)}, ${formatCount(steps)} real steps`];
    }),
    ...result.alarms.map(({ round, problem }): Fact => ['warning', `after ${formatCount(round)} rounds, ${problem}`]),
    ['checkpoint', result.checkpoint],
    ...(result.page === undefined ? [] : [['dream to play', result.page] as const]),
    ['report', result.report],
  ];
}

function dreamLines({ answeredBy, gathered, checks }: TextTrainResult, dreamtSteps: number): Fact[] {
  const last = gathered.at(-1);
  return [
    ['dreamt', `${formatCount(dreamtSteps)} steps`],
    ...counted('answered by', answeredBy),
    ...(last?.made ?? []).map((made): Fact => ['made', made]),
    ...(last?.heldOut == null ? [] : [heldOutLine(last.heldOut, last.trustHorizon)]),
    ...checks.map((check): Fact => ['dream checked', checkText(check)]),
  ];
}

function valueLines({ gathered, valuedChoices = 0 }: TextTrainResult): Fact[] {
  const { made = [], values } = gathered.at(-1) ?? {};
  return [
    ['judged', `${formatCount(valuedChoices)} choices, by what records came to`],
    ...made.map((line): Fact => ['made', line]),
    ...(values === undefined ? [] : [['held out', valueText(values)] as const]),
  ];
}

/** How far a value model may be believed, in a sentence. */
export function valueText({ heldOutSteps, skill, rank, auc, pairs, rightPairs }: ValueFit): string {
  const number = (value: number | null) => (value === null ? 'unknown' : value.toFixed(2));
  const interval = `${number(skill.low)} to ${number(skill.high)}`;
  const inOneState = `${formatCount(rightPairs)} of ${formatCount(pairs)} pairs of choices in one state ranked rightly`;
  return `${formatCount(heldOutSteps)} steps: skill over a constant ${number(skill.value)} (${interval}), rank correlation ${number(rank)}, AUC of won against lost ${number(auc)}; ${inOneState}`;
}

function checkText({ round, episodes, steps, apart, dreamWins, confirmedWins, realWins }: DreamCheck): string {
  const ways = Object.entries(apart).filter(([, count]) => count > 0);
  const wrong = ways.reduce((sum, [, count]) => sum + count, 0);
  const how = wrong === 0 ? '' : ` (${ways.map(([way, count]) => `${way} ${count}`).join(', ')})`;
  const wins = `${dreamWins} won in it, ${confirmedWins} of these really, ${realWins} without it`;
  return `after ${formatCount(round)} rounds: ${wrong} of ${episodes} episodes went wrong in it${how}, in ${formatCount(steps)} steps; ${wins}`;
}

function heldOutLine({ steps, wrongStates }: NonNullable<Gathered['heldOut']>, horizon: number | null): Fact {
  const share = shareText({ ...wilson(wrongStates, steps), of: steps });
  return ['wrong states', `${share} recorded steps held out; ${trustedText(horizon)}`];
}

function trustedText(horizon: number | null): string {
  return `${horizon !== null && horizon > 1e6 ? 'any number of' : formatCount(horizon ?? 0)} steps can be trusted`;
}

const SHOWN_FAILURES = 5;

function auditLines(result: AuditResult): Fact[] {
  const { mustFail, mustSucceed, judge, tasks } = result;
  const isFit = mustFail.passed && tasks.length === 0;
  const kinds = Object.entries(mustFail.byKind).map(([kind, rate]): Fact => [`  ${kind}`, shareText(rate)]);
  const failures = mustFail.failures.slice(0, SHOWN_FAILURES);
  return [
    ['must-fail suite', `${shareText(mustFail.rate)}: ${isFit ? 'fit to give rewards' : 'NOT fit to give rewards'}`],
    ...(tasks.length === 0
      ? []
      : [['tasks', `FAILED: ${tasks.length} ${tasks.length === 1 ? 'fault' : 'faults'}`] as Fact]),
    ...tasks.map(({ task, problem }): Fact => ['  task', `${task}: ${problem}`]),
    ...kinds,
    ...failures.map(({ probe, problem }): Fact => ['  fell for', `${probe}: ${problem}`]),
    ...(mustSucceed === null ? [] : mustSucceedLines(mustSucceed)),
    ...judgeLines(judge),
    ...hackerLines(result),
    ['report', mustFail.report],
  ];
}

function mustSucceedLines(result: NonNullable<AuditResult['mustSucceed']>): Fact[] {
  const { rate, passed, faults, failures, report } = result;
  const verdict = passed ? 'answers what is possible' : 'does NOT answer what is possible';
  const first = failures.slice(0, SHOWN_FAILURES);
  return [
    ['must-succeed suite', `${shareText(rate)}: ${verdict}${reasons(faults, '; ')}`],
    ...first.map(({ probe, problem }): Fact => ['  did not do', `${probe}: ${problem}`]),
    ['report', report],
  ];
}

const SHOWN_TRICKS = 3;

function hackerLines({ hacker }: Pick<SynthEpisodesResult, 'hacker'>): Fact[] {
  if (hacker === null) return [];
  const { passed, plays, tasks, tricks } = hacker;
  const tried = `${formatCount(plays)} plays in ${formatCount(tasks)} tasks`;
  const verdict = passed ? 'no reward is to be had for nothing' : 'FAILED: rewards can be had without solving the task';
  const shown = tricks.slice(0, SHOWN_TRICKS);
  return [
    ['reward hacks', `${tried}: ${verdict}`],
    ...shown.map(
      ({ task, moves, by, truth }): Fact => ['  trick', `${task}: ${moves.join(', then ')} (${by}; ${truth})`],
    ),
  ];
}

function judgeLines(judge: AuditResult['judge']): Fact[] {
  if (judge === null) return [];
  const { falsePositive, falseNegative, abstention, flip } = judge;
  return [
    ['judge', judge.refusal ?? 'found good enough: its rewards count'],
    ['  passed what failed', shareText(falsePositive)],
    ['  failed what was good', shareText(falseNegative)],
    ['  abstained', shareText(abstention)],
    ['  changed its mind', shareText(flip)],
    ['report', judge.report],
  ];
}

function shareText({ value, low, high, of }: Rate): string {
  const percent = (share: number | null) => `${Math.round(100 * (share ?? 0))} %`;
  return `${percent(value)} of ${formatCount(of)} (${percent(low)} to ${percent(high)})`;
}

function rateText({ value, low, high, of }: Rate): string {
  const percent = (share: number | null) => `${Math.round(100 * (share ?? 0))} %`;
  return `${percent(value)} of ${formatCount(of)} judged episodes (${percent(low)} to ${percent(high)})`;
}

function costText(cost: SynthEpisodesResult['cost'], spent: SynthEpisodesResult['spent']): string {
  const tokens = formatCount(cost.promptTokens + cost.completionTokens);
  const money = cost.money > 0 ? `, cost ${formatNumber(cost.money)}` : '';
  const now = spent.calls === cost.calls ? '' : ` (${formatCount(spent.calls)} asked in this run)`;
  return `${formatCount(cost.calls)}, ${tokens} tokens${money}${now}`;
}

function shadowLine({ shadow }: SynthEpisodesResult): Fact[] {
  if (shadow === null || shadow.transitionError.value === null) return [];
  const { value, low, high } = shadow.transitionError;
  const share = (part: number) => `${(100 * part).toFixed(1)} %`;
  const horizon = shadow.trustHorizon > 1e6 ? 'any number of' : formatCount(shadow.trustHorizon);
  return [
    [
      'wrong states',
      `${share(value)} of ${formatCount(shadow.steps)} compared calls (${share(low)} to ${share(high)}); ${horizon} steps can be trusted`,
    ],
  ];
}

function mustFailLine({ mustFail }: SynthEpisodesResult): Fact[] {
  if (mustFail === null) return [];
  const verdict = mustFail.passed ? 'passed' : 'FAILED: no episode was given a reward';
  return [['must-fail suite', `${Math.round(100 * mustFail.rate)} % of probes, ${verdict}`]];
}

/** Failures and what nobody judged are for preferences and rewards, and no examples. */
function imitatedText({ imitated, accepted }: SynthEpisodesResult): string {
  const text = `${formatCount(imitated)} of the accepted`;
  return imitated === 0 && accepted > 0
    ? `${text}: none was found good (quality.imitation=any writes all of them)`
    : text;
}

function mustSucceedLine({ mustSucceed }: SynthEpisodesResult): Fact[] {
  if (mustSucceed === null) return [];
  const verdict = mustSucceed.passed ? 'passed' : 'FAILED: no reward was given and no dataset written';
  const share = Math.round(100 * mustSucceed.rate);
  return [
    ['must-succeed', `${share} % of possible calls answered rightly, ${verdict}${reasons(mustSucceed.faults, '; ')}`],
  ];
}

const SHOWN_KINDS = 4;

/** The filters that cost most turns; the report has all. */
function removedLine({ removed }: SynthEpisodesResult): Fact[] {
  const most = [...removed].sort((a, b) => b.turns - a.turns).slice(0, SHOWN_KINDS);
  if (most.length === 0) return [];
  const told = most.map(({ filter, turns }) => `${formatCount(turns)} by ${filter}`);
  const rest = removed.length - most.length;
  return [['turns removed', `${told.join(', ')}${rest > 0 ? `, and ${rest} more` : ''}`]];
}

/** What the agent cannot do yet. */
function deficitLine({ deficits }: SynthEpisodesResult): Fact[] {
  const most = deficits.slice(0, SHOWN_KINDS).map(({ name, lost }) => `${formatCount(lost)} ${deficitText(name)}`);
  const rest = deficits.length - most.length;
  return most.length === 0 ? [] : [['cannot yet', `${most.join(', ')}${rest > 0 ? `, and ${rest} more` : ''}`]];
}

/** The kinds of failure, and what the first of each was. */
function failedLines({ failed, failedFor = {} }: Pick<RealEpisodesResult, 'failed' | 'failedFor'>): Fact[] {
  const why = Object.entries(failedFor).map(([code, message]): Fact => [`  ${code}`, message]);
  return [...counted('failed', failed), ...why];
}

function counted(label: string, counts: Readonly<Record<string, number>>, after = ''): Fact[] {
  const text = reasons(Object.fromEntries(Object.entries(counts).sort(([, a], [, b]) => b - a)), '');
  return text === '' ? [] : [[label, `${text}${after}`]];
}

function reasons(counts: Readonly<Record<string, number>>, before: string): string {
  const parts = Object.entries(counts).map(([reason, count]) => `${formatCount(count)} ${reason}`);
  return parts.length === 0 ? '' : `${before}${parts.join(', ')}`;
}

function counting(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}
