// The dataset card (README.md): front matter that Hugging Face's `datasets` loads by, and what a reader must know before
// training on it: how it was made, what was filtered, what decided the rewards, and what it is biased to.

import { stringify } from 'yaml';
import type { JsonObject } from '../../../core/canonical-json.js';
import { outcomeText } from '../../../env/tools/outcome.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import type { DatasetReport, FilterReport } from '../../quality/filter.js';
import { type DataFiles, type EpisodeFormat, ONLY_TABLE, type Split } from './format.js';

export interface CardOptions {
  /** Title. */
  readonly name: string;
  /** SPDX id of the data's licence, in lower case as Hugging Face has it; `unknown` where none was said. */
  readonly license: string;
  readonly description?: string;
  /** Parameters it was made with, as they stand in the scenario. */
  readonly generation?: JsonObject;
  /** What the filters did. */
  readonly quality?: DatasetReport;
}

interface CardInput {
  readonly format: { readonly name: string; readonly format: EpisodeFormat };
  readonly domain: { readonly id: string; readonly version: string };
  readonly options: CardOptions;
  readonly statistics: EpisodeStatistics;
  readonly files: DataFiles;
  /** Rows by table. */
  readonly rows: Readonly<Record<string, number>>;
  /** What was changed to fit the format, to episodes. */
  readonly adapted: Readonly<Record<string, number>>;
}

export function cardText(input: CardInput): string {
  const { options, statistics } = input;
  const sections = [
    [`# ${plain(options.name)}`, options.description, summary(input)],
    ['## How it was made', ...origin(input)],
    ['## Rewards', ...rewards(statistics)],
    ['## Filters', ...filters(options.quality)],
    ['## Format', ...formatNotes(input)],
  ];
  const text = sections.flat().filter((part) => part !== undefined && part !== '');
  return `---\n${stringify(frontMatter(input))}---\n\n${text.join('\n\n')}\n`;
}

function frontMatter({ options, files, format: { format }, statistics }: CardInput): JsonObject {
  const tags = statistics.synthetic > 0 ? ['synthetic', 'world-model'] : [];
  const features = [...files.keys()].flatMap((config_name) => {
    const { features } = format.tables[config_name];
    return features ? [{ config_name, features }] : [];
  });
  return {
    license: options.license,
    language: ['en'],
    task_categories: ['reinforcement-learning', 'text-generation'],
    tags: [...tags, 'agent', 'tool-use', 'trajectories', 'reverie'],
    configs: [...files].map(([table, splits], index) => ({
      config_name: table,
      data_files: [...splits].map(([split, path]) => ({ split, path })),
      ...(index === 0 && table !== ONLY_TABLE && { default: true }),
    })),
    ...(features.length > 0 && { dataset_info: features }),
  };
}

function summary({ domain, statistics, rows, format }: CardInput): string {
  const { episodes, synthetic, tasks, families } = statistics;
  const tables = Object.entries(rows).map(
    ([table, count]) => `${count} rows${table === ONLY_TABLE ? '' : ` of \`${table}\``}`,
  );
  const splits = Object.entries(statistics.bySplit).map(([split, count]) => `${count} ${split}`);
  const share = episodes === 0 ? 0 : rounded((100 * synthetic) / episodes);
  return [
    `${tables.join(', ') || 'No rows'} from ${episodes} episodes (${splits.join(', ')}), format \`${format.name}\`.`,
    `Domain \`${domain.id}\`, version \`${domain.version}\`.`,
    `${share} % of the episodes are synthetic${synthetic > 0 ? ': simulators err towards letting things succeed' : ''}.`,
    `${tasks.size} tasks in ${families.size} families; splits go by family.`,
  ].join('\n');
}

function origin({ options, statistics: { answers } }: CardInput): string[] {
  return [
    answers.size > 0 ? table(['who answered the calls', 'model', 'calls'], counted(answers)) : '',
    options.generation ? `\`\`\`yaml\n${stringify(options.generation)}\`\`\`` : '',
  ];
}

function rewards({ deciders, rewards: { judged, sum }, episodes }: EpisodeStatistics): string[] {
  const mean = judged > 0 ? ` Their mean reward is ${rounded(sum / judged)}.` : '';
  return [
    `${judged} of ${episodes} episodes were judged.${mean} An episode that could not be judged has no reward (null), never 0.`,
    table(['decided by', 'episodes'], counted(deciders)),
  ];
}

function filters(report: DatasetReport | undefined): string[] {
  if (!report) return ['None were applied.'];
  const head = ['filter', 'episodes before', 'after', 'turns before', 'after', 'repaired or dropped'];
  const reasons = ({ repaired, dropped }: FilterReport) =>
    Object.entries({ ...repaired, ...dropped }).map(([reason, count]) => `${count} ${reason}`);
  return [
    `${report.in} episodes in, ${report.out} out, ${report.imitated} of these to be imitated. Turns are those of the agent that are to be learnt.`,
    table(
      head,
      report.filters.map((one) => [one.name, one.in, one.out, one.turnsIn, one.turnsOut, reasons(one).join('; ')]),
    ),
  ];
}

function formatNotes({ adapted, statistics }: CardInput): string[] {
  const lines = Object.entries(adapted);
  const masked = `${statistics.maskedTurns} of ${statistics.turns} turns of the agent are marked as not to be learnt from.`;
  const changed = lines.length > 0 ? table(['changed to fit the format', 'episodes'], lines) : '';
  return [masked, changed];
}

function rounded(value: number): string {
  return String(Number(value.toPrecision(4)));
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.map((cell) => plain(String(cell))).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Names come from data: no line break, cell or markup of theirs may change the page. */
function plain(text: string): string {
  return text.replace(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

/** Cells of names, joined by a line break, to how often they were counted. */
type Tally = Map<string, number>;

function count(tally: Tally, ...cells: string[]): void {
  const key = cells.join('\n');
  tally.set(key, (tally.get(key) ?? 0) + 1);
}

/** The most frequent first. */
function counted(tally: Tally): (string | number)[][] {
  const sorted = [...tally].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  return sorted.map(([key, number]) => [...key.split('\n'), number]);
}

/** What a card says of the episodes themselves, counted as they are written. */
export class EpisodeStatistics {
  episodes = 0;
  synthetic = 0;
  readonly bySplit: Record<Split, number> = { train: 0, validation: 0, test: 0 };
  /** Calls by what answered them, and by which version of it. */
  readonly answers: Tally = new Map();
  /** Episodes by what decided the reward. */
  readonly deciders: Tally = new Map();
  readonly rewards = { judged: 0, sum: 0 };
  readonly tasks = new Set<string>();
  readonly families = new Set<string>();
  maskedTurns = 0;
  turns = 0;

  add(record: EpisodeRecord): void {
    const { verdict, messages } = record;
    this.episodes++;
    this.synthetic += Number(record.source === 'synthetic');
    this.bySplit[record.split]++;
    for (const { backend, modelVersion } of record.steps.flatMap((step) => step.predictions))
      count(this.answers, backend, modelVersion);
    if (verdict.reward === null) count(this.deciders, `${outcomeText(record.outcome, null)} (reward is null)`);
    else {
      this.rewards.judged++;
      this.rewards.sum += verdict.reward;
      count(
        this.deciders,
        verdict.judge === undefined ? 'exact checks alone' : `exact checks and judge ${verdict.judge}`,
      );
    }
    this.tasks.add(record.task);
    this.families.add(record.family);
    this.turns += messages.filter(({ role }) => role === 'assistant').length;
    this.maskedTurns += record.masked?.length ?? 0;
  }
}
