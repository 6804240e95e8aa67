// A prompt for one call within a limit, for models whose window is small. Rules, the called tool and the call are always
// there. The rest is taken by what the call is about: conversation (newest first), references (own ones, then the nearest),
// the part of the state, what the schema says of it, lines of the policy, other tools. What is left out is counted in a
// section of its own. The same query gives the same prompt.

import { reverieError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import type { CallQuery, CallSpec, ToolSpec } from '../../env/index.js';
import type { ChatMessage } from '../../llm/index.js';
import { wordsOf } from '../tools/tokens.js';
import { toolOf } from '../tools/tool-of.js';
import { historyOf } from './history.js';
import { bytesOf, type PromptParts, type Refused, renderPrompt } from './prompt-parts.js';
import { clipped, oneLine } from './sections.js';
import { partsOf, schemaForms } from './short-schema.js';
import { singular, sliceState } from './state-slice.js';

export interface PromptLimit {
  /** Of the whole prompt, four bytes each. */
  readonly tokens: number;
  readonly stateTokens: number;
}

/** Up to which share of the bytes beyond the least prompt each part, in this order, may fill it. */
const FILLED = {
  typed: { history: 0.1, references: 0.35, state: 0.8, schema: 0.92, policy: 1 },
  text: { history: 0.5, references: 0.8, state: 0.8, schema: 0.8, policy: 1 },
} as const;

/** Kept free for a refused answer, so that a second try begins as the first one did: servers have it in their prefix caches. */
const REFUSED_SHARE = 1 / 8;
/** Bytes of a heading, keys, and what is said of a second try. */
const REFUSED_FRAME = 120;
/** A call larger than this share is at fault itself where the prompt is too long. */
const CALL_SHARE = 1 / 2;
/** What did not fit is tried again in a size smaller by this, so often. */
const SHRINK = 0.8;
const TRIES = 16;

/** @throws LLM_PROMPT_TOO_LONG */
export function shortPrompt(whole: PromptParts, query: CallQuery, limit: PromptLimit): ChatMessage[] {
  const short = new ShortPrompt(whole, query, limit);
  short.fillAll();
  return short.messages();
}

class ShortPrompt {
  private parts: PromptParts;
  private readonly bytes: number;
  private readonly least: number;

  constructor(
    private readonly whole: PromptParts,
    private readonly query: CallQuery,
    private readonly limit: PromptLimit,
  ) {
    this.bytes = Math.floor(4 * limit.tokens * (1 - REFUSED_SHARE));
    const tools = whole.tools.filter(({ name }) => name === whole.call.name);
    const bare = { ...whole, policy: '', tools, schema: {}, references: [], history: [], refused: undefined };
    this.parts = { ...bare, state: this.sliced(0) };
    this.least = this.sizeOf(this.parts);
    if (this.least > this.bytes) throw this.tooLong();
  }

  messages(): ChatMessage[] {
    const { refused } = this.whole;
    const shown = refused && shortRefused(refused, 4 * this.limit.tokens * REFUSED_SHARE);
    return renderPrompt(this.counted({ ...this.parts, refused: shown }));
  }

  fillAll(): void {
    const shares = FILLED[this.whole.mode];
    this.fillHistory(this.upTo(shares.history));
    this.fillReferences(this.upTo(shares.references));
    if (this.whole.state !== undefined) {
      this.fillState(this.upTo(shares.state));
      this.fillSchema(this.upTo(shares.schema));
    }
    this.fillPolicy(this.upTo(shares.policy));
    this.fillTools(this.bytes);
  }

  private upTo(share: number): number {
    return this.least + share * (this.bytes - this.least);
  }

  private fillHistory(most: number): void {
    this.shrink(most, (bytes) => {
      const history = historyOf(this.query, bytes / 4, Math.ceil(bytes / 2));
      // Shorter messages, not more of them: what is within the tokens of the conversation is all there is to show.
      return { history: history.slice(-this.whole.history.length) };
    });
  }

  private fillReferences(most: number): void {
    const isOwn = ({ episode }: JsonObject) => episode === 'own';
    const { references } = this.whole;
    const wanted = [...references.filter(isOwn).reverse(), ...references.filter((one) => !isOwn(one))];
    const kept = new Set<JsonObject>();
    for (const reference of wanted) {
      kept.add(reference);
      if (!this.take({ references: references.filter((one) => kept.has(one)) }, most)) kept.delete(reference);
    }
  }

  private fillState(most: number): void {
    this.shrink(most, (bytes) => ({ state: this.sliced(Math.min(this.limit.stateTokens, bytes / 4)) }));
  }

  /** Of the parts that the state shows, or that the called tool speaks of. */
  private fillSchema(most: number): void {
    const { call, schema } = this.whole;
    const tool = toolOf(this.query.domain, call.name);
    const spoken = `${call.name} ${tool?.description ?? ''}`.toLowerCase();
    const shown = this.parts.state?.state ?? {};
    const isShown = (key: string) => Object.keys((shown[key] ?? {}) as object).length > 0;
    const kept = partsOf(schema).filter((key) => isShown(key) || spoken.includes(singular(key.toLowerCase())));
    for (const form of [schema, ...schemaForms(schema, new Set(kept))]) if (this.take({ schema: form }, most)) return;
  }

  private fillPolicy(most: number): void {
    const { call, policy } = this.whole;
    const tool = toolOf(this.query.domain, call.name);
    this.shrink(most, (bytes) => ({ policy: shortPolicy(policy, call, tool, bytes).text }));
  }

  private fillTools(most: number): void {
    const { tools, call } = this.whole;
    const kept = new Set([call.name]);
    for (const { name } of tools) {
      if (kept.has(name)) continue;
      kept.add(name);
      if (!this.take({ tools: tools.filter((tool) => kept.has(tool.name)) }, most)) kept.delete(name);
    }
  }

  /** The largest that fits of what is made for fewer and fewer bytes; else what was there stays. */
  private shrink(most: number, make: (bytes: number) => Partial<PromptParts>): void {
    let bytes = most - this.sizeOf(this.parts);
    for (let i = 0; i < TRIES && bytes > 0; i++, bytes *= SHRINK) if (this.take(make(bytes), most)) return;
  }

  private take(change: Partial<PromptParts>, most: number): boolean {
    const changed = { ...this.parts, ...change };
    if (this.sizeOf(changed) > most) return false;
    this.parts = changed;
    return true;
  }

  private sizeOf(parts: PromptParts): number {
    return bytesOf(renderPrompt(this.counted(parts)));
  }

  /** With section Omitted. */
  private counted(parts: PromptParts): PromptParts {
    const { whole } = this;
    const lines = (text: string) => text.split('\n').filter((line) => line.trim() !== '').length;
    const counts = {
      messages: whole.history.length - parts.history.length,
      references: whole.references.length - parts.references.length,
      linesOfPolicy: lines(whole.policy) - lines(parts.policy),
      tools: whole.tools.length - parts.tools.length,
      ...(whole.state && { partsOfSchema: partsOf(whole.schema).length - partsOf(parts.schema).length }),
    };
    return { ...parts, omitted: Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)) };
  }

  private sliced(tokens: number): PromptParts['state'] {
    if (this.whole.state === undefined) return undefined;
    const texts = [...this.whole.references, ...this.whole.history].map((entry) => JSON.stringify(entry));
    return sliceState({ state: this.query.state, call: this.whole.call, texts, tokens, isStrict: true });
  }

  private tooLong(): Error {
    const { call } = this.whole;
    const isOfCall = Buffer.byteLength(oneLine({ ...call })) > this.bytes * CALL_SHARE;
    return reverieError('LLM_PROMPT_TOO_LONG', {
      tool: call.name,
      needed: Math.ceil(this.least / 4 / (1 - REFUSED_SHARE)),
      limit: this.limit.tokens,
      ...(isOfCall && { ofModel: true }),
    });
  }
}

function shortRefused({ previous, problems }: Refused, most: number): Refused {
  const bytes = most - REFUSED_FRAME;
  if (Buffer.byteLength(oneLine({ previous, problems: [...problems] })) <= bytes) return { previous, problems };
  // Quotes within quotes take two bytes, a letter up to four, and what is no letter up to six.
  const chars = Math.floor(bytes / 12);
  return { previous: clipped(JSON.stringify(previous), chars), problems: [clipped(problems.join(' '), chars)] };
}

// The lines of a policy that speak of a call: those that share its rarest words.

/** Shorter words tell nothing of what a line is about. */
const LEAST_LETTERS = 4;

interface ShortPolicy {
  readonly text: string;
  /** Lines left out. */
  readonly omitted: number;
}

/**
 * Lines within `bytes`, in their order. Which ones: by the sum over the words they share with the call, its tool and what
 * that says of itself, of log(lines / lines with the word); of equal ones the earlier.
 */
export function shortPolicy(policy: string, call: CallSpec, tool: ToolSpec | undefined, bytes: number): ShortPolicy {
  const lines = policy.split('\n').filter((line) => line.trim() !== '');
  const words = lines.map(termsOf);
  const asked = termsOf([JSON.stringify(call), tool?.description ?? ''].join(' '));
  const scores = words.map((own) =>
    [...own].filter((word) => asked.has(word)).reduce((sum, word) => sum + idf(word), 0),
  );
  const best = lines.map((_, i) => i).sort((a, b) => scores[b] - scores[a] || a - b);
  const kept = new Set<number>();
  let left = bytes;
  for (const i of best) {
    const size = Buffer.byteLength(lines[i]) + 1;
    if (size > left) continue;
    left -= size;
    kept.add(i);
  }
  return { text: lines.filter((_, i) => kept.has(i)).join('\n'), omitted: lines.length - kept.size };

  function idf(word: string): number {
    return Math.log(lines.length / words.filter((own) => own.has(word)).length);
  }
}

function termsOf(text: string): Set<string> {
  const parts = wordsOf(text).flatMap((word) => word.toLowerCase().split(/[_.-]/));
  return new Set(parts.filter((word) => word.length >= LEAST_LETTERS));
}
