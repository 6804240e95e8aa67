// ShareGPT rows as LLaMA-Factory reads them, with its dataset_info.json. Turns must alternate: human or observation, then gpt
// or function_call; what does not is split or folded, and counted. LLaMA-Factory joins turns as text: special tokens are escaped.

import type { JsonObject } from '../../../core/canonical-json.js';
import type { AssistantMessage, Message, ToolMessage } from '../../../env/tools/message.js';
import { callJson, escapeText, hasSpecialTokens, thoughtText } from './call-text.js';
import { type DataFiles, type EpisodeFormat, type FormatContext, type FormatRow, ONLY_TABLE } from './format.js';
import { callsOf, unmaskedMessages } from './messages.js';

interface Turn {
  readonly from: 'human' | 'observation' | 'gpt' | 'function_call';
  readonly value: string;
}

const FEATURES: readonly JsonObject[] = [
  {
    name: 'conversations',
    list: [
      { name: 'from', dtype: 'string' },
      { name: 'value', dtype: 'string' },
    ],
  },
  { name: 'system', dtype: 'string' },
  { name: 'tools', dtype: 'string' },
];

export function shareGptFormat({ domain, tools, adapt }: FormatContext): EpisodeFormat {
  const toolsText = JSON.stringify(tools.map((tool) => tool.function));
  return {
    tables: { [ONLY_TABLE]: { features: FEATURES, splitFolders: true, isImitated: true } },
    *rows(record): Generator<FormatRow> {
      const messages = unmaskedMessages(record, adapt);
      const turns = new Alternation(adapt).turns(messages, answersIn(record.messages));
      if (turns.length === 0) return;
      if (messages.some(hasSpecialTokens)) adapt('special tokens escaped');
      const system = messages.flatMap((message) => (message.role === 'system' ? [message.content] : [])).join('\n\n');
      yield {
        split: record.split,
        value: { conversations: turns as unknown as JsonObject[], system, tools: toolsText },
      };
    },
    files: (data) => ({ 'dataset_info.json': datasetInfo(domain.id, data) }),
  };
}

function datasetInfo(domain: string, data: DataFiles): JsonObject {
  const name = domain.replace(/[^A-Za-z0-9]+/g, '_');
  const splits = [...(data.get(ONLY_TABLE)?.keys() ?? [])];
  return Object.fromEntries(
    splits.map((split) => [
      `${name}_${split}`,
      {
        file_name: `data/${split}`,
        formatting: 'sharegpt',
        columns: { messages: 'conversations', system: 'system', tools: 'tools' },
        tags: {
          role_tag: 'from',
          content_tag: 'value',
          user_tag: 'human',
          assistant_tag: 'gpt',
          observation_tag: 'observation',
          function_tag: 'function_call',
        },
      },
    ]),
  );
}

function answersIn(messages: readonly Message[]): Map<string, ToolMessage> {
  return new Map(messages.flatMap((message) => (message.role === 'tool' ? [[message.toolCallId, message]] : [])));
}

/** Puts turns in strict alternation, beginning with the user's side and ending with the agent's. */
class Alternation {
  private readonly done: Turn[] = [];
  private isCut = false;

  constructor(private readonly adapt: (reason: string) => void) {}

  turns(messages: readonly Message[], answers: ReadonlyMap<string, ToolMessage>): readonly Turn[] {
    for (const message of messages) {
      if (this.isCut) break;
      if (message.role === 'user') this.hear({ from: 'human', value: escapeText(message.content) });
      if (message.role === 'assistant') this.act(message, answers);
    }
    return this.done.slice(0, this.done.length - (this.done.length % 2));
  }

  private act(message: AssistantMessage, answers: ReadonlyMap<string, ToolMessage>): void {
    const calls = callsOf(message);
    const thoughts = message.reasoning ? thoughtText(message.reasoning) : '';
    if (calls.length === 0) {
      this.speak({ from: 'gpt', value: thoughts + escapeText(message.content ?? '') });
      return;
    }
    if (calls.length > 1) this.adapt('parallel calls made one after another');
    if (message.content) this.adapt('text beside a call made a thought');
    const beside = [message.reasoning, message.content].filter(Boolean).join('\n\n');
    calls.forEach((call, index) => {
      const before = index === 0 && beside !== '' ? thoughtText(beside) : '';
      this.speak({ from: 'function_call', value: before + callJson(call) });
      const answer = answers.get(call.id);
      if (answer) this.hear({ from: 'observation', value: escapeText(answer.content) });
    });
  }

  private hear(turn: Turn): void {
    const last = this.done.at(-1);
    if (this.isCut) return;
    if (last?.from === 'human' && turn.from === 'human') {
      this.adapt("user's messages in a row joined");
      this.done.splice(-1, 1, { from: 'human', value: `${last.value}\n\n${turn.value}` });
    } else if (last?.from === 'human' || last?.from === 'observation') {
      this.cut();
    } else this.done.push(turn);
  }

  private speak(turn: Turn): void {
    const last = this.done.at(-1);
    if (this.isCut) return;
    if (last === undefined) this.adapt('turns of the agent before the user speaks left out');
    else if (last.from === 'human' || last.from === 'observation') this.done.push(turn);
    else if (last.from === 'gpt' && turn.from === 'gpt') {
      this.adapt("agent's messages in a row joined");
      this.done.splice(-1, 1, { from: 'gpt', value: `${last.value}\n\n${turn.value}` });
    } else this.cut();
  }

  private cut(): void {
    this.adapt('cut where turns do not alternate');
    this.isCut = true;
  }
}
