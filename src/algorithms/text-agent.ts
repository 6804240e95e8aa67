// A policy of text as an agent of worlds of tools, so that whatever lives and records episodes can have it act.

import { NO_COST } from '../core/cost.js';
import { reverieError } from '../core/errors.js';
import { Rng } from '../core/rng.js';
import type { Message, ToolsPolicy, ToolsPolicyQuery, ToolsTurn } from '../env/index.js';
import type { TextPolicy, TextSituation, TextTurn } from '../rl/index.js';
import { type CallForms, type Choice, choiceText, chosenOf } from '../synth/index.js';

/** Draws its commands as in training; the seed of the episode and the step decide the draw. */
export class TextPolicyAgent implements ToolsPolicy {
  /** @param forms  what it chooses from where nobody lists commands */
  constructor(
    private readonly policy: TextPolicy,
    private readonly forms?: CallForms,
  ) {}

  /** Changes with the weights. */
  get version(): string {
    return this.policy.version;
  }

  /** @throws TEXT_COMMANDS_UNKNOWN */
  async act(query: ToolsPolicyQuery): Promise<ToolsTurn> {
    const choices = this.choices(query);
    const situation = situationOf(query, choices, this.forms !== undefined);
    const draw = Rng.fromSeed(query.seed).split('text-policy', query.step).uniform();
    const [{ choice }] = await this.policy.decide([situation], [draw]);
    const { content, call } = choices[choice].action;
    const action = call === undefined ? { content } : { content, toolCalls: [{ id: `call_${query.step}`, ...call }] };
    return { action, cost: NO_COST };
  }

  private choices({ messages, tools, task, admissible }: ToolsPolicyQuery): readonly Choice[] {
    if (this.forms !== undefined) return this.forms.at(messages);
    const commands = admissible?.() ?? [];
    if (commands.length === 0) throw reverieError('TEXT_COMMANDS_UNKNOWN', { id: 'agent', task: task.id });
    const { name } = tools[0];
    return commands.map((text) => ({ text, action: { content: null, call: { name, arguments: { text } } } }));
  }
}

/** As `TextEpisode` sees it. */
function situationOf(
  { messages, task }: ToolsPolicyQuery,
  choices: readonly Choice[],
  isOfForms: boolean,
): TextSituation {
  const { goal: told } = task.user;
  const firstTurn = messages.findIndex(({ role }) => role === 'assistant');
  const opening = seenIn(messages.slice(0, firstTurn < 0 ? messages.length : firstTurn));
  const turns = turnsOf(messages, isOfForms);
  const goal = opening.includes(told) ? told : opening;
  return { goal, text: turns.at(-1)?.seen ?? opening, turns, admissible: choices.map(({ text }) => text) };
}

function turnsOf(messages: readonly Message[], isOfForms: boolean): TextTurn[] {
  return messages.flatMap((message, at) => {
    if (message.role !== 'assistant') return [];
    const next = messages.findIndex(({ role }, i) => i > at && role === 'assistant');
    const seen = seenIn(messages.slice(at + 1, next < 0 ? messages.length : next));
    const said = isOfForms ? choiceText(chosenOf(message)) : String(message.toolCalls?.[0]?.arguments.text ?? '');
    return [{ said, seen }];
  });
}

function seenIn(messages: readonly Message[]): string {
  return messages.flatMap(({ role, content }) => (role === 'user' || role === 'tool' ? [content] : [])).join('\n');
}
