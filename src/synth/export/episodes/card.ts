// The dataset card (README.md): front matter that Hugging Face's `datasets` loads by, and what a reader must know before
// training on it: how it was made, what was filtered, who decided the rewards, and what it is biased to.

import { stringify } from 'yaml';
import type { JsonObject } from '../../../core/canonical-json.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import type { DatasetReport, FilterReport } from '../../quality/filter.js';
import { DistinctCounter, hash53 } from '../../quality/text-hash.js';
import { hasSpecialTokens } from './chat-formats.js';
import { type DataFiles, type EpisodeFormat, type FormatTable, ONLY_TABLE, type Split } from './format.js';

export interface CardOptions {
  /** Title. */
  readonly name: string;
  /** SPDX id of the data's licence, in lower case as Hugging Face has it; `unknown` where nobody said. */
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
    options.quality ? ['## Diversity', diversity(options.quality)] : [],
    ['## Format', ...formatNotes(input)],
    ['## Known bias', bias(statistics)],
  ];
  const text = sections.flat().filter((part) => part !== undefined && part !== '');
  return `---\n${stringify(frontMatter(input))}---\n\n${text.join('\n\n')}\n`;
}

/** Folder of a table's data. */
export function folderOf(table: string): string {
  return table === ONLY_TABLE ? 'data' : `data/${table}`;
}

export function extensionOf(table: FormatTable): 'parquet' | 'jsonl' {
  return table.columns ? 'parquet' : 'jsonl';
}

function frontMatter({ options, files, rows, format: { format }, statistics }: CardInput): JsonObject {
  const tags = statistics.isSynthetic ? ['synthetic', 'world-model'] : [];
  const features = [...files.keys()].flatMap((config_name) => {
    const { features } = format.tables[config_name];
    return features ? [{ config_name, features }] : [];
  });
  return {
    license: options.license,
    language: ['en'],
    task_categories: ['reinforcement-learning', 'text-generation'],
    tags: [...tags, 'agent', 'tool-use', 'trajectories', 'reverie'],
    size_categories: [sizeCategory(Object.values(rows).reduce((sum, count) => sum + count, 0))],
    configs: [...files].map(([table, splits], index) => configOf(format, table, [...splits.keys()], index === 0)),
    ...(features.length > 0 && { dataset_info: features }),
  };
}

function configOf({ tables }: EpisodeFormat, table: string, splits: readonly Split[], isDefault: boolean): JsonObject {
  const folder = folderOf(table);
  const files = tables[table].splitFolders ? '/*' : '-*';
  const data_files = splits.map((split) => ({
    split,
    path: `${folder}/${split}${files}.${extensionOf(tables[table])}`,
  }));
  return { config_name: table, data_files, ...(isDefault && table !== ONLY_TABLE && { default: true }) };
}

const SIZES = ['1K', '10K', '100K', '1M', '10M', '100M', '1B'];

function sizeCategory(rows: number): string {
  const at = SIZES.findIndex((_, index) => rows < 10 ** (index + 3));
  if (at === 0) return 'n<1K';
  return at < 0 ? 'n>1B' : `${SIZES[at - 1]}<n<${SIZES[at]}`;
}

function summary({ domain, statistics, rows, format, files }: CardInput): string {
  const shards = [...files.values()].flatMap((splits) => [...splits.values()].flat()).length;
  const tables = Object.entries(rows).map(
    ([table, count]) => `${count} rows${table === ONLY_TABLE ? '' : ` of \`${table}\``}`,
  );
  const splits = Object.entries(statistics.bySplit).map(([split, count]) => `${count} ${split}`);
  return [
    `${tables.join(', ') || 'No rows'} from ${statistics.episodes} episodes (${splits.join(', ')}), format \`${format.name}\`, ${shards} files.`,
    `Domain \`${domain.id}\`, version \`${domain.version}\`.`,
    `${percent(statistics.synthetic, statistics.episodes)} of the episodes are synthetic.`,
    `${statistics.tasks.count} tasks in ${statistics.families.count} families; splits go by family.`,
  ].join('\n');
}

function origin({ options, statistics }: CardInput): string[] {
  const { seeds, tokens, money, tallies } = statistics;
  return [
    ...ORIGINS.flatMap(([head, unit, name]) => {
      const entries = tallies[name].entries();
      return entries.length > 0 || name !== 'refusals' ? [table([head, unit], entries)] : [];
    }),
    statistics.episodes > 0 ? `Seeds ${seeds.least} to ${seeds.most}. ${tokens} tokens, cost ${rounded(money)}.` : '',
    options.generation ? `\`\`\`yaml\n${stringify(options.generation)}\`\`\`` : '',
  ];
}

function rewards({ tallies, rewards: { judged, sum }, episodes }: EpisodeStatistics): string[] {
  const mean = judged > 0 ? ` Their mean reward is ${rounded(sum / judged)}.` : '';
  return [
    `${judged} of ${episodes} episodes were judged.${mean} An episode that could not be judged has no reward (null), never 0.`,
    table(['decided by', 'episodes'], tallies.deciders.entries()),
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

function diversity({ diversity }: DatasetReport): string {
  const { distinct, overlap, toolEntropy, tools, entities, states } = diversity;
  const unused = tools.unused.length > 0 ? ` (never called: ${tools.unused.join(', ')})` : '';
  return table(
    ['measure', 'value'],
    [
      ['distinct-1, -2, -3', distinct.map(rounded).join(', ')],
      ['3-gram overlap: mean, nearest', `${rounded(overlap.mean)}, ${rounded(overlap.nearest)}`],
      ['entropy of 1, 2, 3 calls (bits)', toolEntropy.map(rounded).join(', ')],
      ['tools called', `${tools.called} of ${tools.of}${unused}`],
      ['parts of the state changed', entities],
      ['different states', states],
    ],
  );
}

function formatNotes({ adapted, statistics, format }: CardInput): string[] {
  const lines = Object.entries(adapted);
  const masked = `${statistics.maskedTurns} of ${statistics.turns} turns of the agent are marked as not to be learnt from.`;
  const tokens = `${statistics.specialTokens} episodes hold text that looks like special tokens of chat templates.`;
  const changed = lines.length > 0 ? table(['changed to fit the format', 'episodes'], lines) : '';
  return [`${masked} ${tokens}`, changed, format.format.use ?? ''];
}

function bias({ isSynthetic }: EpisodeStatistics): string {
  if (!isSynthetic) return 'None is known.';
  return [
    '* Answers of a simulated environment are plausible before they are right: simulators err towards letting things succeed.',
    '* Simulated users are more patient, clearer and more alike than people.',
  ].join('\n');
}

function percent(part: number, of: number): string {
  return of === 0 ? '0 %' : `${rounded((100 * part) / of)} %`;
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

/** Versions of models and policies kept by name; a dataset made by more is counted, not listed. */
const MAX_NAMES = 40;

/** Names to counts, the most frequent first; beyond a limit names are no longer told apart. */
class Tally {
  private readonly counts = new Map<string, number>();

  add(name: string): void {
    const known = this.counts.has(name) || this.counts.size < MAX_NAMES ? name : 'others';
    this.counts.set(known, (this.counts.get(known) ?? 0) + 1);
  }

  entries(): [name: string, count: number][] {
    return [...this.counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  }
}

const ORIGINS = [
  ['scenario (hash)', 'episodes', 'scenarios'],
  ['who answered the calls', 'calls', 'backends'],
  ['model', 'calls', 'models'],
  ['answers that did not stand at once', 'calls', 'refusals'],
  ['environment', 'episodes', 'responders'],
  ['agent', 'episodes', 'policies'],
  ['user', 'episodes', 'users'],
] as const;

/** What a card says of the episodes themselves, counted as they are written. */
export class EpisodeStatistics {
  episodes = 0;
  synthetic = 0;
  readonly bySplit: Record<Split, number> = { train: 0, validation: 0, test: 0 };
  readonly tallies = {
    scenarios: new Tally(),
    backends: new Tally(),
    models: new Tally(),
    /** Answers that were refused (the agent was shown an error) or repaired, by who gave them. */
    refusals: new Tally(),
    responders: new Tally(),
    policies: new Tally(),
    users: new Tally(),
    /** Who decided the reward. */
    deciders: new Tally(),
  };
  readonly rewards = { judged: 0, sum: 0 };
  readonly tasks = new DistinctCounter();
  readonly families = new DistinctCounter();
  readonly seeds = { least: Number.POSITIVE_INFINITY, most: Number.NEGATIVE_INFINITY };
  maskedTurns = 0;
  specialTokens = 0;
  turns = 0;
  tokens = 0;
  money = 0;

  get isSynthetic(): boolean {
    return this.synthetic > 0;
  }

  add(record: EpisodeRecord): void {
    const { tallies, seeds, rewards } = this;
    const { verdict, cost } = record;
    this.episodes++;
    this.synthetic += Number(record.source === 'synthetic');
    this.bySplit[record.split]++;
    tallies.scenarios.add(`${record.scenario} (${record.scenarioHash})`);
    tallies.policies.add(record.policyVersion);
    tallies.users.add(record.userVersion);
    tallies.responders.add(record.responderVersion);
    for (const { backend, modelVersion, refused, repaired } of record.steps.flatMap((step) => step.predictions)) {
      tallies.backends.add(backend);
      tallies.models.add(modelVersion);
      if (refused !== undefined && refused.length > 0) tallies.refusals.add(`${backend}: refused`);
      if (repaired) tallies.refusals.add(`${backend}: repaired`);
    }
    if (verdict.reward === null) tallies.deciders.add('nobody: not judged (reward is null)');
    else {
      rewards.judged++;
      rewards.sum += verdict.reward;
      tallies.deciders.add(
        verdict.judge === undefined ? 'exact checks alone' : `exact checks and judge ${verdict.judge}`,
      );
    }
    this.tasks.add(hash53(record.task));
    this.families.add(hash53(record.family));
    seeds.least = Math.min(seeds.least, record.seed);
    seeds.most = Math.max(seeds.most, record.seed);
    this.turns += record.messages.filter(({ role }) => role === 'assistant').length;
    this.maskedTurns += record.masked?.length ?? 0;
    this.specialTokens += Number(record.messages.some(hasSpecialTokens));
    this.tokens += cost.promptTokens + cost.completionTokens;
    this.money += cost.money;
  }
}
