// Recipe: mistakes that are noticed and put right, over any agent. Before some of its calls a wrong one is made first, is refused by
// the tool, and is followed by a thought and the right call (AgentRefine, 2501.01702; Agent-R, 2501.11425; STeP, 2505.20023). The
// mistake is marked: it stays in the episode, nobody learns it; what puts it right is learnt.

import { z } from 'zod';
import { Rng } from '../../../../core/rng.js';
import {
  type CallSpec,
  type Message,
  Phrases,
  type ToolsAction,
  type ToolsDomain,
  type ToolsPolicy,
  type ToolsPolicyQuery,
  type ToolsTurn,
} from '../../../../env/index.js';
import { defineRecipe } from '../recipe.js';
import { isHarmless, mistakesFor } from './mistakes.js';

const schema = z.strictObject({
  kind: z
    .literal('corrections')
    .describe('Mistakes that are noticed and put right; the mistake is not learnt, the correction is.'),
  mistakes: z.number().min(0).max(1).default(0.3).describe('Probability, for each call, that a wrong one comes first.'),
});

export const correctionsRecipe = defineRecipe({
  schema,
  agent: (inner, settings, domain) => new CorrectedAgent(inner, settings, domain),
});

/** Wrong calls that are tried at one place before the right one is made at once. */
const MOST_TRIALS = 6;

class CorrectedAgent implements ToolsPolicy {
  readonly version: string;
  private readonly phrases: Phrases;

  constructor(
    private readonly inner: ToolsPolicy,
    private readonly settings: z.output<typeof schema>,
    private readonly domain: ToolsDomain,
  ) {
    this.version = `${inner.version}; corrections, ${settings.mistakes} mistakes`;
    this.phrases = Phrases.of(domain);
  }

  async act(query: ToolsPolicyQuery, signal?: AbortSignal): Promise<ToolsTurn> {
    const decision = await this.inner.act(query, signal);
    const [call, ...others] = decision.action.toolCalls ?? [];
    if (call === undefined || others.length > 0) return decision;
    const rng = Rng.fromSeed(query.seed).split('corrections', query.step);
    const problem = refusalIn(query.messages.at(-1), this.phrases);
    // What a model wrote is kept as it wrote it.
    if (decision.tokens !== undefined && problem !== undefined) return decision;
    if (problem !== undefined) return { ...decision, action: this.reflected(decision.action, problem, rng) };
    if (rng.uniform() >= this.settings.mistakes) return decision;
    const wrong = await this.mistake(call, query, rng);
    if (wrong === undefined) return decision;
    const action = { content: null, toolCalls: [{ id: call.id, name: wrong.name, arguments: wrong.arguments }] };
    return { action, cost: decision.cost, isMistake: true };
  }

  private async mistake(call: CallSpec, { task, messages }: ToolsPolicyQuery, rng: Rng): Promise<CallSpec | undefined> {
    const possible = mistakesFor(call, this.domain, task, rng).slice(0, MOST_TRIALS);
    for (const wrong of possible) {
      if (await isHarmless(wrong, { domain: this.domain, task, messages })) return wrong;
    }
    return undefined;
  }

  /** The call that follows a refused one, with the thought that led to it. */
  private reflected(action: ToolsAction, problem: string, rng: Rng): ToolsAction {
    return action.reasoning === undefined
      ? { ...action, reasoning: this.phrases.say('noticed', { problem }, rng) }
      : action;
  }
}

/** What a tool has just refused a call for, without the word "Error" and the full stop. */
function refusalIn(message: Message | undefined, phrases: Phrases): string | undefined {
  if (message?.role !== 'tool' || !(message.isError || phrases.isRefusal(message.content))) return undefined;
  return message.content.replace(/^Error:\s*/, '').replace(/\.$/, '');
}
