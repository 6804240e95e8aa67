// What may stand for one argument of a call: all that its schema lists, or values that were named in the conversation and look alike.

import type { Json } from '../../core/json.js';
import type { Message } from '../../env/index.js';
import { shapeOf, spansOf, templateOf } from './named-values.js';

/** Values by kind, and longer words of the user; the latest first. */
export interface NamedValues {
  of(kind: string): readonly string[];
  readonly words: readonly string[];
}

/** A text with places for values of certain kinds. */
export interface TextForm {
  /** One more than there are places. */
  readonly frame: readonly string[];
  readonly kinds: readonly string[];
}

export interface ArgumentForm {
  readonly name: string;
  /** Whether it is copied from what somebody has named, and so may be asked for. */
  readonly isCopied: boolean;
  options(named: NamedValues, most: number): readonly Json[];
}

type Schema = Readonly<Record<string, unknown>>;

/** @param given  what solutions put there; null where they left it out */
export function argumentForm(name: string, schema: Schema, given: readonly Json[]): ArgumentForm {
  const listed = listedIn(schema, given);
  if (listed !== undefined) return { name, isCopied: false, options: (_, most) => listed.slice(0, Math.max(most, 3)) };
  if (schema.type === 'integer' || schema.type === 'number') {
    const least = Number(schema.minimum ?? 1);
    return {
      name,
      isCopied: false,
      options: (named, most) => [...new Set([least, ...named.of('9').map(Number)])].slice(0, Math.ceil(most / 2)),
    };
  }
  const forms = formsIn(String(schema.description ?? ''), given);
  const isCopied = forms.some(({ kinds }) => kinds.length > 0);
  return {
    name,
    isCopied,
    options: (named, most) => {
      const copied = forms.flatMap((form) => fillings(form, named, most));
      // Where nobody knows how such a text looks, words of the user stand for it.
      return [...new Set(isCopied ? copied : [...copied, ...named.words.slice(0, most)])];
    },
  };
}

/** All that may stand there; what solutions put there first. */
function listedIn({ enum: values, type }: Schema, given: readonly Json[]): readonly Json[] | undefined {
  const all = Array.isArray(values) ? (values as Json[]) : type === 'boolean' ? [false, true] : undefined;
  return all && [...all.filter((one) => given.includes(one)), ...all.filter((one) => !given.includes(one))];
}

/** As the schema's example looks, and as the texts of solutions do. */
function formsIn(description: string, given: readonly Json[]): TextForm[] {
  const [, example] = /such as ([^\s,;]+)/.exec(description) ?? [];
  const texts = [example, ...given].filter((one) => typeof one === 'string');
  return [...new Map(texts.map(textForm).map((form) => [JSON.stringify(form), form])).values()];
}

/** A value is a place as a whole; of other texts, what has a digit. */
export function textForm(text: string): TextForm {
  if (spansOf(text)[0]?.value === text) return { frame: ['', ''], kinds: [kindOf(text)] };
  const { frame, parts } = templateOf(text);
  return { frame: frame.split('{}'), kinds: parts.map(kindOf) };
}

/** Every text of the form: one of the `most` latest values of its kind in each place, none twice. */
export function fillings({ frame, kinds }: TextForm, named: NamedValues, most: number): string[] {
  let texts = [{ text: frame[0], used: [] as readonly string[] }];
  kinds.forEach((kind, i) => {
    texts = texts.flatMap(({ text, used }) =>
      named
        .of(kind)
        .filter((value) => !used.includes(value))
        .slice(0, most)
        .map((value) => ({ text: `${text}${value}${frame[i + 1]}`, used: [...used, value] })),
    );
  });
  return texts.map(({ text }) => text);
}

/** `EMP-` of EMP-1042 and SW- of SW-MOSAIC; the shape of anything else, `9` of all numbers. */
function kindOf(value: string): string {
  const [, prefix] = /^(\p{Lu}{2,5}[-_#])/u.exec(value) ?? [];
  return prefix ?? shapeOf(value);
}

/** What user and tools have named; the policy names nothing. */
export function namedValues(messages: readonly Message[]): NamedValues {
  const found = new Map<string, string[]>();
  for (const { role, content } of [...messages].reverse()) {
    if (role === 'system' || role === 'assistant') continue;
    for (const { value } of spansOf(content ?? '')) {
      const list = found.get(kindOf(value)) ?? [];
      if (!list.includes(value)) list.push(value);
      found.set(kindOf(value), list);
    }
  }
  const said = [...messages].reverse().flatMap(({ role, content }) => (role === 'user' ? [content] : []));
  const words = said.join(' ').match(/\b\p{Ll}{4,}\b/gu) ?? [];
  return { of: (kind) => found.get(kind) ?? [], words: [...new Set(words)] };
}
