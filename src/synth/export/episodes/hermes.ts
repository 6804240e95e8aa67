// Conversations as text turns in the way of Hermes (NousResearch/hermes-function-calling-v1): tools in the system prompt,
// calls and answers in tags. Each turn has a weight: 0 for all but the agent's, and for its masked ones.

import type { JsonObject } from '../../../core/json.js';
import type { Message } from '../../../env/index.js';
import type { EpisodeRecord } from '../../../replay/index.js';
import { answersText, systemText, turnText } from './call-text.js';
import { type EpisodeFormat, type FormatContext, type FormatRow, ONLY_TABLE } from './format.js';
import { toLastTurn } from './messages.js';
import { escapeText, hasSpecialTokens } from './special-tokens.js';

export interface TextTurn {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly text: string;
  /** Whether it may be learnt from. */
  readonly isLearnt: boolean;
}

const NAMES = { system: 'system', user: 'human', assistant: 'gpt', tool: 'tool' } as const;
const TURN = [
  { name: 'from', dtype: 'string' },
  { name: 'value', dtype: 'string' },
  { name: 'weight', dtype: 'int64' },
];

export function hermesFormat(context: FormatContext): EpisodeFormat {
  const features: JsonObject[] = [
    { name: 'id', dtype: 'string' },
    { name: 'conversations', list: TURN },
  ];
  return {
    tables: { [ONLY_TABLE]: { features, isImitated: true } },
    *rows(record): Generator<FormatRow> {
      const turns = textTurns(record, toLastTurn(record.messages, context.adapt), context);
      if (!turns.some((turn) => turn.isLearnt)) return;
      const conversations = turns.map(({ role, text, isLearnt }) => ({
        from: NAMES[role],
        value: text,
        weight: Number(isLearnt),
      }));
      yield { split: record.split, value: { id: record.id, conversations } };
    },
  };
}

/** The conversation as text, answers to the calls of one turn together; special tokens in what anybody said are escaped. */
export function textTurns(
  record: EpisodeRecord,
  messages: readonly Message[],
  { tools, adapt }: Pick<FormatContext, 'tools' | 'adapt'>,
): TextTurn[] {
  if (messages.some(hasSpecialTokens)) adapt('special tokens escaped');
  const turns: TextTurn[] = [];
  const answers: string[] = [];
  const flush = (): void => {
    if (answers.length > 0) turns.push({ role: 'tool', text: answersText(answers), isLearnt: false });
    answers.length = 0;
  };
  messages.forEach((message, index) => {
    if (message.role === 'tool') {
      answers.push(message.content);
      return;
    }
    flush();
    if (message.role === 'assistant') {
      turns.push({ role: 'assistant', text: turnText(message), isLearnt: !record.masked?.includes(index) });
    } else if (message.role === 'user') {
      turns.push({ role: 'user', text: escapeText(message.content), isLearnt: false });
    } else {
      const text = index === 0 ? systemText(message.content, tools) : message.content;
      turns.push({ role: 'system', text, isLearnt: false });
    }
  });
  flush();
  return turns;
}
