// Filter: what the agent says has to agree with what it was told and with the typed state. A turn that does not is masked:
// it stays in the conversation, and teaches nothing. No model is asked; where the state cannot tell, the turn stays.

import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import { type AssistantMessage, type Message, Phrases } from '../../env/index.js';
import type { EpisodeRecord } from '../../replay/index.js';
import { type Filter, type Judgement, KEEP, type QualityContext } from './filter.js';
import { applied, beginning } from './policy.js';
import { SeenText } from './provenance.js';
import { answerOf, isMasked, withMasked } from './repairs.js';

type Fault = 'a failed call' | 'text after a failed call' | 'an unknown id in a text' | 'a claim against the state';

export function claimsFilter(domain: QualityContext['domain']): Filter {
  const words = new StateWords(domain.initialState);
  return { name: 'claims', judge: (record, context) => judge(record, context, words) };
}

function judge(record: EpisodeRecord, { domain, taskOf }: QualityContext, words: StateWords): Judgement {
  const faults = new Map<number, Fault>();
  const told = new SeenText();
  const task = record.source === 'real' ? undefined : taskOf(record.task);
  let state = task && beginning(domain.initialState, task);
  const steps = new Map(record.steps.map((step) => [step.message, step]));
  record.messages.forEach((message, index) => {
    if (message.role === 'assistant' && !isMasked(record, index)) {
      const hasFailed = isFailed(record, index, domain);
      const fault = hasFailed
        ? 'a failed call'
        : faultOf(message, { before: record.messages[index - 1], told, state, words });
      if (fault !== undefined) faults.set(index, fault);
    }
    told.add(record, index);
    const operations = steps.get(index)?.predictions.flatMap((prediction) => prediction.operations) ?? [];
    if (state !== undefined && operations.length > 0) state = applied(state, operations);
  });
  if (faults.size === 0) return KEEP;
  const kinds = [...new Set(faults.values())].sort().join(' and ');
  return { repaired: withMasked(record, [...faults.keys()]), note: `masked: ${kinds}` };
}

/** Whether all that a turn called was refused, by an error or in the domain's words. */
function isFailed(record: EpisodeRecord, index: number, domain: QualityContext['domain']): boolean {
  const message = record.messages[index];
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
  const phrases = Phrases.of(domain);
  return (
    calls.length > 0 &&
    calls.every((call) => {
      const answer = answerOf(record, call);
      return answer !== undefined && (answer.isError === true || phrases.isRefusal(answer.content));
    })
  );
}

interface Known {
  readonly before: Message | undefined;
  readonly told: SeenText;
  /** Undefined where it is not known. */
  readonly state: JsonObject | undefined;
  readonly words: StateWords;
}

function faultOf(turn: AssistantMessage, { before, told, state, words }: Known): Fault | undefined {
  const calls = turn.toolCalls ?? [];
  const said = turn.content ?? '';
  if (calls.length === 0 && before?.role === 'tool' && before.isError) return 'text after a failed call';
  const written = [said, ...calls.flatMap((call) => textsIn(call.arguments))];
  if (written.some((text) => words.idsIn(text).some((id) => !told.has(id.toLowerCase()))))
    return 'an unknown id in a text';
  if (state !== undefined && sentencesOf(said).some((sentence) => words.contradicts(sentence, state))) {
    return 'a claim against the state';
  }
  return undefined;
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

  /** Whether a sentence about one record names a value of a field that the record does not have. */
  contradicts(sentence: string, state: JsonObject): boolean {
    if (OPEN.test(sentence)) return false;
    const ids = [...new Set(this.idsIn(sentence))];
    if (ids.length !== 1) return false;
    // What is said of a record follows its id, up to the next comma: another clause may speak of something else.
    const [clause] = sentence.slice(sentence.indexOf(ids[0]) + ids[0].length).split(/[,;:]/);
    const heard = ` ${(clause.toLowerCase().match(TOKEN) ?? []).join(' ').replaceAll(/[_-]/g, ' ')} `;
    const says = (word: string) => heard.includes(` ${word.replaceAll(/[_-]/g, ' ')} `);
    return Object.entries(state).some(([name, collection]) => {
      const record = isJsonObject(collection) ? collection[ids[0]] : undefined;
      return isJsonObject(record) && this.differs(name, record, says);
    });
  }

  private differs(collection: string, record: JsonObject, says: (word: string) => boolean): boolean {
    const values = new Set(Object.values(record));
    return [...(this.choices.get(collection) ?? [])].some(([field, choices]) => {
      const now = record[field];
      if (typeof now !== 'string' || says(now)) return false;
      return [...choices].some((choice) => !values.has(choice) && says(choice));
    });
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
