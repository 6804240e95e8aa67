// A stand-in for a language model: answers what fits the schema it is given, chosen by the request's seed, in the number
// of tokens it is allowed.

import { Rng } from '../../src/core/rng.js';
import type { AnswerContext, LlmAnswer, LlmServerRequestBody } from '../llm-server/llm-server.js';

interface EnumSchema {
  readonly properties?: Record<string, { enum?: readonly unknown[]; anyOf?: readonly { enum?: readonly unknown[] }[] }>;
}

export function answerFitting(body: LlmServerRequestBody, { seed }: AnswerContext): LlmAnswer {
  const rng = Rng.fromSeed(seed);
  const schema = schemaOf(body);
  const values = Object.entries(schema?.properties ?? {}).map(([key, part]) => {
    const choices = part.enum ?? [...(part.anyOf?.[0].enum ?? []), null];
    return [key, choices[rng.int(choices.length)]];
  });
  const whole = schema ? JSON.stringify(Object.fromEntries(values)) : `Blue, and the number is ${rng.int(1000)}.`;
  const limit = ((body.max_tokens ?? body.max_completion_tokens ?? 1000) as number) * 4;
  const text = whole.slice(0, limit);
  return { text, finishReason: text === whole ? 'stop' : 'length', logprobs: [-0.5, -0.25] };
}

/** The schema in its own key, or told in the prompt. */
function schemaOf(body: LlmServerRequestBody): EnumSchema | undefined {
  const given = body.response_format?.json_schema?.schema;
  if (given !== undefined) return given as EnumSchema;
  const told = body.messages[0].content?.match(/JSON Schema[^\n]*\n(\{.*\})/)?.[1];
  return told === undefined ? undefined : (JSON.parse(told) as EnumSchema);
}
