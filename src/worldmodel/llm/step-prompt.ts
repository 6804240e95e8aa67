// What a language model is told to be the tools of a domain: a system prompt that stays the same for all its calls (so that
// servers keep it in their prefix caches), and one user message of sections for the call at hand. Where the prompt is
// limited as a whole and would be longer, both are cut to what the call is about.

import type { CallQuery } from '../../env/index.js';
import { stateHash } from '../../env/index.js';
import type { JsonObject } from '../../json.js';
import type { ChatMessage } from '../../llm/index.js';
import type { ExperienceIndex } from '../../replay/index.js';
import { historyOf } from './history.js';
import { bytesOf, type PromptParts, type Refused, renderPrompt } from './prompt-parts.js';
import { otherReferences, ownReferences, type RetrievalOptions } from './references.js';
import { shortPrompt } from './short-prompt.js';
import { sliceState } from './state-slice.js';

/** Counts changes of the prompt that can change answers. */
export const PROMPT_VERSION = 2;

export interface PromptOptions {
  readonly mode: 'typed' | 'text';
  readonly retrieval: RetrievalOptions;
  readonly historyTokens: number;
  readonly stateTokens: number;
  /** Of the whole prompt; undefined or null: no limit. */
  readonly promptTokens?: number | null;
}

/**
 * @throws LLM_PROMPT_TOO_LONG where not even the least that a call needs is within `promptTokens`
 */
export function stepMessages(
  query: CallQuery,
  options: PromptOptions,
  index: ExperienceIndex | undefined,
  refused?: Refused,
): ChatMessage[] {
  const whole = wholePrompt(query, options, index, refused);
  const messages = renderPrompt(whole);
  const limit = options.promptTokens ?? Number.POSITIVE_INFINITY;
  if (bytesOf(messages) <= 4 * limit) return messages;
  return shortPrompt(whole, query, { tokens: limit, stateTokens: options.stateTokens });
}

function wholePrompt(
  query: CallQuery,
  options: PromptOptions,
  index: ExperienceIndex | undefined,
  refused: Refused | undefined,
): PromptParts {
  const { state, call, domain } = query;
  const history = historyOf(query, options.historyTokens);
  const shown = history.filter(({ role }) => role === 'tool').length;
  const others = index === undefined ? [] : otherReferences(query, stateHash(state), index, options.retrieval);
  const references: JsonObject[] = [...others, ...ownReferences(query, shown, options.retrieval.maxChars)];
  const asked = { name: call.name, arguments: call.arguments };
  const texts = [...references, ...history].map((entry) => JSON.stringify(entry));
  const slice = () => sliceState({ state, call: asked, texts, tokens: options.stateTokens });
  return {
    mode: options.mode,
    policy: domain.policy,
    tools: domain.tools,
    schema: domain.stateSchema,
    references,
    history,
    state: options.mode === 'typed' ? slice() : undefined,
    call: asked,
    refused,
  };
}
