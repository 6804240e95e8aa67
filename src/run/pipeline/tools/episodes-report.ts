// The report of a tools job: what was lived, what came of it, why rows were left out, and episodes to read.

import type { Panel } from '../../../core/evaluation-set.js';
import type { BarsBlock, Block, Report, TableBlock } from '../../../core/report.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import type { DatasetReport, FilterReport } from '../../../synth/quality/filter.js';
import { type Deficit, deficitText } from '../../../synth/signals/deficits.js';
import { faultsText } from '../../../worldmodel/must-fail/run-must-fail.js';
import { formatCount, formatNumber } from '../../format.js';
import type { JobContext } from '../../job.js';
import { writeReport } from '../../report-page.js';
import type { ToolsScenario } from '../../scenario.js';
import { provenanceBlock, reportProvenance } from '../../versions.js';
import { type EpisodeTranscript, episodeTranscript } from './episode-transcript.js';
import type { GateFindings, GateSummary } from './gates.js';
import type { RowStatistics } from './row-statistics.js';

export interface EpisodesReport {
  readonly context: JobContext<ToolsScenario>;
  readonly statistics: RowStatistics;
  readonly quality: DatasetReport;
  readonly rejected: Readonly<Record<string, number>>;
  readonly deficits: readonly Deficit[];
  readonly gates: GateFindings;
  readonly episodes: () => AsyncIterable<EpisodeRecord>;
  readonly panel: Panel;
}

/** Episodes shown in full: as many of each kind of outcome. */
const SHOWN_OF_EACH = 2;

export async function writeEpisodesReport(file: string, report: EpisodesReport): Promise<void> {
  await writeReport(file, await reportInput(report));
}

async function reportInput(report: EpisodesReport): Promise<Report> {
  const { context, statistics, quality } = report;
  const { name, description } = context.scenario.config;
  const { success } = statistics;
  const shown = [...trickTranscripts(report.gates), ...(await transcripts(report))];
  return {
    title: `Episodes of ${name}`,
    blocks: [
      { kind: 'paragraph', tone: 'lead', text: leadOf(description, report.gates) },
      {
        kind: 'figures',
        items: [
          { value: formatCount(statistics.episodes), label: 'episodes' },
          { value: formatCount(quality.out), label: 'in the datasets' },
          { value: success === null ? '–' : percent(success.value ?? 0), label: 'of judged episodes succeeded' },
        ],
      },
      summary(report),
      ...bars(report),
      ...deficitBlocks(report.deficits),
      ...filterBlocks(quality),
      ...(shown.length === 0 ? [] : [{ kind: 'heading', text: 'Episodes' } as const]),
      ...shown.map(({ title, lines }): Block => ({ kind: 'details', title, blocks: [{ kind: 'transcript', lines }] })),
      { kind: 'list', tone: 'note', items: notes(report) },
      provenanceBlock(reportProvenance(context, `reverie synth ${name} --seed ${context.seed}`, report.panel)),
    ],
  };
}

const LOST_TASKS = 4;

/** What the agent cannot do yet; nothing where nothing was lost that can be named. */
function deficitBlocks(deficits: readonly Deficit[]): Block[] {
  if (deficits.length === 0) return [];
  return [
    { kind: 'heading', text: 'What the agent cannot do yet' },
    {
      kind: 'paragraph',
      text: 'What was done in the step that lost an episode, held against what the task’s solution would have done there.',
    },
    {
      kind: 'table',
      columns: ['the agent', 'episodes lost', 'tasks that it lost'],
      rows: deficits.map(({ name, lost, tasks }) => {
        const more = tasks.length > LOST_TASKS ? ` and ${formatCount(tasks.length - LOST_TASKS)} more` : '';
        const where = `${tasks.slice(0, LOST_TASKS).join(', ')}${more}`;
        return [deficitText(name), formatCount(lost), where];
      }),
    },
  ];
}

function filterBlocks({ filters }: DatasetReport): Block[] {
  const change = (before: number, after: number) =>
    before === after ? formatCount(after) : `${formatCount(before)} → ${formatCount(after)}`;
  const reasons = (filter: FilterReport) =>
    Object.entries({ ...filter.repaired, ...filter.dropped }).map(
      ([reason, count]) => `${formatCount(count)} ${reason}`,
    );
  return [
    { kind: 'heading', text: 'What each filter removed' },
    {
      kind: 'paragraph',
      text: 'Episodes, and turns of the agent that are to be learnt, before and after each filter. A turn that is masked stays in its conversation and is not learnt.',
    },
    {
      kind: 'table',
      columns: ['filter', 'episodes', 'turns to be learnt', 'repaired or dropped'],
      rows: filters.map((each) => [
        each.name,
        change(each.in, each.out),
        change(each.turnsIn, each.turnsOut),
        reasons(each).join(', ') || '–',
      ]),
    },
  ];
}

/** A gate that is shut is the first thing to know. */
function leadOf(description: string, { unrewarded, unwritten }: GateFindings): string {
  if (unwritten !== undefined) return `No episode was given a reward and no dataset was written. ${unwritten}`;
  return unrewarded === undefined ? description : `No episode was given a reward. ${unrewarded}`;
}

function gateRow(label: string, gate: GateSummary | undefined): string[][] {
  if (gate === undefined) return [];
  const faults = faultsText(gate.faults);
  const verdict = gate.passed ? 'open' : 'shut';
  return [[label, percent(gate.rate), [verdict, ...(faults === '' ? [] : [faults])].join('; ')]];
}

function hackerRow(report: GateFindings['tricks']): string[][] {
  if (report === undefined) return [];
  const { tricks, tasks, plays } = report;
  const tried = `${formatCount(plays)} plays in ${formatCount(tasks.length)} tasks`;
  return [
    ['Rewards had for nothing', formatCount(tricks.length), `${tricks.length === 0 ? 'open' : 'shut'}; ${tried}`],
  ];
}

function summary({ statistics, quality, gates }: EpisodesReport): TableBlock {
  const { cost, steps, abstained, episodes, success } = statistics;
  const { diversity, splits } = quality;
  const rows: string[][] = [
    ['Turns of the agent', formatCount(steps), `${formatNumber(steps / Math.max(1, episodes))} an episode`],
    ['Success', success === null ? 'not judged' : percent(success.value ?? 0), interval(success)],
    [
      'To be imitated',
      formatCount(quality.imitated),
      `of ${formatCount(quality.out)} accepted; the others carry their reward`,
    ],
    ...gateRow('Probes that must fail', gates.mustFail),
    ...gateRow('Probes that must succeed', gates.mustSucceed),
    ...hackerRow(gates.tricks),
    ['Not judged', formatCount(abstained), 'kept without a reward, never as 0'],
    [
      'Calls of language models',
      formatCount(cost.calls),
      `${formatCount(cost.promptTokens + cost.completionTokens)} tokens`,
    ],
    ...(cost.money > 0
      ? [
          [
            'Cost',
            formatNumber(cost.money),
            `${formatNumber(cost.money / Math.max(1, quality.out))} an accepted episode`,
          ],
        ]
      : []),
    [
      'Splits',
      Object.entries(splits)
        .map(([split, count]) => `${formatCount(count)} ${split}`)
        .join(', '),
      'by family of the task',
    ],
    ['Different 3-grams', percent(diversity.distinct3), 'of all 3-grams of words (distinct-3)'],
    [
      'Tools called',
      `${diversity.tools.called} of ${diversity.tools.of}`,
      diversity.tools.unused.length === 0 ? 'all of them' : `never: ${diversity.tools.unused.slice(0, 4).join(', ')}`,
    ],
    ['Different states reached', formatCount(diversity.states), ''],
  ];
  return { kind: 'table', columns: ['', 'value', ''], rows };
}

function bars({ statistics, quality, rejected }: EpisodesReport): BarsBlock[] {
  const filters = quality.filters.filter(
    (filter) => filter.in !== filter.out || Object.keys(filter.repaired).length > 0,
  );
  const all = [
    counts('Who answered the calls', 'Each call by the backend that answered it.', statistics.answeredBy),
    counts('Answers that were refused', 'The agent was shown an error of the environment.', statistics.refusedOf),
    counts('Answers that were repaired', 'They stand after they were sent back once.', statistics.repairedOf),
    counts(
      'What lost an episode',
      'The last step of a failed episode before which its task’s solution would still have succeeded.',
      statistics.lostBy,
    ),
    counts('Why episodes were left out', 'The first filter that refused each.', rejected),
    counts(
      'What was repaired',
      'Episodes changed by a filter and kept.',
      Object.assign({}, ...filters.map(({ repaired }) => repaired)),
    ),
    tasks(statistics),
  ];
  return all.filter(({ bars }) => bars.length > 0);
}

function counts(title: string, caption: string, of: Readonly<Record<string, number>>): BarsBlock {
  const entries = Object.entries(of).sort(([, a], [, b]) => b - a);
  return {
    ...{ kind: 'bars', title, caption },
    bars: entries.map(([label, value]) => ({ label, text: formatCount(value), bar: { value } })),
  };
}

const SHOWN_TASKS = 16;

/** Hardest first: where a curriculum would look. */
function tasks({ returnsByTask }: RowStatistics): BarsBlock {
  const rates = [...returnsByTask].map(([label, returns]) => {
    const value = returns.reduce((a, b) => a + b, 0) / returns.length;
    return { label, value, text: `${percent(value)} of ${returns.length}` };
  });
  const shown = rates.sort((a, b) => a.value - b.value || (a.label < b.label ? -1 : 1)).slice(0, SHOWN_TASKS);
  const caption = `Mean reward of each task's judged episodes${rates.length > SHOWN_TASKS ? `; the ${SHOWN_TASKS} hardest` : ''}.`;
  return {
    ...{ kind: 'bars', title: 'Tasks', caption },
    bars: shown.map(({ label, value, text }) => ({ label, text, bar: { value } })),
  };
}

/** How reward was had for nothing. */
function trickTranscripts({ tricks }: GateFindings): EpisodeTranscript[] {
  return (tricks?.tricks ?? []).map(({ task, by, moves, truth, episode }) => {
    const { lines } = episodeTranscript(episode, 'trick');
    const found = { role: 'verdict', text: `exact checks: ${truth}`, note: 'earned nothing' } as const;
    return {
      title: `Reward for nothing · ${task} · the ${by} was taken in by: ${moves.join(', then ')}`,
      lines: [...lines, found],
    };
  });
}

/** The first few episodes that succeeded, that failed, and that nobody could judge. */
async function transcripts({ episodes }: EpisodesReport): Promise<EpisodeTranscript[]> {
  const shown = new Map<string, EpisodeTranscript[]>();
  for await (const record of episodes()) {
    const outcome = record.return === null ? 'not judged' : record.return > 0.5 ? 'succeeded' : 'failed';
    const list = shown.get(outcome) ?? [];
    if (list.length < SHOWN_OF_EACH) shown.set(outcome, [...list, episodeTranscript(record, outcome)]);
  }
  return [...shown.values()].flat();
}

function notes({ statistics, context }: EpisodesReport): string[] {
  const { agent, user, model } = context.scenario.config;
  const failed = Object.entries(statistics.failed).map(
    ([code, count]) => `${count} rows failed with ${code}; the first: ${statistics.failedFor[code]}`,
  );
  return [
    `Agent: ${agent.kind}; user: ${user.kind}; calls answered by, in order: ${model.backends.join(', ')}.`,
    'Rewards come from exact checks of state, calls and what was said; where a judge decided, the episode says so.',
    ...failed,
  ];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
}

function interval(rate: RowStatistics['success']): string {
  return rate === null ? '' : `${percent(rate.low)} to ${percent(rate.high)} (95 %), ${rate.of} judged`;
}
