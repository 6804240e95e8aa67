// Questions answered by a decoder: read greedily, with how probable the whole answer was.

import { Rng } from '../../core/rng.js';
import type { TokenGenerator } from '../../nn/index.js';
import type { ScriptCodec } from './script.js';
import type { Asked, StepAnswer, StepForm } from './step-form.js';

export interface Answered {
  /** What is answered, or why that cannot be understood. */
  readonly answer: StepAnswer | string;
  /** Of all that counts: done or not, changes and text, in nats. What is claimed of the end does not count. */
  readonly logProb: number;
}

export interface AskedTokens {
  readonly asked: Asked;
  readonly tokens: readonly number[];
}

/** The tokens of a question; undefined where they leave no room for an answer. */
export function tokensOf(asked: Asked, codec: ScriptCodec, contextLength: number): number[] | undefined {
  const tokens = [codec.tokenizer.special.begin, ...codec.encode(asked.pieces)];
  return tokens.length < contextLength ? tokens : undefined;
}

/** Answers do not depend on what is asked beside them. */
export async function answersOf(
  decoder: TokenGenerator,
  codec: ScriptCodec,
  form: StepForm,
  questions: readonly AskedTokens[],
  signal?: AbortSignal,
): Promise<Answered[]> {
  const { end } = codec.tokenizer.special;
  const rng = Rng.fromSeed(0);
  const generated = await decoder.generate(
    questions.map(({ tokens }) => ({ prompt: tokens, rng })),
    { maxTokens: decoder.config.contextLength, stop: [end], temperature: 0, ...(signal && { signal }) },
  );
  const closing = [codec.idOf('goes-on'), codec.idOf('ends')];
  return generated.map(({ tokens, logProbs }, i) => {
    const { asked } = questions[i];
    const counted = tokens.findIndex((token) => closing.includes(token));
    const own = tokens.at(-1) === end ? tokens.slice(0, -1) : tokens;
    return {
      answer: form.read(codec.decode(own), asked),
      logProb: logProbs.slice(0, counted < 0 ? undefined : counted).reduce((sum, one) => sum + one, 0),
    };
  });
}
