// `reverie draft`: a language model writes a domain and its tasks from a description, or the missing files of a domain. The
// draft is tested, and written only if it passes; with the record of every draft.

import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { reverieError } from '../core/errors.js';
import { ensureFolder, readText, sealedText, writeFileAtomic } from '../core/files.js';
import { readTools } from '../env/tools/load-domain.js';
import type { LlmConfigInput } from '../llm/config.js';
import { makeLanguageModel } from '../llm/served-model.js';
import { readEpisodeLogs } from '../replay/experience/logs/read-episode-logs.js';
import {
  DRAFT_FILES,
  type Draft,
  type DraftFile,
  type DraftInto,
  type DraftStep,
  type DraftTrial,
  draftDomain,
} from '../synth/drafting/draft-domain.js';
import { formatCount, formatNumber, quoted } from './format.js';
import { notEmpty } from './run-folder.js';
import { type ConfigObject, layered, parseOverride } from './scenario.js';

const RECORD_FILE = 'draft.json';

export interface DraftOptions {
  /** A file with the description; or the description itself in `about`. */
  readonly from?: string;
  readonly about?: string;
  /** Drafts for an existing domain: the parts (`rules`, `tasks`, `probes`; by default the missing ones), and records of its tools. */
  readonly into?: { readonly write?: readonly string[]; readonly logs?: readonly string[] };
  /** Of the section `llm`: `llm.url=http://localhost:8000/v1`, `llm.model=NAME`. */
  readonly set?: readonly string[];
  readonly tasks: number;
  readonly repairs: number;
  readonly seed: number;
  /** Folder of replies that were kept, and are kept. */
  readonly cache?: string;
  readonly signal: AbortSignal;
  /** One line for a human. */
  readonly log: (line: string) => void;
}

type DraftResult = Awaited<ReturnType<typeof keep>>;

/**
 * Writes the domain, a scenario and `draft.json`; of a domain that was refused `draft.json` alone.
 * @throws DRAFT_UNUSABLE, OUTPUT_EXISTS, SETTING_INVALID, FLAG_INVALID, and what the model's server throws
 */
export async function draftInto(folder: string, options: DraftOptions): Promise<DraftResult> {
  const into = options.into && (await domainToFill(folder, options.into));
  const description = into ? into.files['policy.md']! : descriptionOf(options);
  if (into === undefined) await refuseOccupied(folder);
  const { tasks, repairs, seed, signal, log, cache } = options;
  const kept = cache === undefined ? {} : { cacheFolder: cache };
  const model = await makeLanguageModel(llmConfigOf(options.set ?? []), kept);
  try {
    const draft = await draftDomain({
      ...{ model, description, tasks, repairs, seed, signal, into },
      onStep: (step) => log(stepText(step)),
      onTrial: (trial) => log(trialText(trial)),
    });
    await model.flush();
    return await keep(folder, draft, { description, model: model.version, seed }, into);
  } finally {
    await model.close();
  }
}

const unusable = (problem: string, cause?: unknown) =>
  reverieError(
    'DRAFT_UNUSABLE',
    { problem: `No domain can be drafted: ${problem}.`, hint: 'See reverie draft --help.' },
    cause,
  );

function descriptionOf({ from, about }: DraftOptions): string {
  if ((from === undefined) === (about === undefined))
    throw unusable('it takes a description, either --from a file or --about in words');
  let text = about;
  try {
    text ??= readText(from!);
  } catch (error) {
    throw unusable(`"${from}" cannot be read: ${(error as Error).message}`, error);
  }
  if (text.trim() === '') throw unusable('its description is empty');
  return text;
}

const PARTS: Readonly<Record<string, DraftFile>> = {
  rules: 'rules.yaml',
  tasks: 'tasks.yaml',
  probes: 'must-fail.yaml',
};

/** @throws DRAFT_UNUSABLE, OUTPUT_EXISTS, DOMAIN_FILE_INVALID, LOG_INVALID */
async function domainToFill(
  folder: string,
  { write, logs = [] }: NonNullable<DraftOptions['into']>,
): Promise<DraftInto> {
  const isThere = (name: string) => existsSync(join(folder, name));
  const lacking = ['policy.md', 'tools.yaml', 'state.json', 'state.schema.json'].find((name) => !isThere(name));
  if (lacking !== undefined) throw unusable(`the folder "${folder}" has no ${lacking}`);
  const stray = write?.find((part) => !Object.hasOwn(PARTS, part));
  if (stray !== undefined) throw unusable(`"${stray}" cannot be written; ${Object.keys(PARTS).join(', ')} can`);
  const isLacked = (part: string) => !isThere(PARTS[part]) && !(part === 'rules' && isThere('rules.js'));
  const parts = write ?? Object.keys(PARTS).filter(isLacked);
  if (parts.length === 0) throw unusable(`"${folder}" has rules, tasks and probes`);
  const present = parts.find((part) => !isLacked(part));
  if (present !== undefined)
    throw reverieError('OUTPUT_EXISTS', {
      problem: `"${folder}" has ${present} already: ${isThere(PARTS[present]) ? PARTS[present] : 'rules.js'}.`,
      hint: 'Move the file away to have it drafted anew, or name other parts with --write.',
    });
  const needed = ['rules', 'tasks'].find((part) => isLacked(part) && !parts.includes(part));
  if (needed !== undefined)
    throw unusable(`"${folder}" has no ${needed}, by which the rest is tried: add it to --write`);
  readTools(folder);
  const textOf = (name: string) => readText(join(folder, name), (problem) => unusable(`${name}: ${problem}`));
  const files = Object.fromEntries(DRAFT_FILES.filter(isThere).map((name) => [name, textOf(name)]));
  const read = await Promise.all(logs.map((path) => readEpisodeLogs(path)));
  return { folder, files, write: parts.map((part) => PARTS[part]), logs: read.flatMap(({ episodes }) => episodes) };
}

async function refuseOccupied(folder: string): Promise<void> {
  const entries = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw unusable(`"${folder}" cannot be used: ${error.message}`, error);
  });
  // The record of a draft that was refused is written over.
  const [entry] = entries.filter((name) => name !== RECORD_FILE);
  if (entry !== undefined) throw notEmpty(folder, entry);
}

function llmConfigOf(set: readonly string[]): LlmConfigInput {
  const base: ConfigObject = { llm: { provider: 'openai-compatible', maxTokens: 16_384 } };
  const { llm, ...others } = set.map(parseOverride).reduce((all, layer) => layered(all, layer), base);
  const [stray] = Object.keys(others);
  if (stray !== undefined) {
    const expected = 'keys of the section llm, such as llm.url=http://localhost:8000/v1';
    throw reverieError('FLAG_INVALID', { flag: '--set', value: stray, expected });
  }
  return llm as LlmConfigInput;
}

async function keep(
  folder: string,
  draft: Draft,
  about: { description: string; model: string; seed: number },
  into: DraftInto | undefined,
) {
  const { admitted, files, steps, trial, cost } = draft;
  const record = join(folder, RECORD_FILE);
  const repairs = steps.filter(({ stage }) => stage === 'repair').length;
  await ensureFolder(folder);
  const kept = { format: 'reverie-draft/1', ...about, admitted, trial, steps, cost };
  await writeFileAtomic(record, sealedText(kept));
  if (!admitted) {
    throw reverieError('DRAFT_UNUSABLE', {
      problem: `The drafted domain was refused after ${repairs} repairs: ${trial.faults.slice(0, SHOWN_FAULTS).join('; ')}.`,
      hint: `Read ${record}: it has every draft and what was wrong with it. Use a better model, more --repairs, or a description that says more.`,
    });
  }
  const made = Object.entries(files).filter(([name]) => into?.write.some((one) => one === name) !== false);
  const hasScenario = existsSync(join(folder, 'scenario.yaml'));
  const all = { ...Object.fromEntries(made), ...(!hasScenario && { 'scenario.yaml': scenarioText(folder) }) };
  for (const [name, text] of Object.entries(all)) await writeFileAtomic(join(folder, name), text);
  const { tools, tasks, probes } = trial;
  const written = [...Object.keys(all), RECORD_FILE];
  const replies = steps.length;
  return { folder, model: about.model, tools, tasks, probes: probes.total, replies, repairs, cost, written };
}

function scenarioText(folder: string): string {
  return stringify({
    family: 'tools',
    name: basename(resolve(folder)).replace(/[^\w-]+/g, '-'),
    model: { kind: 'tools', backends: ['rules'] },
    agent: { kind: 'scripted' },
    synth: { episodes: 40, export: ['openai', 'parquet'] },
  });
}

const SHOWN_FAULTS = 4;

function stepText({ stage, attempt, files, faults, cost }: DraftStep): string {
  const wrote = Object.keys(files).join(', ') || 'nothing';
  const wrong = faults.length === 0 ? '' : `; of no use: ${faults[0]}`;
  const again = attempt === 0 ? '' : ` ${attempt + 1}`;
  return `${stage}${again}: ${wrote} (${formatCount(cost.promptTokens + cost.completionTokens)} tokens)${wrong}`;
}

function trialText({ faults, probes, tasks }: DraftTrial): string {
  const put = `${formatCount(tasks)} tasks, ${probes.passed} of ${probes.total} probes passed`;
  if (faults.length === 0) return `tried: ${put}; nothing speaks against it`;
  const rest = faults.length > SHOWN_FAULTS ? [`and ${faults.length - SHOWN_FAULTS} more`] : [];
  const told = [...faults.slice(0, SHOWN_FAULTS), ...rest].map((fault) => `\n  ${fault}`);
  return `tried: ${put}; ${formatCount(faults.length)} faults:${told.join('')}`;
}

/** What was made, for people. */
export function draftText({ folder, tools, tasks, probes, repairs, replies, cost, written }: DraftResult): string {
  const tokens = formatCount(cost.promptTokens + cost.completionTokens);
  const money = cost.money > 0 ? `, cost ${formatNumber(cost.money)}` : '';
  return [
    `Admitted: ${tools} tools, ${tasks} tasks, ${probes} probes, after ${repairs} repairs (${replies} replies, ${tokens} tokens${money}).`,
    `Written to ${folder}: ${written.join(', ')}.`,
    `Next: read policy.md and tasks.yaml, then reverie audit ${quoted(folder)} and reverie synth ${quoted(folder)}`,
  ].join('\n');
}
