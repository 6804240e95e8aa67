// `reverie induce`: from a folder of tools and a policy, and logs, to the missing files of a domain; or from episodes of a world whose
// states are facts about objects to its operators.

import { existsSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { isMap, isScalar, parseDocument, type Scalar, stringify } from 'yaml';
import { canonicalJson } from '../core/canonical-json.js';
import { reverieError } from '../core/errors.js';
import { writeFileAtomic } from '../core/files.js';
import { service } from '../core/services.js';
import type { ToolsDomain } from '../env/tools/domain.js';
import { makeDomain } from '../env/tools/domains.js';
import { readTools } from '../env/tools/load-domain.js';
import { toolsScenario } from '../kinds/registry.js';
import type { ExperienceStep } from '../replay/experience/experience.js';
import { readEpisodeLogs } from '../replay/experience/logs/read-episode-logs.js';
import { heldOut, type Induction, induce, type Trial, tryRules } from '../synth/induction/induce.js';
import { type ProposedTask, proposeTasks } from '../synth/induction/proposed-tasks.js';
import { quoted } from './format.js';
import { terminalTable } from './report.js';
import { jsonText, SCENARIO_FILE, savedScenario } from './run-folder.js';
import { loadToolsScenario } from './scenario.js';

const YAML_STYLE = { lineWidth: 120, aliasDuplicateObjects: false } as const;

type InduceResult = Awaited<ReturnType<typeof induceDomain>>;

/**
 * Writes the missing files among rules.yaml, state.json, state.schema.json, tasks.yaml and scenario.yaml. Uses the
 * folder's own state if it has one.
 * @param logs  files or folders of records
 * @throws DOMAIN_FILE_INVALID, LOG_INVALID, SCENARIO_UNFIT where the logs hold no call of the domain's tools
 */
export async function induceDomain(
  folder: string,
  { logs, tolerant }: { readonly logs: readonly string[]; readonly tolerant?: boolean },
) {
  const beside = readTools(folder);
  const read = await Promise.all(logs.map((path) => readEpisodeLogs(path, { tolerant })));
  const all = read.flatMap((each) => each.episodes);
  // A conversation that two files hold is no further evidence.
  const episodes = [...new Map(all.map((episode) => [canonicalJson(episode.messages), episode])).values()];
  const induction = induce(episodes, beside);
  if (induction.calls === 0) throw noCalls(logs, folder);
  const kept = heldOut(episodes, beside);
  const proposed = proposeTasks(induction, beside);
  const files = {
    'rules.yaml': rulesText(induction, kept),
    'state.json': jsonText(induction.state),
    'state.schema.json': jsonText(induction.schema),
    'tasks.yaml': tasksText(proposed),
    'scenario.yaml': scenarioText(folder, logs),
  };
  const present = Object.keys(files).filter((name) => existsSync(join(folder, name)));
  const missing = Object.entries(files).filter(([name]) => !present.includes(name));
  for (const [name, text] of missing) await writeFileAtomic(join(folder, name), text);
  const { calls, rules, unexplained, notes } = induction;
  const tried = tryRules(rules, induction.beliefs);
  return {
    ...{ folder, conversations: episodes.length, calls, unexplained },
    tools: beside.tools.map(({ name }) => {
      const { enforces = [], effects = [] } = rules.file.tools[name] ?? {};
      const isExact = rules.tools.has(name);
      const counts = { enforces: enforces.length, effects: effects.length };
      const trials = { seen: tried.get(name), heldOut: kept?.get(name) };
      return { tool: name, isExact, ...counts, ...trials, notes: notes.get(name) ?? [] };
    }),
    tasks: proposed.map(({ task: { id }, problems }) => ({ id, problems })),
    written: missing.map(([name]) => name),
    /** Files that were there and stay as they are. */
    kept: present,
  };
}

function noCalls(logs: readonly string[], reference: string): Error {
  return reverieError('SCENARIO_UNFIT', {
    problem: `The logs ${logs.join(', ')} hold no answered call of a tool of "${reference}".`,
    hint: 'Name logs of these tools: records with calls and their answers (docs/domains.md, "logs").',
  });
}

const counted = ({ right, wrong, open }: Trial) => `${right} right, ${wrong} wrong, ${open} left open`;

/** The rules, with their evidence as comments. */
function rulesText(
  { rules, notes, unexplained, logs, calls }: Induction,
  kept: Map<string, Trial> | undefined,
): string {
  const document = parseDocument(stringify(rules.file, YAML_STYLE));
  const tools = document.get('tools');
  for (const { key } of isMap(tools) ? tools.items : []) {
    const name = String((key as Scalar).value);
    const trial = kept?.get(name);
    const lines = [
      ...(notes.get(name) ?? []),
      ...(trial ? [`rules of three logs in four, on the others: ${counted(trial)}`] : []),
    ];
    if (isScalar(key)) key.commentBefore = lines.map((line) => ` ${line}`).join('\n');
  }
  const heldBack = kept === undefined ? ' There are too few logs to hold any back.' : '';
  const heading = ` Found in ${calls} calls of ${logs.length} logs: the simplest rules that no call contradicts. Read them: a log shows what\n happened, not what else would have.${heldBack} See docs/rules-from-logs.md.`;
  const lost = unexplained.map((sentence) => ` - ${sentence}`);
  document.commentBefore = [heading, ...(lost.length === 0 ? [] : [' Not explained:', ...lost])].join('\n');
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
    model: { kind: 'tools', backends: ['rules'] },
    agent: { kind: 'reference' },
    experience: { logs: named },
    synth: { episodes: 20, export: ['openai', 'parquet'] },
  };
  return stringify(scenario, YAML_STYLE);
}

/** What was found, for people. */
export function inductionText(result: InduceResult): string {
  const { folder, conversations, calls, tools, unexplained, tasks, written, kept } = result;
  const refused = tasks.flatMap(({ id, problems }) => problems.map((problem) => `  ${id}: ${problem}`));
  const proposed = tasks.filter(({ problems }) => problems.length === 0).length;
  const rows = tools.map(({ tool, isExact, enforces, effects, seen, heldOut }) => {
    const trial = seen === undefined ? '–' : `${seen.right} of ${seen.right + seen.wrong + seen.open}`;
    const others = heldOut ? counted(heldOut) : '–';
    return [tool, isExact ? 'exact' : 'open', String(enforces), String(effects), trial, others];
  });
  const columns = ['tool', 'answer', 'requirements', 'effects', 'calls right', 'held-out logs'];
  return [
    `Rules for ${tools.filter(({ isExact }) => isExact).length} of ${tools.length} tools from ${calls} calls in ${conversations} conversations.`,
    terminalTable({ columns, rows, alignment: 'text' }, process.stdout.columns),
    ...(unexplained.length === 0 ? [] : ['Not explained:', ...unexplained.map((sentence) => `  ${sentence}`)]),
    `${proposed} tasks proposed${refused.length === 0 ? '.' : '; left out:'}`,
    ...refused,
    `Written to ${folder}: ${written.join(', ') || 'nothing'}.${kept.length === 0 ? '' : ` Left as they are: ${kept.join(', ')}.`}`,
    `Next: read ${join(folder, 'rules.yaml')}, then reverie audit ${quoted(folder)}`,
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
    await writeFileAtomic(file, jsonText(found));
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
