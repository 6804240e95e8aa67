// What an agent cannot do yet, from the episodes it lost (TRACE: capabilities that failures lack, each with tasks that need it).
// What was done in the step that lost an episode is held against what the task's solution would have done there; a deficit is
// told by a kind and what it is about. No model is asked.

import { canonicalJson, type JsonObject } from '../../core/canonical-json.js';
import { applyOperations } from '../../env/state/operations.js';
import type { CallSpec, CheckResult, ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { keyOf, type Message, successfulCalls, type ToolCall } from '../../env/tools/message.js';
import { initialStateOf } from '../../env/tools/situation.js';
import { verifyEpisode } from '../../env/tools/verify-episode.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';

type Kind = 'left-out' | 'wrong-argument' | 'unwanted' | 'untold' | 'cut-off' | 'rule' | 'wrong-state';
type Tools = Pick<ToolsDomain, 'tools'>;

/** What lost an episode, as its column has it: `left-out verify_employee`, `wrong-argument order_item.sku`, `untold`. */
type DeficitName = string;

/** What lost an episode; undefined where it was not lost, or nothing exact can be said of it. */
export function deficitOf(domain: Tools, task: ToolsTask, record: EpisodeRecord): DeficitName | undefined {
  if (!isLost(record)) return undefined;
  const { lostStep, steps, messages, verdict } = record;
  if (lostStep === undefined) return ofChecks(verdict.checks);
  const step = steps[lostStep];
  if (step === undefined) return 'cut-off';
  const left = callsLeft(task.reference?.calls ?? [], messages.slice(0, step.message));
  const made = step.action.toolCalls ?? [];
  const ofCalls = made.map((call) => ofCall(call, left, domain)).find((name) => name !== undefined);
  const next = left.find((call) => changes(call, domain)) ?? left[0];
  const ofTurn = made.length === 0 && next !== undefined ? `left-out ${next.name}` : undefined;
  return ofCalls ?? ofTurn ?? ofChecks(verdict.checks);
}

/** What is wrong with a call, given the calls that the solution had left. */
function ofCall(call: ToolCall, left: readonly CallSpec[], domain: Tools): DeficitName | undefined {
  const wanted = left.filter(({ name }) => name === call.name).map((one) => wrongArguments(call, one));
  if (wanted.length === 0) return changes(call, domain) ? `unwanted ${call.name}` : undefined;
  const [nearest] = wanted.sort((a, b) => a.length - b.length);
  if (nearest.length > 0) return `wrong-argument ${call.name}.${nearest[0]}`;
  // The right call, which lost it for what should have come before.
  return left[0].name === call.name ? undefined : `left-out ${left[0].name}`;
}

function wrongArguments({ arguments: given }: ToolCall, { arguments: wanted }: CallSpec): string[] {
  const names = [...new Set([...Object.keys(wanted), ...Object.keys(given)])];
  return names.filter((name) => canonicalJson(given[name] ?? null) !== canonicalJson(wanted[name] ?? null));
}

/** Whether a call may change something, or end the episode. */
function changes({ name }: Pick<CallSpec, 'name'>, { tools }: Tools): boolean {
  const tool = tools.find((one) => one.name === name);
  return tool?.kind === 'write' || tool?.terminates === true;
}

const CHECKS: readonly (readonly [pattern: RegExp, kind: Kind])[] = [
  [/^not called: (\S+)/, 'unwanted'],
  [/^never: (\S+)/, 'unwanted'],
  [/^called: ([^(]+)/, 'left-out'],
  [/^((?:before|confirmed): .+)/, 'rule'],
  [/^check: (.+)/, 'rule'],
  [/^communicate: ()/, 'untold'],
  [/^state: ()/, 'wrong-state'],
];

function ofChecks(checks: readonly CheckResult[]): DeficitName | undefined {
  const failed = checks.filter(({ passed }) => passed === false).map(({ name }) => name);
  for (const [pattern, kind] of CHECKS) {
    const about = failed.map((name) => pattern.exec(name)?.[1]).find((found) => found !== undefined);
    if (about !== undefined) return `${kind} ${about}`.trim();
  }
  return undefined;
}

export interface Deficit {
  readonly name: DeficitName;
  /** Episodes that it lost. */
  readonly lost: number;
  /** Tasks that it lost episodes of, those with most first. */
  readonly tasks: readonly string[];
}

/** Takes in episodes, and says what they were lost by. */
export class DeficitLedger {
  /** Episodes that a deficit lost, by task. */
  private readonly lost = new Map<DeficitName, Map<string, number>>();

  add({ task, lostBy }: EpisodeRecord): void {
    if (lostBy === undefined) return;
    const byTask = this.lost.get(lostBy) ?? new Map<string, number>();
    this.lost.set(lostBy, byTask.set(task, (byTask.get(task) ?? 0) + 1));
  }

  /** Those that lost most first. */
  report(): Deficit[] {
    const deficits = [...this.lost].map(([name, byTask]): Deficit => {
      const tasks = [...byTask].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
      return { name, lost: tasks.reduce((sum, [, times]) => sum + times, 0), tasks: tasks.map(([task]) => task) };
    });
    return deficits.sort((a, b) => b.lost - a.lost || (a.name < b.name ? -1 : 1));
  }
}

const SUCCEEDED = 0.5;

/**
 * Number of the step, from 0, that lost a failed episode; as many as it has steps where nothing was lost and it was only
 * cut off. Undefined where it did not fail, where rules or solution are lacking, or where the solution does not help from the start.
 */
export function lostStep(domain: ToolsDomain, task: ToolsTask, record: EpisodeRecord): number | undefined {
  // Forks do not repeat the user's own calls.
  if (record.steps.some(({ userPredictions }) => userPredictions !== undefined)) return undefined;
  const { rules } = domain;
  const calls = task.reference?.calls;
  if (!isLost(record) || calls === undefined || !calls.every(({ name }) => rules?.tools.has(name))) return undefined;
  // The state before each step, and after the last.
  const states = [initialStateOf(domain, task)];
  for (const { predictions } of record.steps)
    states.push(predictions.reduce((state, { operations }) => applyOperations(state, operations), states.at(-1)!));
  // What has ended cannot be resumed: its last step is the latest that may have lost it.
  const latest = record.steps.length - (record.terminated ? 1 : 0);
  for (let step = latest; step >= 0; step--) {
    const messages = record.messages.slice(0, record.steps[step]?.message);
    if (isSolvedFrom(domain, task, states[step], messages)) return step;
  }
  return undefined;
}

/** Whether an episode was judged and failed. */
function isLost({ return: total }: EpisodeRecord): boolean {
  return total !== null && total <= SUCCEEDED;
}

/** Whether the rest of the solution, by the exact rules, passes every exact check. */
function isSolvedFrom(domain: ToolsDomain, task: ToolsTask, state: JsonObject, before: readonly Message[]): boolean {
  const messages: Message[] = [...before];
  let finalState = state;
  for (const [i, call] of callsLeft(task.reference?.calls ?? [], before).entries()) {
    const made = { ...call, id: `fork-${i}` };
    const { operations, observation, isError } = domain.rules!.execute(finalState, made);
    finalState = applyOperations(finalState, operations);
    messages.push({ role: 'assistant', content: null, toolCalls: [made] });
    const answer = { toolCallId: made.id, name: call.name, content: observation, ...(isError && { isError }) };
    messages.push({ role: 'tool', ...answer });
  }
  if (task.reference?.say !== undefined) messages.push({ role: 'assistant', content: task.reference.say });
  const { rubric: _, ...verifier } = task.verifier;
  const end = { initialState: initialStateOf(domain, task), finalState, messages };
  return verifyEpisode(domain, { ...task, verifier }, end).reward === 1;
}

/** Calls of the solution that were not made yet, each as often as it is in it. */
function callsLeft(solution: readonly CallSpec[], messages: readonly Message[]): CallSpec[] {
  const made = successfulCalls(messages).map(keyOf);
  return solution.filter((call) => {
    const at = made.indexOf(keyOf(call));
    if (at >= 0) made.splice(at, 1);
    return at < 0;
  });
}
