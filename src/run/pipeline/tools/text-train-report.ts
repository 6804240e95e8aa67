// The report of `reverie train` in a world of text: success against real steps, who answered in the dream, and how far it may be trusted.

import { relative, sep } from 'node:path';
import type { BarsBlock, Block, CurvesBlock, Report } from '../../../core/report.js';
import { formatCount } from '../../format.js';
import type { JobContext } from '../../job.js';
import { readMetrics } from '../../metrics.js';
import { writeReport } from '../../report-page.js';
import type { ToolsScenario } from '../../scenario.js';
import { momentOf, valueText } from '../../tools-result-text.js';
import { type Rate, remarkOn, type TextTrainResult } from '../../tools-results.js';
import { provenanceBlock, reportProvenance } from '../../versions.js';

type Context = JobContext<ToolsScenario>;

export async function writeTextTrainReport(file: string, context: Context, result: TextTrainResult): Promise<void> {
  await writeReport(file, reportInput(context, result));
}

function reportInput(context: Context, result: TextTrainResult): Report {
  const { name } = context.scenario.config;
  const { evaluations, realSteps, dreamtSteps, mode, algorithm } = result;
  const last = evaluations.at(-1)!;
  return {
    title: `An agent of ${name}`,
    blocks: [
      { kind: 'paragraph', tone: 'lead', text: leadOf(result) },
      {
        kind: 'figures',
        items: [
          { value: percent(last.success.value), label: `of ${last.success.of} unseen tasks won` },
          { value: formatCount(realSteps), label: 'real steps' },
          mode === 'value'
            ? { value: formatCount(result.valuedChoices ?? 0), label: 'choices judged by a value model' }
            : { value: formatCount(dreamtSteps), label: 'simulated steps' },
        ],
      },
      {
        kind: 'table',
        columns: ['', 'success', '95 %', 'real steps', 'simulated steps', 'length'],
        rows: evaluations.map((evaluation) => {
          const { success, realSteps: real, dreamtSteps: dreamt, meanLength } = evaluation;
          const interval = `${percent(success.low)} to ${percent(success.high)}`;
          const steps = [formatCount(real), formatCount(dreamt), meanLength.toFixed(1)];
          return [momentOf(evaluation), percent(success.value), interval, ...steps];
        }),
        note: 'Real steps are those of walkthroughs that were imitated, of records that the dream was made of, and of rounds in the real environment. Those of evaluations are not counted.',
      },
      ...playable(result, context.out),
      successChart(context, result),
      ...roundCharts(context),
      ...answers(result),
      ...(mode === 'value' ? valued(result) : dreams(result)),
      ...checked(result),
      {
        kind: 'list',
        tone: 'note',
        items: [
          `Mode ${mode}; ${algorithm}; ${formatCount(result.rounds)} rounds; ${formatCount(result.parameters)} parameters.`,
          'One run with one seed: its intervals are those of the episodes of an evaluation, not of training again.',
        ],
      },
      provenanceBlock(reportProvenance(context, `reverie train ${name} --seed ${context.seed}`, result.panel)),
    ],
  };
}

function leadOf({ policy, alarms }: TextTrainResult): string {
  const warnings = alarms.map(({ round, problem }) => `Warning after ${formatCount(round)} rounds, ${problem}. `);
  return `${warnings.join('')}${remarkOn(policy)}`;
}

/** @param folder  of the report */
export function playable({ page }: Pick<TextTrainResult, 'page'>, folder: string): Block[] {
  if (page === undefined) return [];
  const file = relative(folder, page).split(sep).join('/');
  const about = `(${file}, beside this report): the last dream in some of these tasks, with what the real environment answers beside it. It needs no server.`;
  return [{ kind: 'link', file, title: 'Play the dream', about }];
}

function successChart({ seed }: Context, { evaluations, mode }: TextTrainResult): CurvesBlock {
  const points = evaluations.map(({ realSteps: x, success }) => ({ x, y: success.value ?? 0 }));
  return {
    kind: 'curves',
    title: 'Success against real steps',
    caption:
      'Share of unseen tasks won, an episode each in the real environment. What is learned in a dream costs no real steps.',
    ...{ xTitle: 'real steps', yTitle: 'success', yScale: 'share' },
    curves: [{ name: mode, seed, points }],
  };
}

/** Round by round: what was won of the tasks that are learned from, how many groups taught anything, and how decided the policy is. */
function roundCharts({ metrics, seed }: Context): CurvesBlock[] {
  const updates = readMetrics(metrics.file).filter(({ kind }) => kind === 'update') as unknown as RoundEvent[];
  if (updates.length < 2) return [];
  const curve = (name: string, of: (event: RoundEvent) => number) => {
    return { name, seed, points: updates.map((event) => ({ x: event.round, y: of(event) })) };
  };
  return [
    {
      kind: 'curves',
      title: 'What the rounds had to teach',
      caption:
        'Share of the episodes of a round that were won, on tasks that are learned from, and share of its groups in which one choice was better than another: the others teach nothing.',
      ...{ xTitle: 'round', yTitle: 'share', yScale: 'share' },
      curves: [
        ...(updates[0].episodes === undefined ? [] : [curve('episodes won', ({ wins, episodes }) => wins / episodes)]),
        curve('groups that taught', ({ groups, silentGroups }) => 1 - silentGroups / groups),
      ],
    },
    {
      kind: 'curves',
      title: 'Entropy of the policy',
      caption: 'Mean over the choices of a round, in nats; at 0 nothing else is tried any more.',
      ...{ xTitle: 'round', yTitle: 'entropy' },
      curves: [curve('entropy', ({ livedEntropy }) => livedEntropy)],
    },
  ];
}

/** Of an event `update`. */
interface RoundEvent {
  readonly round: number;
  /** Absent where nothing was lived. */
  readonly episodes: number;
  readonly wins: number;
  readonly groups: number;
  readonly silentGroups: number;
  readonly livedEntropy: number;
}

export function answers({ answeredBy, dreamtSteps }: TextTrainResult): BarsBlock[] {
  const bars = Object.entries(answeredBy)
    .sort(([, a], [, b]) => b - a)
    .map(([label, value]) => ({ label, bar: { value }, text: percent(value / dreamtSteps) }));
  const caption = 'Each dreamt step by the backend that answered it; nobody: it was refused, as none was sure enough.';
  return bars.length === 0 ? [] : [{ kind: 'bars', title: 'Who answered', caption, bars }];
}

export function dreams({ gathered }: TextTrainResult): Block[] {
  if (gathered.length === 0) return [];
  const rows = gathered.map(({ episodes, steps, wins, agent, heldOut, trustHorizon }) => [
    agent.split(',')[0],
    `${formatCount(episodes)} (${formatCount(wins)} won)`,
    formatCount(steps),
    heldOut === null ? 'not measured' : percent(heldOut.wrongStates / heldOut.steps),
    heldOut === null ? 'not measured' : percent(heldOut.wrongObservations / heldOut.steps),
    trustHorizon === null ? 'not measured' : horizonText(trustHorizon),
  ]);
  return [
    { kind: 'heading', text: 'What the dream was made of' },
    {
      kind: 'paragraph',
      text: `${gathered.at(-1)!.made.join('; ')}. Recorded steps that were held out are put to the dream in the state they were made in.`,
    },
    { kind: 'table', columns: ['lived by', 'episodes', 'steps', 'wrong states', 'wrong texts', 'trusted steps'], rows },
  ];
}

/** Of mode `value`: what the model was made of, and how it did on episodes that it was not made of. */
function valued({ gathered }: TextTrainResult): Block[] {
  const rows = gathered.flatMap(({ agent, episodes, wins, steps, values }) =>
    values === undefined
      ? []
      : [
          [
            agent.split(',')[0],
            `${formatCount(episodes)} (${formatCount(wins)} won)`,
            formatCount(steps),
            formatCount(values.heldOutSteps),
            values.error.toFixed(4),
            values.constantError.toFixed(4),
          ],
        ],
  );
  const [last] = gathered.flatMap(({ values }) => (values === undefined ? [] : [values])).slice(-1);
  if (last === undefined) return [];
  return [
    { kind: 'heading', text: 'What the value model was made of' },
    {
      kind: 'paragraph',
      text: `Held out: ${valueText(last)}. The policy learned from what it says alone; nothing was lived but what was gathered.`,
    },
    {
      kind: 'table',
      columns: ['lived by', 'episodes', 'steps', 'steps held out', 'squared error', 'of a constant'],
      rows,
    },
  ];
}

export function checked({ checks }: TextTrainResult): Block[] {
  if (checks.length === 0) return [];
  const rows = checks.map(({ round, steps, episodes, apart, dreamWins, confirmedWins, realWins }) => {
    const wrong = Object.values(apart).reduce((sum, count) => sum + count, 0);
    const wins = [dreamWins, confirmedWins, realWins].map(
      (count) => `${formatCount(count)} of ${formatCount(episodes)}`,
    );
    return [
      `${formatCount(round)} rounds`,
      formatCount(steps),
      percent(wrong / steps),
      ...Object.values(apart).map(formatCount),
      ...wins,
    ];
  });
  const words = Object.entries(checks.at(-1)!.wrong).sort(([, a], [, b]) => b - a);
  const said = words.map(([word, count]) => `${word} (${count})`).join(', ');
  const last = said === '' ? '' : ` What was said last where it went wrong, by its first word: ${said}.`;
  return [
    { kind: 'heading', text: 'The dream beside the real environment' },
    {
      kind: 'paragraph',
      text: `The policy of the moment lived each of these episodes twice, with the same draws, so that both are one until the dream goes wrong. Real wins are what it came to without the dream; of dreamt wins those are confirmed whose commands win in the real environment.${last} Nothing is learned from these episodes, and their real steps are not counted above.`,
    },
    {
      kind: 'table',
      columns: [
        'after',
        'steps until then',
        'went wrong',
        'unanswered',
        'state',
        'text',
        'commands',
        'end',
        'dreamt wins',
        'confirmed',
        'real wins',
      ],
      rows,
    },
  ];
}

function horizonText(steps: number): string {
  return steps > 1e6 ? 'any number' : formatCount(steps);
}

export function percent(share: Rate['value']): string {
  const value = 100 * (share ?? 0);
  return `${value.toFixed(value > 0 && value < 10 ? 1 : 0)} %`;
}
