// As author of task variants: the seed task said in other words, with more or with fewer calls. With the chance
// `transitionError` its reference leaves out a call, for admission to find.

import type { Json, JsonObject } from '../../src/core/json.js';
import { type Asked, asList, asObject, asText, parseJson } from './asked.js';
import { drawChance } from './chance.js';
import type { ControlledOptions } from './controlled-options.js';
import type { Truth } from './truth.js';
import { pick } from './wrong-values.js';

const WORDS = ['This matters to me today.', 'Please see to it now.', 'I have little time for it.', 'I ask you kindly.'];

export function variantReply(asked: Asked, truth: Truth, options: ControlledOptions): JsonObject {
  const { seed } = asObject(parseJson(asked.text.split('\n').at(-1) ?? ''));
  const { user, reference, verifier } = asObject(seed);
  const { isWrong, rng } = drawChance(asked, options.transitionError ?? 0, options, 'variant');
  const calls = callsFor(asked.text, asList(asObject(reference).calls), truth);
  const at = isWrong ? rng.int(Math.max(1, calls.length)) : -1;
  const say = asText(asObject(reference).say);
  return {
    reasoning: 'The same wish of a user, in another form.',
    goal: `${asText(asObject(user).goal)} ${pick(WORDS, rng)}`,
    persona: pick(['You are brief.', 'You are polite.', 'You explain at length.'], rng),
    reference: calls.filter((_, i) => i !== at) as unknown as Json,
    say,
    verifier: { assert: [], communicate: (asObject(verifier).communicate ?? []) as Json },
    failures: [{ name: 'says it is done and does nothing', calls: [], say }],
  };
}

/** Harder: a read is made once more first. Easier: without reads. */
function callsFor(text: string, calls: readonly JsonObject[], truth: Truth): readonly JsonObject[] {
  const isRead = ({ name }: JsonObject) => truth.kindOf(asText(name)) === 'read';
  if (text.startsWith('Write a harder')) return [...calls.filter(isRead).slice(0, 1), ...calls];
  if (text.startsWith('Write an easier')) return calls.filter((call) => !isRead(call));
  return calls;
}
