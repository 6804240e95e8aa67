// Filter: what the agent says has to agree with what it was told and with the typed state. A turn that does not is masked:
// it stays in the conversation, and teaches nothing. No model is asked; where the state cannot tell, the turn stays.

import { isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import type { AssistantMessage, Message, ToolMessage } from '../../env/tools/message.js';
import { Phrases } from '../../env/tools/phrases/phrases.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import {
  answerOf,
  type Fault,
  type Filter,
  isMasked,
  type Judgement,
  KEEP,
  type QualityContext,
  withMasked,
} from './filter.js';
import { applied, beginning } from './policy.js';
import { SeenText } from './provenance.js';

export function claimsFilter(domain: QualityContext['domain']): Filter {
  const words = new StateWords(domain.initialState);
  return { name: 'claims', judge: (record, context) => judge(record, context, words) };
}

function judge(record: EpisodeRecord, { domain, taskOf }: QualityContext, words: StateWords): Judgement {
  const faults: Fault[] = [];
  const told = new SeenText();
  const task = record.source === 'real' ? undefined : taskOf(record.task);
  let state = task && beginning(domain.initialState, task);
  const steps = new Map(record.steps.map((step) => [step.message, step]));
  record.messages.forEach((message, index) => {
    if (message.role === 'assistant' && !isMasked(record, index)) {
      const before = record.messages[index - 1];
      const failed = failedCall(record, message, domain);
      const fault = failed ?? faultOf(message, { before, told, state, words });
      if (fault !== undefined) faults.push({ message: index, ...fault });
    }
    told.add(record, index);
    const operations = steps.get(index)?.predictions.flatMap((prediction) => prediction.operations) ?? [];
    if (state !== undefined && operations.length > 0) state = applied(state, operations);
  });
  if (faults.length === 0) return KEEP;
  const kinds = [...new Set(faults.map(({ kind }) => kind))].sort().join(' and ');
  const masked = faults.map(({ message }) => message);
  return { repaired: withMasked(record, masked), note: `masked: ${kinds}`, faults };
}

type Found = Omit<Fault, 'message'>;

/** Of a turn all of whose calls were refused, by an error or in the domain's words. */
function failedCall(
  record: EpisodeRecord,
  { toolCalls = [] }: AssistantMessage,
  domain: QualityContext['domain'],
): Found | undefined {
  const phrases = Phrases.of(domain);
  const answers = toolCalls.map((call) => answerOf(record, call));
  const isRefused = (answer: ToolMessage | undefined) =>
    answer !== undefined && (answer.isError === true || phrases.isRefusal(answer.content));
  if (answers.length === 0 || !answers.every(isRefused)) return undefined;
  return { kind: 'a failed call', because: answers.map((answer) => answer!.content).join('; ') };
}

interface Known {
  readonly before: Message | undefined;
  readonly told: SeenText;
  /** Undefined where it is not known. */
  readonly state: JsonObject | undefined;
  readonly words: StateWords;
}

function faultOf(turn: AssistantMessage, { before, told, state, words }: Known): Found | undefined {
  const calls = turn.toolCalls ?? [];
  const said = turn.content ?? '';
  if (calls.length === 0 && before?.role === 'tool' && before.isError) {
    return { kind: 'text after a failed call', because: `the call before it had failed: ${before.content}` };
  }
  const written = [said, ...calls.flatMap((call) => textsIn(call.arguments))];
  const unknown = written.flatMap((text) => words.idsIn(text)).find((id) => !told.has(id.toLowerCase()));
  if (unknown !== undefined) {
    const because = `nobody had mentioned ${unknown} by then${state ? `; ${placeOf(unknown, state)}` : ''}`;
    return { kind: 'an unknown id in a text', because };
  }
  if (state === undefined) return undefined;
  for (const sentence of sentencesOf(said)) {
    const because = words.contradicted(sentence, state);
    if (because !== undefined) return { kind: 'a claim against the state', because };
  }
  return undefined;
}

function placeOf(id: string, state: JsonObject): string {
  const found = Object.entries(state).find(([, records]) => isJsonObject(records) && Object.hasOwn(records, id));
  return found === undefined ? 'the state has no such id' : `the state has it, in ${found[0]}`;
}

function textsIn(value: Json): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function sentencesOf(text: string): string[] {
  return text.split(/(?<=[.!?])\s+|\n+/);
}

const TOKEN = /[\p{L}\p{N}][\p{L}\p{N}_-]*[\p{L}\p{N}]/gu;
/** A sentence with one of these may speak of what is not so, or not yet. */
const OPEN =
  /\?|n't\b|\b(not|no|never|cannot|nor|without|unless|if|whether|would|could|should|shall|will|can|may|might|must|to be|until|before|once|when|want|wanted|like|from)\b/i;
/** More values than this, and a field holds data rather than one of some states. */
const MOST_VALUES = 12;
const WORD = /^[a-z]+([ _-][a-z]+)*$/;

/** How ids of a domain look, and the words that its records' fields choose from: read off its first state. */
class StateWords {
  private readonly shapes = new Set<string>();
  /** Of each collection, by field: the words it chooses from. */
  private readonly choices = new Map<string, Map<string, ReadonlySet<string>>>();

  constructor(initialState: JsonObject) {
    for (const [name, collection] of Object.entries(initialState)) {
      if (!isJsonObject(collection)) continue;
      for (const id of Object.keys(collection)) if (/^[A-Za-z]+-\d+$/.test(id)) this.shapes.add(shapeOf(id));
      this.choices.set(name, choicesOf(Object.values(collection).filter(isJsonObject)));
    }
  }

  /** Words of a text that look as ids of the domain do: the same letters, then digits. */
  idsIn(text: string): string[] {
    return (text.match(TOKEN) ?? []).filter((token) => this.shapes.has(shapeOf(token)));
  }

  /** What the state says to a sentence about one record that names a value of a field which the record does not have. */
  contradicted(sentence: string, state: JsonObject): string | undefined {
    if (OPEN.test(sentence)) return undefined;
    const ids = [...new Set(this.idsIn(sentence))];
    if (ids.length !== 1) return undefined;
    // What is said of a record follows its id, up to the next comma: another clause may speak of something else.
    const [clause] = sentence.slice(sentence.indexOf(ids[0]) + ids[0].length).split(/[,;:]/);
    const heard = ` ${(clause.toLowerCase().match(TOKEN) ?? []).join(' ').replaceAll(/[_-]/g, ' ')} `;
    const says = (word: string) => heard.includes(` ${word.replaceAll(/[_-]/g, ' ')} `);
    for (const [name, collection] of Object.entries(state)) {
      const record = isJsonObject(collection) ? collection[ids[0]] : undefined;
      const differing = isJsonObject(record) ? this.difference(name, record, says) : undefined;
      if (differing !== undefined) return `the state says of ${name}/${ids[0]}: ${differing}`;
    }
    return undefined;
  }

  private difference(collection: string, record: JsonObject, says: (word: string) => boolean): string | undefined {
    const values = new Set(Object.values(record));
    for (const [field, choices] of this.choices.get(collection) ?? []) {
      const now = record[field];
      if (typeof now !== 'string' || says(now)) continue;
      const said = [...choices].find((choice) => !values.has(choice) && says(choice));
      if (said !== undefined) return `${field} is "${now}", not "${said}"`;
    }
    return undefined;
  }
}

function shapeOf(id: string): string {
  return id.toUpperCase().replace(/\d+/g, '9');
}

function choicesOf(records: readonly JsonObject[]): Map<string, ReadonlySet<string>> {
  const values = new Map<string, Set<string>>();
  for (const record of records) {
    for (const [field, value] of Object.entries(record)) {
      if (typeof value !== 'string') continue;
      const known = values.get(field) ?? new Set();
      values.set(field, known.add(value));
    }
  }
  const isChoice = (words: ReadonlySet<string>) =>
    words.size > 1 && words.size <= MOST_VALUES && [...words].every((word) => WORD.test(word));
  return new Map([...values].filter(([, words]) => isChoice(words)));
}
