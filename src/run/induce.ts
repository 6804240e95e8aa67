// `reverie induce` and `reverie accept`: from a folder of tools and a policy, and logs, to the missing files of a domain; and what a
// person takes of it.

import { existsSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseDocument, stringify } from 'yaml';
import { canonicalJson } from '../core/canonical-json.js';
import { reverieError } from '../core/errors.js';
import { writeFileAtomic } from '../core/files.js';
import { service } from '../core/services.js';
import type { ToolsDomain } from '../env/tools/domain.js';
import { makeDomain } from '../env/tools/domains.js';
import type { InducedRule, InducedRules } from '../env/tools/induced-schema.js';
import { readInducedRules, readTools } from '../env/tools/load-domain.js';
import { toolsScenario } from '../kinds/registry.js';
import type { ExperienceStep } from '../replay/experience/experience.js';
import { readEpisodeLogs } from '../replay/experience/logs/read-episode-logs.js';
import { induce } from '../synth/induction/induce.js';
import { type ProposedTask, proposeTasks } from '../synth/induction/proposed-tasks.js';
import { SCENARIO_FILE, savedScenario } from './run-folder.js';
import { loadToolsScenario } from './scenario.js';

const YAML_STYLE = { lineWidth: 120, aliasDuplicateObjects: false } as const;
const RULES_FILE = 'induced.yaml';

const HEADING = ` Rules found in logs. None counts before its "accepted" is true: set it here, or with reverie accept.
 support: calls or records that a rule was seen in; counterExamples: those that speak against it; alternatives: what explains the
 same logs as well. What no accepted rule covers is left to the next backend of the scenario. See docs/rules-from-logs.md.`;

export interface InduceOptions {
  /** Files or folders of records. */
  readonly logs: readonly string[];
  readonly tolerant?: boolean;
}

export interface InduceResult {
  readonly folder: string;
  readonly conversations: number;
  readonly calls: number;
  readonly rules: readonly RuleLine[];
  readonly unexplained: readonly string[];
  readonly tasks: readonly { readonly id: string; readonly problems: readonly string[] }[];
  readonly written: readonly string[];
  /** Files that were there and stay as they are. */
  readonly kept: readonly string[];
}

/** A rule in a line. */
export interface RuleLine {
  readonly id: string;
  readonly says: string;
  readonly support: number;
  readonly counterExamples: number;
  readonly accepted: boolean;
}

/**
 * Writes induced.yaml, and what the folder lacks of state.json, state.schema.json, tasks.yaml and scenario.yaml. Rules that were
 * accepted before and are found again stay accepted.
 * @throws DOMAIN_FILE_INVALID, DOMAIN_FILE_INVALID, LOG_INVALID, SCENARIO_UNFIT where the logs hold no call of the domain's tools
 */
export async function induceDomain(folder: string, { logs, tolerant }: InduceOptions): Promise<InduceResult> {
  const tools = readTools(folder);
  const read = await Promise.all(logs.map((path) => readEpisodeLogs(path, { tolerant })));
  const all = read.flatMap((each) => each.episodes);
  // A conversation that two files hold is no further evidence.
  const episodes = [...new Map(all.map((episode) => [canonicalJson(episode.messages), episode])).values()];
  const induction = induce(episodes, { tools });
  if (induction.rules.from.calls === 0)
    throw reverieError('SCENARIO_UNFIT', {
      problem: `The logs ${logs.join(', ')} hold no answered call of a tool of "${folder}".`,
      hint: 'Name logs of these tools: records with calls and their answers (docs/domains.md, "logs").',
    });
  const rules = withAcceptance(induction.rules, folder);
  const proposed = proposeTasks(induction, { tools });
  const files: readonly (readonly [string, string])[] = [
    ['state.json', json(induction.state)],
    ['state.schema.json', json(induction.schema)],
    ['tasks.yaml', tasksText(proposed)],
    ['scenario.yaml', scenarioText(folder, logs)],
  ];
  const missing = files.filter(([name]) => !existsSync(join(folder, name)));
  for (const [name, text] of [...missing, [RULES_FILE, rulesText(rules)] as const])
    await writeFileAtomic(join(folder, name), text);
  return {
    folder,
    conversations: episodes.length,
    calls: rules.from.calls,
    rules: rules.rules.map(lineOf),
    unexplained: rules.unexplained,
    tasks: proposed.map(({ task: { id }, problems }) => ({ id, problems })),
    written: [...missing.map(([name]) => name), RULES_FILE],
    kept: files.filter((file) => !missing.includes(file)).map(([name]) => name),
  };
}

export interface AcceptOptions {
  /** Rules by name. */
  readonly rules: readonly string[];
  /** Also all without counter-examples that were seen this often or more. */
  readonly unopposed?: number;
}

/**
 * Sets `accepted` in induced.yaml, whose comments and order stay.
 * @throws DOMAIN_FILE_INVALID, DOMAIN_FILE_INVALID, NAME_UNKNOWN
 */
export async function acceptRules(folder: string, { rules: wanted, unopposed }: AcceptOptions): Promise<RuleLine[]> {
  const { rules } = readInducedRules(folder);
  const unknown = wanted.find((id) => !rules.some((rule) => rule.id === id));
  if (unknown !== undefined) {
    const known = rules.map(({ id }) => id).join(', ');
    throw reverieError('NAME_UNKNOWN', {
      problem: `"${join(folder, RULES_FILE)}" has no rule "${unknown}".`,
      hint: `It has: ${known}.`,
    });
  }
  const isUnopposed = ({ support, counterExamples }: InducedRule) =>
    unopposed !== undefined && counterExamples.length === 0 && support >= unopposed;
  const document = parseDocument(readFileSync(join(folder, RULES_FILE), 'utf8'));
  const decided = rules.map((rule) => ({
    ...rule,
    accepted: rule.accepted || wanted.includes(rule.id) || isUnopposed(rule),
  }));
  for (const [i, { accepted }] of decided.entries()) document.setIn(['rules', i, 'accepted'], accepted);
  await writeFileAtomic(join(folder, RULES_FILE), String(document));
  return decided.map(lineOf);
}

function withAcceptance(found: InducedRules, folder: string): InducedRules {
  if (!existsSync(join(folder, RULES_FILE))) return found;
  const before = readInducedRules(folder)
    .rules.filter(({ accepted }) => accepted)
    .map(bodyOf);
  const rules = found.rules.map((rule) => ({ ...rule, accepted: before.includes(bodyOf(rule)) }));
  return { ...found, rules };
}

/** What a rule says, without what speaks for it. */
function bodyOf({
  id: _,
  accepted: _a,
  support: _s,
  seen: _e,
  counterExamples: _c,
  alternatives: _o,
  ...body
}: InducedRule) {
  return canonicalJson(body);
}

function lineOf(rule: InducedRule): RuleLine {
  const { id, support, counterExamples, accepted } = rule;
  return { id, says: sentenceOf(rule), support, counterExamples: counterExamples.length, accepted };
}

/** For people; what counts are the rule's own fields. */
function sentenceOf(rule: InducedRule): string {
  switch (rule.kind) {
    case 'refuse':
      return `fails where ${rule.when}`;
    case 'set':
      return `sets ${rule.target} to ${rule.to}`;
    case 'add':
      return `adds ${rule.collection}[${rule.key}]`;
    case 'answer':
      return `answers ${Object.keys(rule.fields).join(', ')}`;
    case 'list':
      return `lists ${rule.collection} where ${rule.where.join(' and ') || 'there are any'}, by ${rule.order.slice(5)}`;
    case 'sentence':
      return `answers "${rule.text}"`;
    case 'id-format':
      return `ids are like ${rule.pattern}`;
    case 'constant':
      return `nothing changes ${rule.fields.join(', ')}`;
    case 'values':
      return `${rule.field} is one of ${rule.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'refers':
      return `${rule.field} names one of ${rule.to}`;
  }
}

const EVIDENCE = ['support', 'seen', 'counterExamples', 'alternatives', 'accepted'] as const;

/** Name and rule first, then what speaks for and against it, and the decision last. */
function rulesText({ format, from, rules, unexplained }: InducedRules): string {
  const ordered = rules.map(({ id, ...rule }) => {
    const body = Object.entries(rule).filter(([key]) => !(EVIDENCE as readonly string[]).includes(key));
    const proof = EVIDENCE.map((key) => [key, rule[key]] as const);
    const isSaid = ([, value]: readonly [string, unknown]) => !isEmpty(value);
    return Object.fromEntries([['id', id], ...[...body, ...proof].filter(isSaid)]);
  });
  const document = parseDocument(stringify({ format, from, rules: ordered, unexplained }, YAML_STYLE));
  document.commentBefore = HEADING;
  return document.toString(YAML_STYLE);
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function tasksText(proposed: readonly ProposedTask[]): string {
  const usable = proposed.filter(({ problems }) => problems.length === 0).map(({ task }) => task);
  if (usable.length > 0) return stringify(usable, YAML_STYLE);
  const reasons = proposed.flatMap(({ task, problems }) => problems.map((problem) => `# ${task.id}: ${problem}\n`));
  return `${reasons.join('')}# No task could be proposed: write at least one. See docs/domains.md.\n[]\n`;
}

function scenarioText(folder: string, logs: readonly string[]): string {
  const name = basename(resolve(folder)).replace(/[^\w-]+/g, '-');
  const inside = logs.map((path) => resolve(path));
  const scenario = {
    family: 'tools',
    name,
    model: { kind: 'tools', backends: ['induced'] },
    agent: { kind: 'reference' },
    experience: { logs: inside.map((path) => relativeTo(folder, path)) },
    synth: { episodes: 20, export: ['openai', 'parquet'] },
  };
  return stringify(scenario, YAML_STYLE);
}

function relativeTo(folder: string, path: string): string {
  const from = `${resolve(folder)}/`;
  return path.startsWith(from) ? path.slice(from.length) : path;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** What was found, for people. */
export async function inductionText(result: InduceResult): Promise<string> {
  const { folder, conversations, calls, rules, unexplained, tasks, written, kept } = result;
  const proposed = tasks.filter(({ problems }) => problems.length === 0).length;
  const refused = tasks.flatMap(({ id, problems }) => problems.map((problem) => `  ${id}: ${problem}`));
  return [
    `${rules.length} rules from ${calls} calls in ${conversations} conversations; ${rules.filter(({ accepted }) => accepted).length} accepted.`,
    await rulesTable(rules),
    ...(unexplained.length === 0 ? [] : ['Not explained:', ...unexplained.map((sentence) => `  ${sentence}`)]),
    `${proposed} tasks proposed${refused.length === 0 ? '.' : '; left out:'}`,
    ...refused,
    `Written to ${folder}: ${written.join(', ')}.${kept.length === 0 ? '' : ` Left as they are: ${kept.join(', ')}.`}`,
    `Next: read ${join(folder, RULES_FILE)}, then reverie accept ${folder} RULE...`,
  ].join('\n');
}

export async function rulesTable(rules: readonly RuleLine[]): Promise<string> {
  const { terminalTable } = await import('./report.js');
  const rows = rules.map(({ id, says, support, counterExamples, accepted }) => [
    id,
    says,
    String(support),
    String(counterExamples),
    accepted ? 'yes' : 'no',
  ]);
  const columns = ['rule', 'says', 'seen', 'against', 'accepted'];
  return terminalTable({ columns, rows, alignment: 'text' }, process.stdout.columns);
}

// `reverie induce SCENARIO --operators FILE`: operators from recorded episodes of a world whose states are facts about objects.

type InduceRecorded = (
  steps: readonly ExperienceStep[],
  domain: ToolsDomain,
) => {
  readonly from: { readonly transitions: number; readonly accepted: number };
  readonly operators: readonly (Record<'preconditions' | 'effects' | 'wordings', readonly unknown[]> &
    Record<'accepted' | 'refused' | 'unexplained' | 'unexplainedChanges', number> & { readonly action: string })[];
  readonly refused: readonly { readonly action: string }[];
};

export interface InduceOperatorsOptions {
  /** Where they are written. */
  readonly operators: string;
  /** Files or folders of records; those of the run unless given. */
  readonly logs?: readonly string[];
  readonly tolerant?: boolean;
}

export type InduceOperatorsResult = Awaited<ReturnType<typeof induceScenarioOperators>>;

/**
 * @param reference  a run of collect, whose scenario is taken, or a scenario
 * @throws RUN_FOLDER_INVALID, SCENARIO_NOT_FOUND, SCENARIO_UNFIT, DOMAIN_UNFIT, LOG_INVALID, SCENARIO_UNFIT
 */
export async function induceScenarioOperators(
  reference: string,
  { operators, logs = [join(reference, 'logs')], tolerant }: InduceOperatorsOptions,
) {
  const saved = existsSync(join(reference, SCENARIO_FILE)) ? await savedScenario(reference) : undefined;
  const { config, folder } = saved === undefined ? await loadToolsScenario(reference) : toolsScenario(saved);
  const domain = await makeDomain(config.domain, { folder });
  try {
    if (domain.rules?.scene === undefined)
      throw reverieError('DOMAIN_UNFIT', {
        problem: `The states of domain "${domain.id}" are no facts about objects, so operators cannot be found in its records.`,
        hint: 'Take a domain of PDDL games (text-games, alfworld). Rules of other domains: reverie induce FOLDER --logs RECORDS.',
      });
    const read = await Promise.all(logs.map((path) => readEpisodeLogs(path, { domain, tolerant })));
    const induceRecorded = await service<InduceRecorded>('induced-operators');
    const found = induceRecorded(
      read.flatMap(({ steps }) => steps),
      domain,
    );
    if (found.from.transitions === 0)
      throw reverieError('SCENARIO_UNFIT', {
        problem: `The logs ${logs.join(', ')} hold no answered call of a tool of "${reference}".`,
        hint: 'Name logs of these tools: records with calls and their answers (docs/domains.md, "logs").',
      });
    const file = resolve(operators);
    await writeFileAtomic(file, `${JSON.stringify(found, null, 2)}\n`);
    return {
      ...{ file, episodes: read.reduce((sum, { episodes }) => sum + episodes.length, 0), ...found.from },
      operators: found.operators.map(({ action, accepted, refused, ...one }) => ({
        ...{ action, accepted, refused, preconditions: one.preconditions.length, effects: one.effects.length },
        wordings: one.wordings.length,
        /** Refusals that no precondition explains, and changes that no effect does. */
        unexplained: one.unexplained + one.unexplainedChanges,
      })),
      /** Actions that were refused each time. */
      refused: found.refused.map(({ action }) => action),
    };
  } finally {
    domain.close();
  }
}

/** What was found, for people. */
export async function operatorsText(result: InduceOperatorsResult): Promise<string> {
  const { terminalTable } = await import('./report.js');
  const columns = ['action', 'carried out', 'refused', 'needs', 'makes so', 'wordings', 'unexplained'];
  const rows = result.operators.map((one) => [
    one.action,
    ...[one.accepted, one.refused, one.preconditions, one.effects, one.wordings, one.unexplained].map(String),
  ]);
  const { refused, transitions, accepted, episodes, file } = result;
  return [
    `${result.operators.length} operators from ${transitions} calls in ${episodes} episodes, ${accepted} of them carried out.`,
    terminalTable({ columns, rows, alignment: 'text' }, process.stdout.columns),
    ...(refused.length === 0 ? [] : [`Refused each time: ${refused.join('; ')}.`]),
    `Written to ${file}. Next: model.backends: [operators], model.operators.file in a scenario of the same domain.`,
  ].join('\n');
}
