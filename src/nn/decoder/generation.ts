// Generation in batches: prompts are read at once, then every step adds one token to each row that is not done. Rows that are
// done leave the batch once they are half of it.

import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import type { Tensor } from '../tensor.js';
import { KeyValueCache } from './cache.js';
import type { DecoderConfig } from './config.js';
import { chooseToken, type SamplingOptions } from './sampling.js';

export type TokenSequence = ArrayLike<number>;

/** What a token's keys and values are, and what may follow it. */
export interface Answer {
  /** Of all tokens; a row each in a step. */
  readonly logProbs: Float32Array;
  /** One row a token, as `KeyValueCache.append` takes them. */
  readonly newRows: Float32Array;
}

/** What generation asks of a decoder. */
export interface GeneratingModel {
  readonly config: DecoderConfig;
  /** Reads prompts: what may follow each, and keys and values of all its tokens. */
  prefill(prompts: readonly TokenSequence[], temperature: number): Promise<Answer[]>;
  /** One further token of each row of a cache, which has two or more. */
  step(feeds: Record<string, Tensor>, tokens: Int32Array, positions: Int32Array, temperature: number): Promise<Answer>;
}

/** What may be generated in one row; asked and told token by token. */
export interface TokenConstraint {
  /** The tokens that may come next, ascending; undefined: any. */
  allowed(): readonly number[] | undefined;
  accept(token: number): void;
  /** Whether the text is complete, and nothing is allowed any more. */
  readonly isComplete: boolean;
}

export interface GenerateRequest {
  readonly prompt: TokenSequence;
  /** The row's own stream: one draw a token that is chosen at random. */
  readonly rng: Rng;
  /** What may be generated; absent: anything. A constraint is used up by one request. */
  readonly constraint?: TokenConstraint;
}

export interface GenerateOptions extends SamplingOptions {
  /** Most tokens of an answer, those of `stop` included. */
  readonly maxTokens: number;
  /** Tokens that end an answer, and are its last. */
  readonly stop?: readonly number[];
  /** Stops before the next step with the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface Generated {
  readonly tokens: number[];
  /** Of each token at the given temperature (1 if greedy), among all tokens. */
  readonly logProbs: number[];
  /** `stop`: a token of `stop`; `complete`: the constraint allows nothing more; `length`: `maxTokens` or the context is full. */
  readonly end: 'stop' | 'complete' | 'length';
}

/** A request, and how far it has come. */
interface Row {
  readonly request: GenerateRequest;
  readonly tokens: number[];
  readonly logProbs: number[];
  end?: Generated['end'];
}

export async function generate(
  decoder: GeneratingModel,
  requests: readonly GenerateRequest[],
  options: GenerateOptions,
): Promise<Generated[]> {
  const rows = requests.map(beginRow);
  const { temperature = 1 } = options;
  let { batch, cache } = await readPrompts(decoder, rows, options);
  while (batch.some((row) => row.end === undefined)) {
    options.signal?.throwIfAborted();
    const open = batch.flatMap((row, slot) => (row.end === undefined ? [slot] : []));
    if (open.length * 2 <= batch.length && batch.length > 2) {
      const slots = atLeastTwo(open);
      cache = cache.pick(slots);
      batch = slots.map((slot) => batch[slot]);
    }
    const tokens = Int32Array.from(batch, (row) => row.tokens[row.tokens.length - 1]);
    const { logProbs, newRows } = await decoder.step(
      cache.feeds(),
      tokens,
      positionsIn(cache, decoder.config),
      temperature,
    );
    const width = logProbs.length / batch.length;
    const seen = new Set<Row>();
    batch.forEach((row, slot) => {
      // A row that fills the place of a second one is only computed.
      if (row.end !== undefined || seen.has(row)) return;
      seen.add(row);
      cache.append(slot, newRows.subarray(slot * cache.tokenSize, (slot + 1) * cache.tokenSize));
      extendRow(row, logProbs.subarray(slot * width, (slot + 1) * width), decoder.config, options);
    });
  }
  return rows.map(({ tokens, logProbs, end }) => ({ tokens, logProbs, end: end! }));
}

/** Where the next token of each row goes; a row that is done may be full, and is only computed until it leaves. */
function positionsIn({ lengths }: KeyValueCache, { contextLength }: DecoderConfig): Int32Array {
  return lengths.map((length) => Math.min(length, contextLength - 1));
}

function beginRow(request: GenerateRequest): Row {
  return { request, tokens: [], logProbs: [], ...(request.constraint?.isComplete && { end: 'complete' as const }) };
}

/** A product with a single row takes another path in the runtime, so a lone row is computed twice. */
function atLeastTwo<T>(items: readonly T[]): T[] {
  return items.length === 1 ? [items[0], items[0]] : [...items];
}

/** Reads each different prompt once, and chooses the first tokens. */
async function readPrompts(decoder: GeneratingModel, rows: readonly Row[], options: GenerateOptions) {
  const keys = rows.map(({ request: { prompt } }) => Array.from(prompt).join());
  const distinct = new Map(rows.map(({ request: { prompt } }, i) => [keys[i], prompt]));
  const answers = await decoder.prefill([...distinct.values()], options.temperature ?? 1);
  const byKey = new Map([...distinct.keys()].map((key, i) => [key, answers[i]]));
  rows.forEach((row, i) => {
    if (row.end === undefined) extendRow(row, byKey.get(keys[i])!.logProbs, decoder.config, options);
  });
  const open = rows.flatMap((row, i) => (row.end === undefined ? [i] : []));
  const batch = atLeastTwo(open);
  const longest = Math.max(1, ...open.map((i) => rows[i].request.prompt.length));
  const cache = new KeyValueCache(decoder.config, batch.length, longest + Math.min(options.maxTokens, 32));
  batch.forEach((i, slot) => {
    const { newRows } = byKey.get(keys[i])!;
    for (let at = 0; at < newRows.length; at += cache.tokenSize) {
      cache.append(slot, newRows.subarray(at, at + cache.tokenSize));
    }
  });
  return { batch: batch.map((i) => rows[i]), cache };
}

/** Chooses a row's next token, and sees whether the row is done. */
function extendRow(row: Row, logProbs: Float32Array, { contextLength }: DecoderConfig, options: GenerateOptions): void {
  const { constraint, rng, prompt } = row.request;
  const token = chooseToken(logProbs, options, rng, constraint?.allowed());
  row.tokens.push(token);
  row.logProbs.push(logProbs[token]);
  constraint?.accept(token);
  const isFull = prompt.length + row.tokens.length > contextLength;
  if (options.stop?.includes(token)) row.end = 'stop';
  else if (constraint?.isComplete) row.end = 'complete';
  else if (row.tokens.length >= options.maxTokens || isFull) row.end = 'length';
}

/**
 * @param beyond tokens that need no place in the context, as nothing follows them
 * @throws CONTEXT_TOO_LONG; DATA_MISMATCH for fewer tokens than `least` or an unknown one
 */
export function requireTokens(
  { contextLength, vocabSize }: DecoderConfig,
  what: string,
  tokens: TokenSequence,
  least: number,
  beyond: number,
): void {
  if (tokens.length - beyond > contextLength) {
    throw reverieError('CONTEXT_TOO_LONG', { what, tokens: tokens.length, limit: contextLength + beyond });
  }
  if (tokens.length < least) {
    const hint = 'Begin with the token that begins every document.';
    throw reverieError('DATA_MISMATCH', {
      problem: `The decoder was given ${`${tokens.length} tokens where it needs ${least}`}.`,
      hint,
    });
  }
  for (let i = 0; i < tokens.length; i++) {
    if (Number.isInteger(tokens[i]) && tokens[i] >= 0 && tokens[i] < vocabSize) continue;
    const hint = 'Encode the text by the tokenizer that the decoder was trained with.';
    const problem = `token ${tokens[i]}, and it knows those from 0 to ${vocabSize - 1}`;
    throw reverieError('DATA_MISMATCH', { problem: `The decoder was given ${problem}.`, hint });
  }
}
