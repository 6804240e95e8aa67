// Questions answered by a decoder: read greedily, one token after the other or all at once, with how probable the whole answer was.

import { Rng } from '../../core/rng.js';
import type { Decoder } from '../../nn/decoder/decoder.js';
import type { Generated } from '../../nn/decoder/generation.js';
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
  decoder: Decoder,
  codec: ScriptCodec,
  form: StepForm,
  questions: readonly AskedTokens[],
  signal?: AbortSignal,
): Promise<Answered[]> {
  const { end } = codec.tokenizer.special;
  const prompts = questions.map(({ tokens }) => tokens);
  const generated = await generatedFor(decoder, codec, prompts, { places: form.settings.atOnce, signal });
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

function generatedFor(
  decoder: Decoder,
  codec: ScriptCodec,
  prompts: readonly (readonly number[])[],
  { places, signal }: { readonly places: number | undefined; readonly signal: AbortSignal | undefined },
): Promise<Generated[]> {
  const { end } = codec.tokenizer.special;
  if (places !== undefined) {
    return decoder.answerAtOnce(prompts, { blank: codec.blank!, places, stop: end });
  }
  const rng = Rng.fromSeed(0);
  return decoder.generate(
    prompts.map((prompt) => ({ prompt, rng })),
    { maxTokens: decoder.config.contextLength, stop: [end], temperature: 0, ...(signal && { signal }) },
  );
}
