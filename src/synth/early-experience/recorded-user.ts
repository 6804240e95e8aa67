// The user of a recorded conversation: says again what was said, as long as the agent says what it said then, and hands
// over to a simulator where a fork leaves the record.

import { NO_COST } from '../../core/cost.js';
import type { Message } from '../../env/tools/message.js';
import { spokenMessages } from '../../env/tools/message.js';
import type { UserQuery, UserSimulator, UserTurn } from '../../env/tools/tools-family.js';

export class RecordedUser implements UserSimulator {
  readonly version: string;
  private readonly spoken: ReturnType<typeof spokenMessages>;

  constructor(
    recorded: readonly Message[],
    private readonly fallback: UserSimulator,
  ) {
    this.spoken = spokenMessages(recorded);
    this.version = `recorded, else ${fallback.version}`;
  }

  async open(query: UserQuery, signal?: AbortSignal): Promise<UserTurn> {
    const first = this.spoken[0];
    if (first?.role !== 'user') return this.fallback.open(query, signal);
    return { content: first.content, done: false, cost: NO_COST };
  }

  async reply(query: UserQuery, signal?: AbortSignal): Promise<UserTurn> {
    const spoken = spokenMessages(query.messages);
    const isRecorded = spoken.every(({ role, content }, i) => {
      const then = this.spoken[i];
      return then?.role === role && then.content === content;
    });
    if (!isRecorded) return this.fallback.reply(query, signal);
    const next = this.spoken[spoken.length];
    // The record ends with what the agent said: the user had nothing to add.
    if (next === undefined) return { content: '', done: true, cost: NO_COST };
    if (next.role !== 'user') return this.fallback.reply(query, signal);
    return { content: next.content, done: spoken.length + 1 === this.spoken.length, cost: NO_COST };
  }
}
