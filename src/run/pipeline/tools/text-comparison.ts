// What a dream was worth to an agent of text: success against real steps, beside the same agent in the exact rules. Runs are compared in
// pairs of the same seed, and the exact rules are given the benefit of the doubt: where evaluations lie apart, the later one counts.

import type { Block, Report, TableBlock } from '../../../core/report.js';
import { mean } from '../../../core/statistics.js';
import { wilson } from '../../../worldmodel/tools/shadow.js';
import { formatCount, formatDuration, formatNumber } from '../../format.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import { remarkOn, type TextArmSummary, type TextComparison, type TextTrainResult } from '../../tools-results.js';
import { provenanceBlock, reportProvenance } from '../../versions.js';
import type { ArmRun, TextArmReply } from '../arms.js';
import { answers, checked, dreams, percent, playable } from './text-train-report.js';

export const DREAM = 'dream of a few real episodes';
export const REAL_ONLY = 'real episodes alone';

type Run = ArmRun<TextArmReply>;

/** Both ways of training with the same seeds. */
export function compareText(runs: readonly Run[]): TextComparison {
  const of = (arm: string) => runs.filter((run) => run.arm === arm);
  const pairs = of(DREAM).map(({ seed, result }) =>
    pairOf(result, of(REAL_ONLY).find((run) => run.seed === seed)!.result),
  );
  return {
    arms: [DREAM, REAL_ONLY].map((arm) =>
      summaryOf(
        arm,
        of(arm).map(({ result }) => result),
      ),
    ),
    realForAsMany: pairs.map(({ forAsMany }) => forAsMany),
    stepsRatios: pairs.map(({ ratio }) => ratio),
  };
}

function pairOf(dream: TextTrainResult, real: TextTrainResult): { forAsMany: number | null; ratio: number | null } {
  const end = dream.evaluations.at(-1)!;
  const learned = real.evaluations.filter(({ after }) => after !== 'nothing');
  const asMany = learned.find(({ realSteps }) => realSteps >= end.realSteps);
  const asGood = learned.find(({ success }) => success.value! >= end.success.value!);
  return {
    forAsMany: asMany?.success.value ?? null,
    ratio: asGood === undefined ? null : asGood.realSteps / end.realSteps,
  };
}

function summaryOf(arm: string, results: readonly TextTrainResult[]): TextArmSummary {
  const ends = results.map(({ evaluations }) => evaluations.at(-1)!);
  const episodes = ends.reduce((sum, { success }) => sum + success.of, 0);
  const wins = ends.reduce((sum, { success }) => sum + Math.round(success.value! * success.of), 0);
  return {
    arm,
    success: { ...wilson(wins, episodes), of: episodes },
    bySeed: ends.map(({ success }) => success.value!),
    imitated: results.map(
      ({ evaluations }) => evaluations.find(({ after }) => after === 'cloning')?.success.value ?? null,
    ),
    realSteps: results.map(({ realSteps }) => realSteps),
    dreamtSteps: results.map(({ dreamtSteps }) => dreamtSteps),
    wallSeconds: mean(results.map(({ wallSeconds }) => wallSeconds)),
  };
}

export function textComparisonReport(
  context: JobContext<ToolsScenario>,
  found: TextComparison,
  runs: readonly Run[],
  panel: NonNullable<TextTrainResult['panel']>,
): Report {
  const { name } = context.scenario.config;
  const [dream, real] = found.arms;
  const dreamt = runs.filter(({ arm }) => arm === DREAM);
  const told = (of: (result: TextTrainResult) => readonly Block[]): Block[] =>
    dreamt.flatMap(({ seed, result }) => of(result).map((block) => withSeed(block, seed)));
  return {
    title: `An agent that learned in a dream: ${name}`,
    blocks: [
      { kind: 'paragraph', tone: 'lead', text: leadOf(found) },
      {
        kind: 'figures',
        items: [
          {
            value: percent(dream.success.value),
            label: `of unseen tasks won after the dream, ${steps(dream)} real steps`,
          },
          { value: percent(real.success.value), label: `after real episodes alone, ${steps(real)} real steps` },
          { value: formatCount(mean(dream.dreamtSteps)), label: 'simulated steps' },
        ],
      },
      summaryTable(found),
      ...playable(dreamt[0].result, context.out),
      {
        kind: 'curves',
        title: 'Success against real steps',
        caption:
          'Share of unseen tasks won, an episode each in the exact rules. Line: mean over seeds; band: least to most. The dream costs real steps once, for what it is made of.',
        ...{ xTitle: 'real steps', yTitle: 'success', yScale: 'share' },
        curves: runs.map(({ arm, seed, result }) => ({
          ...{ name: arm, seed },
          points: result.evaluations.map(({ realSteps: x, success }) => ({ x, y: success.value ?? 0 })),
        })),
      },
      ...told((result) => [...answers(result), ...dreams(result), ...checked(result)]),
      {
        kind: 'list',
        tone: 'note',
        items: [
          'Real steps are those of walkthroughs that were imitated, of records that the dream was made of, and of rounds in the exact rules; steps of evaluations and checks are not counted. Episodes begin where the tasks begin, in the dream, too: to know how a task begins takes no step.',
          remarkOn(dreamt[0].result.policy, 'The policy'),
          `${dream.bySeed.length === 1 ? 'One seed says' : `${dream.bySeed.length} seeds say`} little: intervals are those of episodes, not of training again.`,
        ],
      },
      provenanceBlock(reportProvenance(context, `reverie quickstart ${name} --seed ${context.seed}`, panel)),
    ],
  };
}

function withSeed(block: Block, seed: number): Block {
  if (block.kind === 'heading') return { ...block, text: `${block.text}, seed ${seed}` };
  return block.kind === 'bars' ? { ...block, title: `${block.title}, seed ${seed}` } : block;
}

function leadOf({ arms: [dream, real], realForAsMany, stepsRatios }: TextComparison): string {
  const known = realForAsMany.filter((value) => value !== null);
  const asMany = known.length === realForAsMany.length ? `${percent(mean(known))} for at least as many, and ` : '';
  const reached = stepsRatios.filter((value) => value !== null).map((value) => `${formatNumber(value)}×`);
  const missing = stepsRatios.length - reached.length;
  const needed =
    reached.length === 0 ? [] : [`for as many wins they took ${reached.join(', ')} the dream's real steps`];
  const never = missing === 0 ? [] : [`with ${missing} of ${stepsRatios.length} seeds they never won as many`];
  return `Of unseen tasks the policy that learned in the dream wins ${percent(dream.success.value)}, after ${steps(dream)} real steps. Real episodes alone lead to ${asMany}${percent(real.success.value)} in the end, after ${steps(real)}; ${[...needed, ...never].join(', and ')}.`;
}

function summaryTable({ arms }: TextComparison): TableBlock {
  return {
    kind: 'table',
    columns: ['', 'won', '95 %', 'by seed', 'after imitation', 'real steps', 'dreamt steps', 'wall time a run'],
    rows: arms.map(({ arm, success, bySeed, imitated, realSteps, dreamtSteps, wallSeconds }) => [
      arm,
      percent(success.value),
      `${percent(success.low)} to ${percent(success.high)}`,
      bySeed.map(percent).join(', '),
      imitated.map((value) => (value === null ? '–' : percent(value))).join(', '),
      formatCount(Math.round(mean(realSteps))),
      formatCount(Math.round(mean(dreamtSteps))),
      formatDuration(wallSeconds),
    ]),
    note: 'Won: unseen tasks at the end of training, all seeds together. Steps: means over seeds.',
  };
}

function steps({ realSteps }: TextArmSummary): string {
  return formatCount(Math.round(mean(realSteps)));
}
