// Filter: what the policy forbids. Rules of conversation are judged turn by turn; the domain's exact rules, where there are
// any, judge each change of the state (preconditions, invariants) and the episode as a whole (checks by name).

import type { JsonObject } from '../../core/canonical-json.js';
import { ReverieError } from '../../core/errors.js';
import { applyOperations } from '../../env/state/operations.js';
import type { EpisodeEnd, ToolRules } from '../../env/tools/domain.js';
import type { Operation } from '../../env/tools/prediction.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { EpisodeRecord, EpisodeStep } from '../../replay/experience/experience.js';
import { agentTurns, cutOrDrop, drop, type Filter, isMasked, KEEP, type QualityContext } from './filter.js';

type Turn = EpisodeStep['action'];

/** Rules of conversation: what a turn that breaks one is. */
const TURN_RULES = {
  'one-call-at-a-time': ['more than one call at a time', ({ toolCalls = [] }) => toolCalls.length > 1],
  'no-text-beside-calls': [
    'text beside a call',
    ({ toolCalls = [], content }) => toolCalls.length > 0 && !!content?.trim(),
  ],
  'no-empty-turn': ['an empty turn', ({ toolCalls = [], content }) => toolCalls.length === 0 && !content?.trim()],
} as const satisfies Record<string, readonly [kind: string, isBroken: (turn: Turn) => boolean]>;

type TurnRuleName = keyof typeof TURN_RULES;

export const TURN_RULE_NAMES = Object.keys(TURN_RULES) as [TurnRuleName, ...TurnRuleName[]];

export interface PolicySettings {
  readonly rules: readonly TurnRuleName[];
  /** Checks of the domain's rules that every episode must pass. */
  readonly checks: readonly string[];
  /** Whether changes must obey the domain's preconditions and invariants. */
  readonly exact: boolean;
}

export function policyFilter(settings: PolicySettings): Filter {
  return {
    name: 'policy',
    judge(record, context) {
      for (const { index, message } of agentTurns(record)) {
        const broken = isMasked(record, index)
          ? undefined
          : settings.rules.find((name) => TURN_RULES[name][1](message));
        if (broken !== undefined) return cutOrDrop(record, index, TURN_RULES[broken][0]);
      }
      const found = judgeExactly(record, context, settings);
      if (found === null) return KEEP;
      return found.message === undefined ? drop(found.fault) : cutOrDrop(record, found.message, found.fault);
    },
  };
}

/** What exact rules have against an episode, and from which message on; null: nothing. */
export function judgeExactly(
  record: EpisodeRecord,
  { domain, taskOf }: QualityContext,
  settings: Pick<PolicySettings, 'checks' | 'exact'>,
): { readonly fault: string; readonly message?: number } | null {
  const { rules } = domain;
  const task = taskOf(record.task);
  // Without rules, or without knowing what it began with, nothing can be said exactly.
  if (!rules || !task || record.source === 'real' || !(settings.exact || settings.checks.length > 0)) return null;
  const initialState = initialStateOf(domain, task);
  const replayed = replay(record, initialState, settings.exact ? rules : undefined);
  if ('fault' in replayed) return replayed;
  const end: EpisodeEnd = { initialState, finalState: replayed.state, messages: record.messages };
  const failed = settings.checks.find((name) => rules.check(name, end).passed === false);
  return failed === undefined ? null : { fault: `check ${failed} failed` };
}

/** Goes through the recorded changes again, holding each against the rules. */
function replay(
  record: EpisodeRecord,
  initialState: JsonObject,
  rules: ToolRules | undefined,
): { readonly state: JsonObject } | { readonly message: number; readonly fault: string } {
  let state = initialState;
  for (const { message, action, predictions } of record.steps) {
    for (const [index, { operations, isError }] of predictions.entries()) {
      const call = action.toolCalls?.[index];
      const after = applied(state, operations);
      if (after === undefined) return { message, fault: 'a change that does not apply' };
      const hadToHold = rules && call && !isError && !isMasked(record, message);
      if (hadToHold && rules.preconditions(state, call).length > 0)
        return { message, fault: 'a call that had to fail and did not' };
      if (rules && operations.length > 0 && rules.invariants(state, after).length > 0)
        return { message, fault: 'a change that breaks an invariant' };
      state = after;
    }
  }
  return { state };
}

/** The state after some changes; undefined where one does not apply. */
export function applied(state: JsonObject, operations: readonly Operation[]): JsonObject | undefined {
  try {
    return applyOperations(state, operations);
  } catch (error) {
    if (error instanceof ReverieError && error.code === 'OPERATION_INVALID') return undefined;
    throw error;
  }
}
