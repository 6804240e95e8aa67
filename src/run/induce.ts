// `reverie induce`: from a folder of tools and a policy, and logs, to the missing files of a domain; or from episodes of a world whose
// states are facts about objects to its operators.

import { existsSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
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
import { terminalTable } from './report.js';
import { SCENARIO_FILE, savedScenario } from './run-folder.js';
import { loadToolsScenario } from './scenario.js';

const YAML_STYLE = { lineWidth: 120, aliasDuplicateObjects: false } as const;
const RULES_FILE = 'induced.yaml';

const HEADING = ` Rules found in logs. None counts before its "accepted" is true: set it here, or with reverie induce --accept-unopposed.
 support: calls or records that a rule was seen in; counterExamples: those that speak against it; alternatives: what explains the
 same logs as well. What no accepted rule covers is left to the next backend of the scenario. See docs/rules-from-logs.md.`;

interface InduceOptions {
  /** Files or folders of records. */
  readonly logs: readonly string[];
  readonly tolerant?: boolean;
  /** Accepts all rules without counter-examples that were seen this often or more. */
  readonly acceptUnopposed?: number;
}

type InduceResult = Awaited<ReturnType<typeof induceDomain>>;

/**
 * Writes induced.yaml, and what the folder lacks of state.json, state.schema.json, tasks.yaml and scenario.yaml. Rules that were
 * accepted before and are found again stay accepted.
 * @throws DOMAIN_FILE_INVALID, LOG_INVALID, SCENARIO_UNFIT where the logs hold no call of the domain's tools
 */
export async function induceDomain(folder: string, { logs, tolerant, acceptUnopposed }: InduceOptions) {
  const tools = readTools(folder);
  const read = await Promise.all(logs.map((path) => readEpisodeLogs(path, { tolerant })));
  const all = read.flatMap((each) => each.episodes);
  // A conversation that two files hold is no further evidence.
  const episodes = [...new Map(all.map((episode) => [canonicalJson(episode.messages), episode])).values()];
  const induction = induce(episodes, { tools });
  const { from, unexplained } = induction.rules;
  if (from.calls === 0) throw noCalls(logs, folder);
  const before = existsSync(join(folder, RULES_FILE)) ? readInducedRules(folder).rules : [];
  const accepted = new Set(before.filter((rule) => rule.accepted).map(bodyOf));
  const isUnopposed = ({ support, counterExamples }: InducedRule) =>
    acceptUnopposed !== undefined && counterExamples.length === 0 && support >= acceptUnopposed;
  const rules = induction.rules.rules.map((rule) => {
    return { ...rule, accepted: accepted.has(bodyOf(rule)) || isUnopposed(rule) };
  });
  const proposed = proposeTasks(induction, { tools });
  const files = {
    'state.json': json(induction.state),
    'state.schema.json': json(induction.schema),
    'tasks.yaml': tasksText(proposed),
    'scenario.yaml': scenarioText(folder, logs),
  };
  const kept = Object.keys(files).filter((name) => existsSync(join(folder, name)));
  const missing = Object.entries(files).filter(([name]) => !kept.includes(name));
  for (const [name, text] of [...missing, [RULES_FILE, rulesText({ ...induction.rules, rules })] as const])
    await writeFileAtomic(join(folder, name), text);
  return {
    ...{ folder, conversations: episodes.length, calls: from.calls, unexplained },
    rules: rules.map((rule) => {
      const { id, support, counterExamples } = rule;
      return { id, says: sentenceOf(rule), support, counterExamples: counterExamples.length, accepted: rule.accepted };
    }),
    tasks: proposed.map(({ task: { id }, problems }) => ({ id, problems })),
    written: [...missing.map(([name]) => name), RULES_FILE],
    /** Files that were there and stay as they are. */
    kept,
  };
}

function noCalls(logs: readonly string[], reference: string): Error {
  return reverieError('SCENARIO_UNFIT', {
    problem: `The logs ${logs.join(', ')} hold no answered call of a tool of "${reference}".`,
    hint: 'Name logs of these tools: records with calls and their answers (docs/domains.md, "logs").',
  });
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

/** Name and rule first, then what speaks for and against it, and the decision last. */
function rulesText({ format, from, rules, unexplained }: InducedRules): string {
  const isSaid = (value: unknown) => typeof value !== 'object' || value === null || Object.keys(value).length > 0;
  const ordered = rules.map(({ id, support, seen, counterExamples, alternatives, accepted, ...body }) =>
    Object.fromEntries(
      Object.entries({ id, ...body, support, seen, counterExamples, alternatives, accepted }).filter(([, value]) =>
        isSaid(value),
      ),
    ),
  );
  const document = parseDocument(stringify({ format, from, rules: ordered, unexplained }, YAML_STYLE));
  document.commentBefore = HEADING;
  return document.toString(YAML_STYLE);
}

function tasksText(proposed: readonly ProposedTask[]): string {
  const usable = proposed.filter(({ problems }) => problems.length === 0).map(({ task }) => task);
  if (usable.length > 0) return stringify(usable, YAML_STYLE);
  const reasons = proposed.flatMap(({ task, problems }) => problems.map((problem) => `# ${task.id}: ${problem}\n`));
  return `${reasons.join('')}# No task could be proposed: write at least one. See docs/domains.md.\n[]\n`;
}

function scenarioText(folder: string, logs: readonly string[]): string {
  const named = logs.map((path) => {
    const inside = relative(folder, path);
    return inside === '' || inside.startsWith('..') ? resolve(path) : inside;
  });
  const scenario = {
    family: 'tools',
    name: basename(resolve(folder)).replace(/[^\w-]+/g, '-'),
    model: { kind: 'tools', backends: ['induced'] },
    agent: { kind: 'reference' },
    experience: { logs: named },
    synth: { episodes: 20, export: ['openai', 'parquet'] },
  };
  return stringify(scenario, YAML_STYLE);
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** What was found, for people. */
export function inductionText(result: InduceResult): string {
  const { folder, conversations, calls, rules, unexplained, tasks, written, kept } = result;
  const refused = tasks.flatMap(({ id, problems }) => problems.map((problem) => `  ${id}: ${problem}`));
  const proposed = tasks.filter(({ problems }) => problems.length === 0).length;
  const rows = rules.map(({ id, says, support, counterExamples, accepted }) => {
    return [id, says, String(support), String(counterExamples), accepted ? 'yes' : 'no'];
  });
  const columns = ['rule', 'says', 'seen', 'against', 'accepted'];
  return [
    `${rules.length} rules from ${calls} calls in ${conversations} conversations; ${rules.filter(({ accepted }) => accepted).length} accepted.`,
    terminalTable({ columns, rows, alignment: 'text' }, process.stdout.columns),
    ...(unexplained.length === 0 ? [] : ['Not explained:', ...unexplained.map((sentence) => `  ${sentence}`)]),
    `${proposed} tasks proposed${refused.length === 0 ? '.' : '; left out:'}`,
    ...refused,
    `Written to ${folder}: ${written.join(', ')}.${kept.length === 0 ? '' : ` Left as they are: ${kept.join(', ')}.`}`,
    `Next: read ${join(folder, RULES_FILE)}, and set rules that are right to "accepted: true"`,
  ].join('\n');
}

// Operators.

interface Found {
  readonly from: { readonly transitions: number; readonly accepted: number };
  readonly operators: readonly { readonly action: string }[];
  readonly refused: readonly { readonly action: string }[];
}
type InduceRecorded = (steps: readonly ExperienceStep[], domain: ToolsDomain) => Found;

interface InduceOperatorsOptions {
  /** Where they are written. */
  readonly operators: string;
  /** Files or folders of records; those of the run unless given. */
  readonly logs?: readonly string[];
  readonly tolerant?: boolean;
}

/**
 * Operators from recorded episodes of a world whose states are facts about objects.
 * @param reference  a run of collect, whose scenario is taken, or a scenario
 * @throws SCENARIO_NOT_FOUND, DOMAIN_UNFIT, LOG_INVALID, SCENARIO_UNFIT
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
    const steps = read.flatMap((each) => each.steps);
    const found = induceRecorded(steps, domain);
    if (found.from.transitions === 0) throw noCalls(logs, reference);
    const file = resolve(operators);
    await writeFileAtomic(file, json(found));
    const actions = (of: readonly { readonly action: string }[]) => of.map(({ action }) => action);
    return {
      ...{ file, episodes: read.reduce((sum, { episodes }) => sum + episodes.length, 0), ...found.from },
      operators: actions(found.operators),
      /** Actions that were refused each time. */
      refused: actions(found.refused),
    };
  } finally {
    domain.close();
  }
}

/** What was found, for people. */
export function operatorsText(result: Awaited<ReturnType<typeof induceScenarioOperators>>): string {
  const { operators, refused, transitions, accepted, episodes, file } = result;
  return [
    `${operators.length} operators from ${transitions} calls in ${episodes} episodes, ${accepted} of them carried out:`,
    ...operators.map((action) => `  ${action}`),
    ...(refused.length === 0 ? [] : [`Refused each time: ${refused.join('; ')}.`]),
    `Written to ${file}. Next: model.backends: [operators], model.operators.file in a scenario of the same domain.`,
  ].join('\n');
}
