// A language model of a test that walks through the shop by a plan: what to do next is a role and a name, whose id it reads off the screen.

import type { Json } from '../../src/core/canonical-json.js';
import { NO_COST } from '../../src/core/cost.js';
import type { ChatReply, ChatRequest, LanguageModel } from '../../src/llm/language-model.js';

export type Plan = readonly (readonly [action: string, role: string, name: string, rest?: string])[];

export interface Shopper extends LanguageModel {
  readonly asked: { readonly name: string; readonly data: Record<string, never>; readonly request: ChatRequest }[];
}

/** @param others replies by name of the schema; a function of how often that was asked; undefined: `{}`, which fits nothing */
export function shopper(plan: Plan, others: Readonly<Record<string, (nth: number) => Json>> = {}): Shopper {
  const asked: Shopper['asked'] = [];
  const answer = (name: string, data: { done: unknown[]; screen: string }, nth: number): Json => {
    if (others[name] !== undefined) return others[name](nth);
    if (name === 'sub_goal')
      return { reasoning: '', subgoal: data.done.length < plan.length ? `do ${plan[data.done.length][2]}` : null };
    if (name !== 'step') return {};
    const next = plan[data.done.length];
    if (next === undefined) return { finished: true, thought: 'Done.', action: null };
    const [action, role, called, rest = ''] = next;
    const id = new RegExp(`\\[(\\d+)\\] ${role} '${called}'`).exec(data.screen)?.[1];
    return { finished: false, thought: `I take ${called}.`, action: `${action}('${id}'${rest})` };
  };
  return {
    asked,
    version: 'shopper',
    chat: async (request): Promise<ChatReply> => {
      const { name } = request.schema!;
      const data = JSON.parse(request.messages[1].content as string);
      const nth = asked.filter((one) => one.name === name).length;
      asked.push({ name, data, request });
      const json = answer(name, data, nth);
      const usage = { ...NO_COST, calls: 1 };
      return {
        text: JSON.stringify(json),
        json,
        toolCalls: [],
        finishReason: 'stop',
        model: 'm',
        usage,
        cached: false,
      };
    },
    close: async () => {},
  } as Shopper;
}

/** A model that answers nothing that could be used. */
export const SILENT: LanguageModel = shopper([], { sub_goal: () => ({}), step: () => ({}) });
