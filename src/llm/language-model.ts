// A language model as everybody else sees it: messages in, text, calls or checked JSON out, with what it cost.
// Servers, dialects, caches and in-process models hide behind this.

import type { Json, JsonObject } from '../core/canonical-json.js';
import type { Cost } from '../core/cost.js';

export interface ChatToolCall {
  readonly id: string;
  readonly name: string;
  /** As the model wrote it; may be malformed. */
  readonly arguments: string;
}

export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | {
      readonly role: 'assistant';
      readonly content: string | null;
      /** Its reasoning; returned to servers that require it in a chain of calls. */
      readonly reasoning?: string;
      readonly toolCalls?: readonly ChatToolCall[];
    }
  | { readonly role: 'tool'; readonly toolCallId: string; readonly content: string };

export interface ChatTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
}

export interface ChatRequest {
  /** Stable parts first, so that servers' prefix caches hit. */
  readonly messages: readonly ChatMessage[];
  /** The reply must be JSON that fits the schema; keys in its order (reasoning first). `mend` may normalize it first. */
  readonly schema?: { readonly name: string; readonly schema: JsonObject; readonly mend?: (reply: Json) => Json };
  readonly tools?: readonly ChatTool[];
  readonly temperature?: number;
  readonly topP?: number;
  readonly maxTokens?: number;
  readonly stop?: readonly string[];
  /** Asks for log-probabilities of the tokens, where the server gives them. */
  readonly logprobs?: boolean;
  /** Asks for the tokens themselves, of the prompt and of the reply, where the server gives them. */
  readonly tokens?: boolean;
  readonly seed?: number;
  /** Number of the try at the same thing: another attempt is another request, also in the cache. */
  readonly attempt?: number;
  /** The episode of the request: all requests of an episode go to one server, whose prefix cache has their common part. Answers do not depend on it. */
  readonly session?: string;
  /** Who asks, for the account of what was spent. Answers do not depend on it. */
  readonly role?: string;
}

/** A reply as tokens, exactly as the server read and wrote them. */
export interface ReplyTokens {
  /** Ids of the whole prompt, template and all. */
  readonly prompt: readonly number[];
  /** Ids of the reply. */
  readonly reply: readonly number[];
  /** Log-probability of each token of the reply under the policy that wrote it; absent where the server gives none. */
  readonly logprobs?: readonly number[];
  /** Which weights wrote it, as the server numbers them; absent where it does not say. */
  readonly weightVersion?: string;
}

export interface ChatReply {
  readonly text: string;
  /** What a thinking model wrote before, where the server gives it apart. */
  readonly reasoning?: string;
  /** The reply as JSON, checked against `schema`; only where one was asked for. */
  readonly json?: Json;
  readonly toolCalls: readonly ChatToolCall[];
  readonly finishReason: 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other';
  /** Mean log-probability of the reply's tokens; absent where the server gives none. */
  readonly meanLogprob?: number;
  /** Only where `tokens` was asked for and the server gives them. */
  readonly tokens?: ReplyTokens;
  /** The model that answered, as the server names it. */
  readonly model: string;
  /** What the call cost when it was made: the same from a cache as live, so that records do not depend on it. */
  readonly usage: Cost;
  /** Whether token counts were missing or could not be true, so that they were estimated from the text. */
  readonly usageEstimated?: boolean;
  /** Whether it came from a cache, so that nothing was spent now. */
  readonly cached: boolean;
}

export interface ChatOptions {
  readonly signal?: AbortSignal;
}

export interface LanguageModel {
  /** Identifies model, endpoint-independent parameters and dialect; recorded with everything it answers. */
  readonly version: string;
  /**
   * Throws LLM_UNREACHABLE, LLM_REFUSED, LLM_REPLY_INVALID, LLM_REPLY_TOO_LARGE, LLM_TIMEOUT, LLM_REPLAY_MISS,
   * BUDGET_SPENT, or an AbortError. Each error says whether another attempt may help (`values.retryable`).
   */
  chat(request: ChatRequest, options?: ChatOptions): Promise<ChatReply>;
  close(): Promise<void>;
}
