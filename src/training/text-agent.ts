// A policy of text as an agent of worlds of tools, so that whatever lives and records episodes can have it act.

import { NO_COST } from '../core/cost.js';
import { reverieError } from '../core/errors.js';
import { Rng } from '../core/rng.js';
import type { CallSpec } from '../env/tools/domain.js';
import type { Message } from '../env/tools/message.js';
import type { ToolsAction, ToolsPolicy, ToolsPolicyQuery, ToolsTurn } from '../env/tools/tools-family.js';
import type { TextPolicy, TextSituation, TextTurn } from '../rl/text/text-policy.js';

/** How a policy of text sees a domain: see `TextView` of the run room. */
export interface TextAgentView {
  /** How a call is written among those that are listed. */
  readonly lineOf: (call: CallSpec) => string;
}

/** Draws its commands as in training; the seed of the episode and the step decide the draw. */
export class TextPolicyAgent implements ToolsPolicy {
  constructor(
    private readonly policy: TextPolicy,
    private readonly view: TextAgentView,
  ) {}

  /** Changes with the weights. */
  get version(): string {
    return this.policy.version;
  }

  /** @throws DOMAIN_UNFIT */
  async act(query: ToolsPolicyQuery): Promise<ToolsTurn> {
    const { situation, callOf } = this.situation(query);
    const draw = Rng.fromSeed(query.seed).split('text-policy', query.step).uniform();
    const [{ choice, written }] = await this.policy.decide([situation], [draw]);
    const call = callOf(written?.text ?? situation.admissible[choice])!;
    return { action: { content: null, toolCalls: [{ id: `call_${query.step}`, ...call }] }, cost: NO_COST };
  }

  /** What it would choose among, and all it would choose by. @throws DOMAIN_UNFIT */
  situation(query: ToolsPolicyQuery): { readonly situation: TextSituation } & Pick<Offered, 'callOf'> {
    const { callOf, ...offered } = this.offered(query);
    return { callOf, situation: { ...this.told(query), ...offered } };
  }

  private offered({ task, admissible }: ToolsPolicyQuery): Offered {
    const found = admissible?.();
    if (found === undefined || found.lines.length === 0)
      throw reverieError('DOMAIN_UNFIT', {
        problem: `A policy of text chooses among commands, and "agent" does not say which do something (task "${task.id}").`,
        hint: "Train in a domain of the one tool act whose rules have admissible(state), or whose state lists texts as admissible: ALFWorld's games and games of PDDL do.",
      });
    const { lines, readings, shown, callOf } = found;
    return { admissible: lines, callOf, ...(readings && { readings }), ...(shown && { shown }) };
  }

  /** As `TextEpisode` sees it. */
  private told({ messages, task }: ToolsPolicyQuery): Pick<TextSituation, 'goal' | 'text' | 'opening' | 'turns'> {
    const { goal: told } = task.user;
    const firstTurn = messages.findIndex(({ role }) => role === 'assistant');
    const opening = seenIn(messages.slice(0, firstTurn < 0 ? messages.length : firstTurn));
    const turns = this.turns(messages);
    const goal = opening.includes(told) ? told : opening;
    return { goal, text: turns.at(-1)?.seen ?? opening, opening, turns };
  }

  private turns(messages: readonly Message[]): TextTurn[] {
    return messages.flatMap((message, at) => {
      if (message.role !== 'assistant') return [];
      const next = messages.findIndex(({ role }, i) => i > at && role === 'assistant');
      const seen = seenIn(messages.slice(at + 1, next < 0 ? messages.length : next));
      return [{ said: this.said(message), seen }];
    });
  }

  /** An action as it is written among the choices. */
  said(message: ToolsAction): string {
    const { lineOf } = this.view;
    const [call] = message.toolCalls ?? [];
    return call === undefined ? '' : lineOf(call);
  }
}

interface Offered extends Pick<TextSituation, 'admissible' | 'readings' | 'shown'> {
  /** The call that a command stands for. */
  readonly callOf: (text: string) => CallSpec | undefined;
}

function seenIn(messages: readonly Message[]): string {
  return messages.flatMap(({ role, content }) => (role === 'user' || role === 'tool' ? [content] : [])).join('\n');
}
