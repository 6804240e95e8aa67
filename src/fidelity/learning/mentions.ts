// What a conversation has named so far, and how: where a learner without a language model finds the values it puts into calls.

import type { Json } from '../../core/canonical-json.js';
import type { AssistantMessage, Message } from '../../env/tools/message.js';
import { shapeOf, spansOf, templateOf, wordsIn } from './named-values.js';

/** A value that was named, with the ways in which it was: what a value in its place in another conversation has in common. */
export interface Mention {
  readonly value: string | number;
  /**
   * Each `kind:detail`: `where` and `before` (in whose words, after which words), `path` (of an answer in JSON), `place` (in a list),
   * `near` (words of the user in the same entry, 2 at most), `call` (an argument of an earlier call), `shape`, `now` (in the last message),
   * `asked` (holds a word of the user), `used` (in a call before).
   */
  readonly features: ReadonlySet<string>;
}

export class Mentions {
  private readonly features = new Map<string | number, Set<string>>();
  private readonly asked: ReadonlySet<string>;

  /** The policy text (role `system`) names nothing. */
  constructor(messages: readonly Message[]) {
    this.asked = askedWords(messages);
    const last = messages.length - 1;
    messages.forEach((message, at) => {
      const note = (value: string | number, features: readonly string[]) =>
        this.note(value, at === last ? [...features, 'now:1'] : features);
      if (message.role === 'user') noteText(message.content, isFirstUser(messages, at) ? 'opening' : 'user', note);
      if (message.role === 'tool') noteAnswer(message.name, message.content, this.asked, note);
      if (message.role === 'assistant') noteCalls(message, note);
    });
    for (const [value, features] of this.features) this.relate(value, features);
  }

  of(value: Json): Mention | undefined {
    if (typeof value !== 'string' && typeof value !== 'number') return undefined;
    const features = this.features.get(value);
    return features === undefined ? undefined : { value, features };
  }

  private note(value: string | number, features: readonly string[]): void {
    const known = this.features.get(value) ?? new Set();
    for (const feature of features) known.add(feature);
    this.features.set(value, known);
  }

  private relate(value: string | number, features: Set<string>): void {
    features.add(`shape:${shapeOf(value)}`);
    features.add(`asked:${wordsIn(String(value)).some((word) => this.asked.has(word)) ? 1 : 0}`);
    features.add(`used:${[...features].some((feature) => feature.startsWith('call:')) ? 1 : 0}`);
  }
}

type Note = (value: string | number, features: readonly string[]) => void;

/** Words of users that are no part of a value that they name. */
function askedWords(messages: readonly Message[]): Set<string> {
  const words = new Set<string>();
  for (const { role, content } of messages) {
    if (role !== 'user') continue;
    let text = content ?? '';
    for (const { value } of spansOf(text)) if (/\d/.test(value)) text = text.replaceAll(value, ' ');
    for (const word of wordsIn(text)) words.add(word);
  }
  return words;
}

function isFirstUser(messages: readonly Message[], at: number): boolean {
  return messages.findIndex(({ role }) => role === 'user') === at;
}

function noteText(text: string, where: string, note: Note): void {
  for (const { value, before } of spansOf(text)) {
    const [last = '', previous = ''] = before;
    const features = [`where:${where}`, `before:${last}`, `before2:${previous} ${last}`];
    note(value, features);
    if (/^\d+$/.test(value)) note(Number(value), features);
  }
}

/** JSON by its paths, anything else as text. */
function noteAnswer(tool: string, content: string, asked: ReadonlySet<string>, note: Note): void {
  const parsed = parsedAnswer(content);
  if (parsed === undefined) noteText(content, tool, note);
  else noteJson(parsed, tool, { near: 0, asked }, note);
}

function parsedAnswer(content: string): Json | undefined {
  if (!/^\s*[[{]/.test(content)) return undefined;
  try {
    return JSON.parse(content) as Json;
  } catch {
    return undefined;
  }
}

interface Surroundings {
  /** Words of the user that the nearest object around holds. */
  readonly near: number;
  readonly asked: ReadonlySet<string>;
}

function noteJson(value: Json, path: string, around: Surroundings, note: Note): void {
  if (typeof value === 'string' || typeof value === 'number') {
    note(value, [`path:${path}`, `near:${Math.min(around.near, 2)}`]);
  } else if (Array.isArray(value)) {
    value.forEach((part, i) => {
      const place = i === 0 ? 'first' : i === value.length - 1 ? 'last' : 'middle';
      noteJson(part, `${path}/*`, near(part, around), (named, features) =>
        note(named, [...features, `place:${place}`]),
      );
    });
  } else if (value !== null && typeof value === 'object') {
    for (const [key, part] of Object.entries(value)) {
      const isId = /\d/.test(key);
      if (isId) note(key, [`path:${path}/#`, `near:${Math.min(near(part, around).near, 2)}`]);
      noteJson(part, isId ? `${path}/*` : `${path}/${key}`, isId ? near(part, around) : around, note);
    }
  }
}

/** Of an entry among others, what of it the user spoke of. */
function near(part: Json, { near: outer, asked }: Surroundings): Surroundings {
  if (part === null || typeof part !== 'object') return { near: outer, asked };
  return { near: new Set(wordsIn(JSON.stringify(part)).filter((word) => asked.has(word))).size, asked };
}

function noteCalls({ toolCalls = [] }: AssistantMessage, note: Note): void {
  for (const { name, arguments: given } of toolCalls) noteArgument(given, name, note);
}

function noteArgument(value: Json, path: string, note: Note): void {
  if (typeof value === 'number') note(value, [`call:${path}`]);
  else if (typeof value === 'string') {
    note(value, [`call:${path}`]);
    const { frame, parts } = templateOf(value);
    for (const [i, part] of parts.entries()) note(part, [`call:${path} ${frame} ${i}`]);
  } else if (Array.isArray(value)) for (const part of value) noteArgument(part, `${path}/*`, note);
  else if (value !== null && typeof value === 'object')
    for (const [key, part] of Object.entries(value)) noteArgument(part, `${path}/${key}`, note);
}
