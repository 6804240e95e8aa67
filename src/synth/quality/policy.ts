// Filter: what the policy forbids. Rules of conversation are judged turn by turn; the domain's exact rules, where there are
// any, judge each change of the state (preconditions, invariants) and the episode as a whole (checks by name).

import type { JsonObject } from '../../core/canonical-json.js';
import { ReverieError } from '../../core/errors.js';
import { applyOperations } from '../../env/state/operations.js';
import type { EpisodeEnd, ToolRules, ToolsTask } from '../../env/tools/domain.js';
import type { Operation } from '../../env/tools/prediction.js';
import type { EpisodeRecord, EpisodeStep } from '../../replay/experience/experience.js';
import {
  agentTurns,
  cutOrDrop,
  drop,
  type ExactJudgement,
  type Filter,
  isMasked,
  type Judgement,
  KEEP,
  type QualityContext,
} from './filter.js';

/** A rule of the policy: where it is first broken (a message of the agent), or undefined. */
export interface PolicyRule {
  readonly name: string;
  broken(record: EpisodeRecord, context: QualityContext): number | undefined;
}

export interface PolicySettings {
  readonly rules: readonly TurnRuleName[];
  /** Checks of the domain's rules that every episode must pass. */
  readonly checks: readonly string[];
  /** Whether changes must obey the domain's preconditions and invariants. */
  readonly exact: boolean;
}

const TURN_RULES = {
  'one-call-at-a-time': {
    name: 'more than one call at a time',
    broken: (record) => firstTurn(record, ({ toolCalls = [] }) => toolCalls.length > 1),
  },
  'no-text-beside-calls': {
    name: 'text beside a call',
    broken: (record) => firstTurn(record, ({ toolCalls = [], content }) => toolCalls.length > 0 && !!content?.trim()),
  },
  'no-empty-turn': {
    name: 'an empty turn',
    broken: (record) => firstTurn(record, ({ toolCalls = [], content }) => toolCalls.length === 0 && !content?.trim()),
  },
} as const satisfies Record<string, PolicyRule>;

export type TurnRuleName = keyof typeof TURN_RULES;

export const TURN_RULE_NAMES = Object.keys(TURN_RULES) as [TurnRuleName, ...TurnRuleName[]];

function firstTurn(record: EpisodeRecord, isBroken: (turn: EpisodeStep['action']) => boolean): number | undefined {
  return agentTurns(record).find(({ index, message }) => !isMasked(record, index) && isBroken(message))?.index;
}

/** `further`: rules of your own, judged after those that are named in the settings. */
export function policyFilter(settings: PolicySettings, further: readonly PolicyRule[] = []): Filter {
  const rules = [...settings.rules.map((name): PolicyRule => TURN_RULES[name]), ...further];
  return {
    name: 'policy',
    judge(record, context): Judgement {
      const breaks = rules.flatMap((rule) => {
        const index = rule.broken(record, context);
        return index === undefined ? [] : [{ index, name: rule.name }];
      });
      const first = breaks.sort((a, b) => a.index - b.index)[0];
      if (first) return cutOrDrop(record, first.index, { kind: first.name, because: 'the policy forbids such a turn' });
      const found = judgeExactly(record, context, settings);
      if (found === null) return KEEP;
      const { message, fault, because } = found;
      if (message !== undefined) return cutOrDrop(record, message, { kind: fault, because });
      return drop(fault, [{ message: agentTurns(record).at(-1)?.index ?? 0, kind: fault, because }]);
    },
  };
}

export function judgeExactly(
  record: EpisodeRecord,
  { domain, taskOf }: Pick<QualityContext, 'domain' | 'taskOf'>,
  settings: Pick<PolicySettings, 'checks' | 'exact'>,
): ExactJudgement {
  const { rules, initialState } = domain;
  const task = taskOf(record.task);
  // Without rules, or without knowing what it began with, nothing can be said exactly.
  if (!rules || !task || record.source === 'real' || !(settings.exact || settings.checks.length > 0)) return null;
  const began = beginning(initialState, task);
  const lived = relive(record, began, settings.exact ? rules : undefined);
  if ('fault' in lived) return lived;
  const end: EpisodeEnd = { initialState: began, finalState: lived.state, messages: record.messages };
  const checked = settings.checks.map((name) => ({ ...rules.check(name, end), name }));
  const failed = checked.find(({ passed }) => passed === false);
  return failed === undefined ? null : { fault: `check ${failed.name} failed`, because: failed.reason };
}

/** The state that an episode of the task begins with. */
export function beginning(state: JsonObject, { initialOperations = [] }: ToolsTask): JsonObject {
  return applyOperations(state, initialOperations);
}

type Lived =
  | { readonly state: JsonObject }
  | { readonly message: number; readonly fault: string; readonly because: string };

/** Goes through the recorded changes again, holding each against the rules. */
function relive(record: EpisodeRecord, began: JsonObject, rules: ToolRules | undefined): Lived {
  let state = began;
  for (const { message, action, predictions } of record.steps) {
    for (const [index, { operations, isError }] of predictions.entries()) {
      const call = action.toolCalls?.[index];
      const after = applied(state, operations);
      if (after === undefined) {
        return { message, fault: 'a change that does not apply', because: 'the state has no place for it' };
      }
      const wasPlayedAlong = rules && call && !isError && !isMasked(record, message);
      const reasons = wasPlayedAlong ? rules.preconditions(state, call) : [];
      if (reasons.length > 0) {
        return { message, fault: 'a call that had to fail and did not', because: reasons.join('; ') };
      }
      const broken = rules && operations.length > 0 ? rules.invariants(state, after) : [];
      if (broken.length > 0) {
        return { message, fault: 'a change that breaks an invariant', because: broken.join('; ') };
      }
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
