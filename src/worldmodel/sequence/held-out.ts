// How right a model is on steps of tasks that it did not learn from.

import { isDeepStrictEqual } from 'node:util';
import { canonicalJson } from '../../core/canonical-json.js';
import type { Decoder } from '../../nn/decoder/decoder.js';
import type { JudgedStep } from '../from-records/judging.js';
import { type AskedTokens, answersOf, tokensOf } from './answering.js';
import type { RecordedStep } from './recorded-steps.js';
import type { ScriptCodec } from './script.js';
import type { StepAnswer, StepForm } from './step-form.js';

export interface JudgedAnswer extends JudgedStep {
  readonly logProb: number;
  /** Whether there is an answer at all: the question fitted the context, and the answer could be read. */
  readonly isAnswered: boolean;
}

/** Questions answered side by side. */
const BATCH = 64;

export async function judgeSteps(
  decoder: Decoder,
  codec: ScriptCodec,
  form: StepForm,
  steps: readonly RecordedStep[],
  options: { readonly signal?: AbortSignal; readonly onProgress?: (done: number) => void } = {},
): Promise<JudgedAnswer[]> {
  const judged: JudgedAnswer[] = new Array(steps.length);
  const asked = steps.map(({ question }): AskedTokens | undefined => {
    const words = form.ask(question);
    const tokens = tokensOf(words, codec, decoder.config.contextLength);
    return tokens && { asked: words, tokens };
  });
  // Rows of similar length are read together.
  const order = [...steps.keys()].sort((a, b) => (asked[a]?.tokens.length ?? 0) - (asked[b]?.tokens.length ?? 0));
  for (let start = 0; start < order.length; start += BATCH) {
    options.signal?.throwIfAborted();
    const batch = order.slice(start, start + BATCH);
    const fitting = batch.filter((i) => asked[i] !== undefined);
    const answers = await answersOf(
      decoder,
      codec,
      form,
      fitting.map((i) => asked[i]!),
    );
    for (const i of batch) judged[i] = judgedStep(steps[i].answer, undefined, Number.NEGATIVE_INFINITY);
    fitting.forEach((i, k) => {
      const { answer, logProb } = answers[k];
      judged[i] = judgedStep(steps[i].answer, typeof answer === 'string' ? undefined : answer, logProb);
    });
    options.onProgress?.(start + batch.length);
  }
  return judged;
}

function judgedStep(truth: StepAnswer, answer: StepAnswer | undefined, logProb: number): JudgedAnswer {
  return {
    changes: changesIn(truth).length,
    isStateExact:
      answer !== undefined &&
      answer.isError === truth.isError &&
      isDeepStrictEqual(changesIn(answer), changesIn(truth)),
    isTextExact: answer?.observation === truth.observation,
    isEndExact: answer !== undefined && answer.ends === truth.ends,
    logProb,
    isAnswered: answer !== undefined,
  };
}

/** In an order of their own; tables of facts that are made on the way are no change. */
function changesIn({ operations }: StepAnswer): string[] {
  return operations
    .filter((one) => !(one.op === 'add' && /^\/facts\/[^/]+$/.test(one.path)))
    .map((one) => canonicalJson(one))
    .sort();
}
