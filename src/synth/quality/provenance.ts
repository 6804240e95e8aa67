// Filter: an id in a call must have been seen before: said by the user, answered by a tool, or written in the policy. An
// agent that makes one up and is told so made a mistake (masked); one that gets away with it learnt nonsense (cut).

import type { Json } from '../../core/canonical-json.js';
import type { ToolCall } from '../../env/tools/message.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import {
  agentTurns,
  answerOf,
  cutOrDrop,
  type Fault,
  type Filter,
  isMasked,
  type Judgement,
  KEEP,
  withMasked,
} from './filter.js';

/** Names of arguments that hold ids, whatever they look like. */
const ID_NAME = /(^|_)(id|ids|uuid|number)$|[a-z](Id|Ids)$/;
/** Values that are ids by their looks: letters and digits together, a long number, or capitals with a hyphen (`SW-QUILL`). */
const ID_VALUE = /^#?(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{3,64}$|^#?\d{5,}$|^#?[A-Z]{2,8}(?:-[A-Z]+)+$/;
const DATE = /^\d{4}-\d{2}-\d{2}(T[\d:.]+Z?)?$/;

export function provenanceFilter(): Filter {
  return { name: 'provenance', judge };
}

function judge(record: EpisodeRecord): Judgement {
  const faults: Fault[] = [];
  const seen = new SeenText();
  let heard = 0;
  for (const { index, message } of agentTurns(record)) {
    for (; heard < index; heard++) seen.add(record, heard);
    if (isMasked(record, index)) continue;
    const invented = (message.toolCalls ?? []).filter((call) => seen.lacksIdOf(call));
    if (invented.length === 0) continue;
    const because = `nobody had mentioned ${invented.flatMap((call) => seen.lackedIdsOf(call)).join(', ')} by then`;
    const masked = faults.map(({ message }) => message);
    if (invented.some((call) => !answerOf(record, call)?.isError)) {
      const nowhere = {
        kind: 'an id out of nowhere',
        because: `${because}, and the call was answered as if all were well`,
      };
      return cutOrDrop(withMasked(record, masked), index, nowhere, faults);
    }
    faults.push({ message: index, kind: 'a call with an invented id', because });
  }
  if (faults.length === 0) return KEEP;
  const repaired = withMasked(
    record,
    faults.map(({ message }) => message),
  );
  return { repaired, note: 'call with an invented id masked', faults };
}

/** What the agent has been told so far, for whole words of any case. */
export class SeenText {
  private text = ' ';
  private policy = ' ';

  add(record: Pick<EpisodeRecord, 'messages'>, index: number): void {
    const message = record.messages[index];
    if (message.role === 'system') this.policy += `${message.content.toLowerCase()} `;
    else if (message.role !== 'assistant') this.text += `${message.content.toLowerCase()} `;
  }

  /** Whether a call has an id among its arguments that nobody has mentioned. */
  lacksIdOf(call: Pick<ToolCall, 'arguments'>): boolean {
    return this.lackedIdsOf(call).length > 0;
  }

  /** Ids among a call's arguments that nobody has mentioned, in lower case. */
  lackedIdsOf(call: Pick<ToolCall, 'arguments'>): string[] {
    return idsOf(call).filter((id) => !this.has(id));
  }

  /** An id, in lower case. A word of the policy is no id, however it is used: only what has a digit is taken from there. */
  has(id: string): boolean {
    return hasWord(this.text, id) || (/\d/.test(id) && hasWord(this.policy, id));
  }
}

/** Whether a text names a word as a whole; both in lower case. */
export function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (!/[\p{L}\p{N}]/u.test(text[at - 1]) && !/[\p{L}\p{N}]/u.test(text[at + word.length])) return true;
  }
  return false;
}

/** Ids among a call's arguments, in lower case, without a leading "#". */
function idsOf({ arguments: values }: Pick<ToolCall, 'arguments'>): string[] {
  const ids: string[] = [];
  const look = (name: string, value: Json): void => {
    if (Array.isArray(value)) for (const part of value) look(name, part);
    else if (typeof value === 'object' && value !== null)
      for (const [key, part] of Object.entries(value)) look(key, part);
    else if (isId(name, value)) ids.push(String(value).replace(/^#/, '').toLowerCase());
  };
  look('', values);
  return ids;
}

function isId(name: string, value: Json): boolean {
  if (typeof value !== 'string' || value.trim() === '' || DATE.test(value)) return false;
  return ID_NAME.test(name) ? /^\S{1,128}$/.test(value) : ID_VALUE.test(value);
}
