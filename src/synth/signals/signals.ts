// What is wrong with an episode, as flags that cost next to nothing: no model is asked, and what has no rules or state to be
// known by is not flagged.

import { canonicalJson, type JsonObject } from '../../core/canonical-json.js';
import { applyOperations } from '../../env/state/operations.js';
import type { CallSpec, ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { type Message, successfulCalls } from '../../env/tools/message.js';
import { initialStateOf } from '../../env/tools/situation.js';
import { verifyEpisode } from '../../env/tools/verify-episode.js';
import type { EpisodeRecord, EpisodeSignal } from '../../replay/experience/experience.js';
import { claimsFilter } from '../quality/claims.js';
import { loopFilter } from '../quality/conversation-filters.js';
import { agentTurns, answerOf, type Filter, KEEP, type QualityContext } from '../quality/filter.js';
import { judgeExactly } from '../quality/policy.js';

/** Turns in a row that change nothing and learn nothing. */
const STAGNANT_TURNS = 3;
/** Rounds of the same actions with the same outcome. */
const LOOP_ROUNDS = 3;
/** Checks of a verdict that are about what may not be done. */
const FORBIDDING = /^(check|not called): /;

type Found = (record: EpisodeRecord, context: QualityContext) => boolean;

export class SignalFinder {
  private readonly finders: readonly (readonly [EpisodeSignal, Found])[];

  constructor(private readonly domain: ToolsDomain) {
    this.finders = [
      ['stagnation', isStagnant],
      ['loop', by(loopFilter(LOOP_ROUNDS))],
      ['contradiction', by(claimsFilter(domain))],
      ['exhaustion', ({ truncated }) => truncated],
      ['policy-broken', breaksPolicy],
      ['cut-turn', ({ steps }) => steps.some(({ cut }) => cut === true)],
    ];
  }

  /** What is wrong with an episode of a task, in the order of the list of signals. */
  find(record: EpisodeRecord, task: ToolsTask): EpisodeSignal[] {
    const context: QualityContext = { domain: this.domain, taskOf: () => task };
    return this.finders.flatMap(([signal, isThere]) => (isThere(record, context) ? [signal] : []));
  }
}

/** What a filter would mend or drop. */
function by(filter: Filter): Found {
  return (record, context) => filter.judge(record, context) !== KEEP;
}

/** A run of turns whose calls were all answered before, or with errors, in a state that stays as it is. */
function isStagnant(record: EpisodeRecord): boolean {
  const states = new Map(record.steps.map((step) => [step.message, step.stateHash]));
  const known = new Set<string>();
  let [before, stagnant, longest] = ['', 0, 0];
  for (const { index, message } of agentTurns(record)) {
    const state = states.get(index) ?? before;
    const answers = (message.toolCalls ?? []).map((call) => answerOf(record, call));
    const told = answers.flatMap((answer) => (answer === undefined || answer.isError ? [] : [answer.content]));
    const said = message.toolCalls?.length ? [] : [canonicalJson(['said', message.content ?? ''])];
    const news = [...told, ...said].filter((text) => !known.has(text));
    stagnant = state === before && news.length === 0 ? stagnant + 1 : 0;
    longest = Math.max(longest, stagnant);
    for (const text of news) known.add(text);
    before = state;
  }
  return longest >= STAGNANT_TURNS;
}

function breaksPolicy(record: EpisodeRecord, context: QualityContext): boolean {
  const isForbidden = record.verdict.checks.some(({ name, passed }) => passed === false && FORBIDDING.test(name));
  return isForbidden || judgeExactly(record, context, { checks: [], exact: true }) !== null;
}

const SUCCEEDED = 0.5;

/**
 * Number of the step, from 0, that lost a failed episode; as many as it has steps where nothing was lost and it was only
 * cut off. Undefined where it did not fail, where rules or solution are lacking, or where the solution does not help from the start.
 */
export function lostStep(domain: ToolsDomain, task: ToolsTask, record: EpisodeRecord): number | undefined {
  const { rules } = domain;
  const calls = task.reference?.calls;
  if (!isLost(record) || calls === undefined || !calls.every(({ name }) => rules?.tools.has(name))) return undefined;
  const states = statesBefore(domain, task, record);
  // What has ended cannot be resumed: its last step is the latest that may have lost it.
  const latest = record.steps.length - (record.terminated ? 1 : 0);
  for (let step = latest; step >= 0; step--) {
    const messages = record.messages.slice(0, record.steps[step]?.message);
    if (isSolvedFrom(domain, task, states[step], messages)) return step;
  }
  return undefined;
}

/** Whether an episode was judged and failed. */
export function isLost({ return: total }: EpisodeRecord): boolean {
  return total !== null && total <= SUCCEEDED;
}

/** The state before each step, and after the last. */
function statesBefore(domain: ToolsDomain, task: ToolsTask, { steps }: EpisodeRecord): JsonObject[] {
  const states = [initialStateOf(domain, task)];
  for (const { predictions } of steps) {
    states.push(predictions.reduce((state, { operations }) => applyOperations(state, operations), states.at(-1)!));
  }
  return states;
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
export function callsLeft(solution: readonly CallSpec[], messages: readonly Message[]): CallSpec[] {
  const made = successfulCalls(messages).map(keyOf);
  return solution.filter((call) => {
    const at = made.indexOf(keyOf(call));
    if (at >= 0) made.splice(at, 1);
    return at < 0;
  });
}

function keyOf({ name, arguments: given }: CallSpec): string {
  return canonicalJson([name, given]);
}
