// The dataset card (README.md): front matter that Hugging Face's `datasets` loads by, and what a reader must know before
// training on it: how it was made, what was filtered, who decided the rewards, and what it is biased to.

import { stringify } from 'yaml';
import type { JsonObject } from '../../../core/canonical-json.js';
import type { DatasetReport, FilterReport } from '../../quality/filter.js';
import type { DataFiles, EpisodeFormat, Split } from './format.js';
import { plainMarkdown as plain, markdownTable as table } from './markdown-table.js';
import { extensionOf, folderOf } from './shards.js';
import type { EpisodeStatistics } from './statistics.js';

export interface CardOptions {
  /** Title. */
  readonly name: string;
  /** SPDX id of the data's licence, in lower case as Hugging Face has it; `unknown` where nobody said. */
  readonly license: string;
  /** ISO 639-1; default `en`. */
  readonly languages?: readonly string[];
  readonly tags?: readonly string[];
  readonly description?: string;
  /** Parameters it was made with, as they stand in the scenario. */
  readonly generation?: JsonObject;
  /** Name of a prompt to the hash of its text. */
  readonly prompts?: Readonly<Record<string, string>>;
  readonly knownBias?: readonly string[];
  /** What the filters did. */
  readonly quality?: DatasetReport;
}

export interface CardInput {
  readonly format: { readonly name: string; readonly format: EpisodeFormat };
  readonly domain: { readonly id: string; readonly version: string };
  readonly options: CardOptions;
  readonly statistics: EpisodeStatistics;
  readonly files: DataFiles;
  /** Rows by table. */
  readonly rows: Readonly<Record<string, number>>;
  readonly adapted: Readonly<Record<string, number>>;
}

export function cardText(input: CardInput): string {
  const sections = [
    `# ${plain(input.options.name)}`,
    input.options.description ?? '',
    summary(input),
    origin(input),
    rewards(input.statistics),
    filters(input.options.quality),
    diversity(input.options.quality),
    formatNotes(input),
    bias(input),
  ];
  return `---\n${stringify(frontMatter(input))}---\n\n${sections.filter((text) => text !== '').join('\n\n')}\n`;
}

function frontMatter({ options, files, rows, format: { format }, statistics }: CardInput): JsonObject {
  const isSynthetic = statistics.sources.entries().some(([source]) => source === 'synthetic');
  const tags = [...(isSynthetic ? ['synthetic', 'world-model'] : []), 'agent', 'tool-use', 'trajectories', 'reverie'];
  const features = [...files.keys()].flatMap((table) => featuresOf(format, table));
  return {
    license: options.license,
    language: [...(options.languages ?? ['en'])],
    task_categories: ['reinforcement-learning', 'text-generation'],
    tags: [...new Set([...tags, ...(options.tags ?? [])])],
    size_categories: [sizeCategory(Object.values(rows).reduce((sum, count) => sum + count, 0))],
    configs: [...files].map(([table, splits], index) => configOf(format, table, [...splits.keys()], index === 0)),
    ...(features.length > 0 && { dataset_info: features }),
  };
}

function configOf({ tables }: EpisodeFormat, table: string, splits: readonly Split[], isDefault: boolean): JsonObject {
  const { splitFolders } = tables[table];
  const [folder, extension] = [folderOf(table), extensionOf(tables[table])];
  const pathOf = (split: Split) =>
    splitFolders ? `${folder}/${split}/*.${extension}` : `${folder}/${split}-*.${extension}`;
  const data_files = splits.map((split) => ({ split, path: pathOf(split) }));
  return { config_name: table, data_files, ...(isDefault && table !== 'default' && { default: true }) };
}

function featuresOf({ tables }: EpisodeFormat, table: string): JsonObject[] {
  const { features } = tables[table];
  return features ? [{ config_name: table, features }] : [];
}

const SIZES = ['1K', '10K', '100K', '1M', '10M', '100M', '1B'];

function sizeCategory(rows: number): string {
  const at = SIZES.findIndex((_, index) => rows < 10 ** (index + 3));
  if (at === 0) return 'n<1K';
  return at < 0 ? 'n>1B' : `${SIZES[at - 1]}<n<${SIZES[at]}`;
}

function summary({ domain, statistics, rows, format, files }: CardInput): string {
  const synthetic = statistics.sources.entries().find(([source]) => source === 'synthetic')?.[1] ?? 0;
  const shards = [...files.values()].flatMap((splits) => [...splits.values()].flat()).length;
  const tables = Object.entries(rows).map(
    ([table, count]) => `${count} rows${table === 'default' ? '' : ` of \`${table}\``}`,
  );
  const splits = Object.entries(statistics.bySplit).map(([split, count]) => `${count} ${split}`);
  return [
    `${tables.join(', ') || 'No rows'} from ${statistics.episodes} episodes (${splits.join(', ')}), format \`${format.name}\`, ${shards} files.`,
    `Domain \`${domain.id}\`, version \`${domain.version}\`.`,
    `${percent(synthetic, statistics.episodes)} of the episodes are synthetic.`,
    `${statistics.tasks.count} tasks in ${statistics.families.count} families; splits go by family.`,
  ].join('\n');
}

function origin({ options, statistics }: CardInput): string {
  const { seeds, tokens, money } = statistics;
  const refusals = statistics.refusals.entries();
  const prompts = Object.entries(options.prompts ?? {}).map(([name, hash]): [string, string] => [name, `\`${hash}\``]);
  return [
    '## How it was made',
    table(['scenario (hash)', 'episodes'], statistics.scenarios.entries()),
    table(['who answered the calls', 'calls'], statistics.backends.entries()),
    table(['model', 'calls'], statistics.models.entries()),
    refusals.length > 0 ? table(['answers that did not stand at once', 'calls'], refusals) : '',
    table(['environment', 'episodes'], statistics.responders.entries()),
    table(['agent', 'episodes'], statistics.policies.entries()),
    table(['user', 'episodes'], statistics.users.entries()),
    prompts.length > 0 ? table(['prompt', 'hash'], prompts) : '',
    statistics.episodes > 0 ? `Seeds ${seeds.least} to ${seeds.most}. ${tokens} tokens, cost ${rounded(money)}.` : '',
    options.generation ? `\`\`\`yaml\n${stringify(options.generation)}\`\`\`` : '',
  ]
    .filter((text) => text !== '')
    .join('\n\n');
}

function rewards({ deciders, rewards: { judged, sum }, episodes }: EpisodeStatistics): string {
  const mean = judged > 0 ? ` Their mean reward is ${rounded(sum / judged)}.` : '';
  return [
    '## Rewards',
    `${judged} of ${episodes} episodes were judged.${mean} An episode that could not be judged has no reward (null), never 0.`,
    table(['decided by', 'episodes'], deciders.entries()),
  ].join('\n\n');
}

function filters(report: DatasetReport | undefined): string {
  if (!report) return '## Filters\n\nNone were applied.';
  const { in: before, out, imitated } = report;
  return [
    '## Filters',
    `${before} episodes in, ${out} out, ${imitated} of these to be imitated. Turns are those of the agent that are to be learnt.`,
    filterTable(report),
  ].join('\n\n');
}

function filterTable({ filters }: DatasetReport): string {
  const head = ['filter', 'episodes before', 'after', 'turns before', 'after', 'repaired or dropped'];
  const reasons = (filter: FilterReport) =>
    Object.entries({ ...filter.repaired, ...filter.dropped }).map(([reason, count]) => `${count} ${reason}`);
  return table(
    head,
    filters.map((each) => [each.name, each.in, each.out, each.turnsIn, each.turnsOut, reasons(each).join('; ')]),
  );
}

function diversity(report: DatasetReport | undefined): string {
  if (!report) return '';
  const { distinct, overlap, toolEntropy, tools, entities, states, effectiveDimension, vendi } = report.diversity;
  const unused = tools.unused.length > 0 ? ` (never called: ${tools.unused.join(', ')})` : '';
  const lines: [string, string][] = [
    ['distinct-1, -2, -3', distinct.map(rounded).join(', ')],
    ['3-gram overlap: mean, nearest', `${rounded(overlap.mean)}, ${rounded(overlap.nearest)}`],
    ['entropy of 1, 2, 3 calls (bits)', toolEntropy.map(rounded).join(', ')],
    ['tools called', `${tools.called} of ${tools.of}${unused}`],
    ['parts of the state changed', String(entities)],
    ['different states', String(states)],
    ['dimensions with 90 % of variance', String(effectiveDimension)],
    ['Vendi score', rounded(vendi)],
  ];
  return `## Diversity\n\n${table(['measure', 'value'], lines)}`;
}

function formatNotes({ adapted, statistics, format }: CardInput): string {
  const lines = Object.entries(adapted);
  const masked = `${statistics.maskedTurns} of ${statistics.turns} turns of the agent are marked as not to be learnt from.`;
  const tokens = `${statistics.specialTokens} episodes hold text that looks like special tokens of chat templates.`;
  const changed = lines.length > 0 ? table(['changed to fit the format', 'episodes'], lines) : '';
  return ['## Format', `${masked} ${tokens}`, changed, format.format.use ?? '']
    .filter((text) => text !== '')
    .join('\n\n');
}

function bias({ options, statistics }: CardInput): string {
  const known = options.knownBias ?? [];
  const synthetic = [
    'Answers of a simulated environment are plausible before they are right: simulators err towards letting things succeed.',
    'Simulated users are more patient, clearer and more alike than people.',
  ];
  const isSynthetic = statistics.sources.entries().some(([source]) => source === 'synthetic');
  const lines = [...known, ...(isSynthetic ? synthetic : [])];
  return `## Known bias\n\n${lines.length > 0 ? lines.map((line) => `* ${plain(line)}`).join('\n') : 'None is known.'}`;
}

function percent(part: number, of: number): string {
  return of === 0 ? '0 %' : `${rounded((100 * part) / of)} %`;
}

function rounded(value: number): string {
  return String(Number(value.toPrecision(4)));
}
