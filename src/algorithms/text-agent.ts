// A policy of text as an agent of worlds of tools, so that whatever lives and records episodes can have it act.

import { NO_COST } from '../core/cost.js';
import { reverieError } from '../core/errors.js';
import { Rng } from '../core/rng.js';
import type { Message, ToolsPolicy, ToolsPolicyQuery, ToolsTurn } from '../env/index.js';
import type { TextPolicy, TextSituation, TextTurn } from '../rl/index.js';

/** Draws its commands as in training; the seed of the episode and the step decide the draw. */
export class TextPolicyAgent implements ToolsPolicy {
  constructor(private readonly policy: TextPolicy) {}

  /** Changes with the weights. */
  get version(): string {
    return this.policy.version;
  }

  /** @throws TEXT_COMMANDS_UNKNOWN */
  async act(query: ToolsPolicyQuery): Promise<ToolsTurn> {
    const situation = situationOf(query);
    const draw = Rng.fromSeed(query.seed).split('text-policy', query.step).uniform();
    const [{ choice }] = await this.policy.decide([situation], [draw]);
    const call = {
      id: `call_${query.step}`,
      name: query.tools[0].name,
      arguments: { text: situation.admissible[choice] },
    };
    return { action: { content: null, toolCalls: [call] }, cost: NO_COST };
  }
}

/** As `TextEpisode` sees it. */
function situationOf({ messages, task, admissible }: ToolsPolicyQuery): TextSituation {
  const commands = admissible?.();
  if (commands === undefined || commands.length === 0)
    throw reverieError('TEXT_COMMANDS_UNKNOWN', { id: 'agent', task: task.id });
  const opening = messages.flatMap(({ role, content }) => (role === 'user' ? [content] : [])).join('\n');
  const turns = turnsOf(messages);
  const goal = opening.includes(task.user.goal) ? task.user.goal : opening;
  return { goal, text: turns.at(-1)?.seen ?? opening, turns, admissible: commands };
}

function turnsOf(messages: readonly Message[]): TextTurn[] {
  const seen = new Map(
    messages.flatMap((one) => (one.role === 'tool' ? [[one.toolCallId, one.content] as const] : [])),
  );
  const calls = messages.flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []) : []));
  return calls.map((call) => ({ said: String(call.arguments.text), seen: seen.get(call.id) ?? '' }));
}
