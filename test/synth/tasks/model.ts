// A language model that answers what it is told to, and keeps what it was asked.

import type { Json } from '../../../src/core/canonical-json.js';
import { NO_COST } from '../../../src/core/cost.js';
import type { ChatReply, ChatRequest, LanguageModel } from '../../../src/llm/language-model.js';

export interface ScriptedModel extends LanguageModel {
  readonly requests: ChatRequest[];
}

/** Replies in turn, the last one for ever after; each is JSON, or an error to throw. */
export function scriptedModel(...replies: (Json | Error)[]): ScriptedModel {
  const requests: ChatRequest[] = [];
  return {
    version: 'scripted-model',
    requests,
    chat: async (request): Promise<ChatReply> => {
      const reply = replies[Math.min(requests.length, replies.length - 1)];
      requests.push(request);
      if (reply instanceof Error) throw reply;
      const usage = { ...NO_COST, calls: 1 };
      return {
        text: JSON.stringify(reply),
        json: reply,
        toolCalls: [],
        finishReason: 'stop',
        model: 'm',
        usage,
        cached: false,
      };
    },
    close: async () => {},
  };
}
