// How a decoder chooses commands: all situations side by side. Prompts are read first, as far as they are not remembered; then each run
// tells what may follow the paths that are not whole commands yet.

import { reverieError } from '../../../core/errors.js';
import { joinedFloats } from '../../../core/joined.js';
import { type Continued, type Decoder, tokenSizeOf } from '../../../nn/index.js';
import type { TextDecision, TextSituation } from '../text-policy.js';
import { PromptCache } from './prompt-cache.js';
import type { Prompt, Transcript } from './transcript.js';
import { DrawnWalk, LikeliestWalk, type Walk } from './walks.js';
import type { WrittenTexts } from './writing.js';

export interface ActingOptions {
  /** Most tokens that are left open at once. */
  readonly choices: number;
  readonly critic?: Critic;
  /** What it writes, where it does. */
  readonly texts?: WrittenTexts;
}

/** A critic's parameters: [hiddenSize] and one. */
export interface Critic {
  readonly w: Float32Array;
  readonly b: number;
}

interface Reader {
  readonly prompt: Prompt;
  readonly walk: Walk;
  /** Keys and values of the prompt, once it was read. */
  past: Float32Array;
  value?: number;
}

export class ActingDecoder {
  private readonly cache: PromptCache;

  private readonly choices: number;
  private readonly critic: Critic | undefined;

  constructor(
    private readonly decoder: Decoder,
    private readonly transcript: Transcript,
    private readonly options: ActingOptions,
  ) {
    this.choices = options.choices;
    this.critic = options.critic;
    this.cache = new PromptCache(tokenSizeOf(decoder.config));
  }

  /** See `TextPolicy`. */
  async decide(situations: readonly TextSituation[], draws?: readonly number[]): Promise<TextDecision[]> {
    const { texts } = this.options;
    if (texts !== undefined) return this.write(texts, situations, draws);
    const readers = situations.map((situation, i): Reader => {
      const offer = this.transcript.offer(situation);
      const prompt = this.transcript.prompt(situation, offer.longest);
      const draw = draws?.[i];
      const walk = draw === undefined ? new LikeliestWalk(offer) : new DrawnWalk(offer, draw);
      return { prompt, walk, past: new Float32Array(0) };
    });
    await this.read(readers.filter(({ walk }) => this.critic !== undefined || walk.open() !== undefined));
    for (let open = openOf(readers); open.length > 0; open = openOf(readers)) await this.goOn(open);
    return readers.map(({ walk, value }) => {
      const { choice, terms, entropy } = walk.arrived();
      const logProb = terms.reduce((sum, term) => sum + term, 0);
      return { choice, logProb, terms, entropy, ...(value !== undefined && { value }) };
    });
  }

  /** Texts of its own, and, with a critic, what that expects of each situation. */
  private async write(
    texts: WrittenTexts,
    situations: readonly TextSituation[],
    draws?: readonly number[],
  ): Promise<TextDecision[]> {
    const decisions = await texts.write(this.decoder, situations, this.choices, draws);
    if (this.critic === undefined) return decisions;
    const rows = situations.map((situation) => {
      return { past: new Float32Array(0), tokens: this.transcript.prompt(situation, texts.room).tokens };
    });
    const read = await this.decoder.extend(rows, { choices: this.choices });
    return decisions.map((decision, i) => ({ ...decision, value: this.valueOf(read[i]) }));
  }

  /** Reads prompts, those that are alike and offer the same once. */
  private async read(readers: readonly Reader[]): Promise<void> {
    const alike = new Map<string, Reader[]>();
    for (const reader of readers) {
      const key = `${reader.prompt.tokens.join()} ${firstOf(reader)?.join()}`;
      alike.set(key, [...(alike.get(key) ?? []), reader]);
    }
    const groups = [...alike.values()];
    const rows = groups.map(([reader]) => {
      const past = this.cache.beginning(reader.prompt);
      const tokens = reader.prompt.tokens.slice(past.length / tokenSizeOf(this.decoder.config));
      return { past, tokens, choices: this.checked(firstOf(reader)) };
    });
    const answers = await this.decoder.extend(rows, { choices: this.choices });
    answers.forEach((answer, i) => {
      const past = joinedFloats([rows[i].past, answer.newRows]);
      this.cache.keep(groups[i][0].prompt, past);
      const value = this.valueOf(answer);
      for (const reader of groups[i]) {
        Object.assign(reader, { past, ...(value !== undefined && { value }) });
        if (firstOf(reader) !== undefined) reader.walk.take(answer.logProbs);
      }
    });
  }

  /** What may follow each path. */
  private async goOn(open: readonly Reader[]): Promise<void> {
    const rows = open.map(({ past, walk }) => {
      const { tokens, allowed } = walk.open()!;
      return { past, tokens, choices: this.checked(allowed) };
    });
    const answers = await this.decoder.extend(rows, { choices: this.choices });
    answers.forEach(({ logProbs }, i) => {
      open[i].walk.take(logProbs);
    });
  }

  private checked(allowed: readonly number[] | undefined): readonly number[] | undefined {
    if (allowed !== undefined && allowed.length > this.choices)
      throw reverieError('TEXT_CHOICES_TOO_MANY', { count: allowed.length, max: this.choices });
    return allowed;
  }

  private valueOf({ hidden }: Continued): number | undefined {
    if (this.critic === undefined) return undefined;
    const { w, b } = this.critic;
    return hidden.reduce((sum, x, i) => sum + x * w[i], b);
  }
}

/** What a command may begin with, where that follows the prompt itself. */
function firstOf({ walk }: Reader): readonly number[] | undefined {
  const open = walk.open();
  return open?.tokens.length === 0 ? open.allowed : undefined;
}

function openOf(readers: readonly Reader[]): Reader[] {
  return readers.filter(({ walk }) => walk.open() !== undefined);
}
