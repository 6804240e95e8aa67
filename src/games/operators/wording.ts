// What is answered to an action: a text with names of what it is about, and lists of what some facts speak of.

import type { Situation } from '../../worldmodel/situation.js';
import { type Binding, readLiteral, truthOf } from './literal.js';
import { fitting, type Wording } from './operator.js';

/** Of all wordings that fit, the best attested; undefined where none does. */
export function saidOf(
  wordings: readonly Wording[],
  binding: Binding,
  after: Situation,
): { readonly text: string; readonly wording: Wording } | undefined {
  const fits = wordings.filter(({ when }) => when.every((text) => isSo(text, binding, after)));
  const [wording] = fits.sort((a, b) => shareOf(b) - shareOf(a) || b.support - a.support);
  const text = wording && rendered(wording, binding, after);
  return text === undefined ? undefined : { text, wording };
}

/** Whether a literal holds; one with a bare `?`: for something, and its negation for nothing. */
export function isSo(text: string, binding: Binding, at: Situation): boolean {
  const literal = readLiteral(text)!;
  if (!literal.args.includes('?')) return truthOf(literal, binding, at) === true;
  return fitting(literal, binding, at).length > 0 !== literal.negated;
}

/** The things of a list, in the order of the scene. */
export function listed(of: string, binding: Binding, at: Situation): string[] {
  const things = new Set(fitting(readLiteral(of)!, binding, at));
  return at.scene.objects.flatMap(({ name }) => (things.has(name) ? [name] : []));
}

function rendered({ text, lists }: Wording, binding: Binding, at: Situation): string | undefined {
  const lines = lists.map(({ of, between, last }) => {
    const things = listed(of, binding, at);
    const end = things.pop();
    if (end === undefined || things.length === 0) return end;
    const isKnown = last !== undefined && (between !== undefined || things.length === 1);
    return isKnown ? `${things.join(between)}${last}${end}` : undefined;
  });
  const parts = text.split(/\{(list \d+|\?[^\s{}]+)\}/);
  const filled = parts.map((part, i) => {
    if (i % 2 === 0) return part;
    return part.startsWith('list ') ? lines[Number(part.slice('list '.length)) - 1] : binding.get(part);
  });
  return filled.includes(undefined) ? undefined : filled.join('');
}

function shareOf({ support, counterExamples }: Wording): number {
  return (support + 1) / (support + counterExamples + 2);
}
