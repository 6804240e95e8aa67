// Checks of the process: required order of calls, the user's consent, and forbidden tools.

import type { Json } from '../../core/canonical-json.js';
import type { CallSpec, CheckResult, VerifierSpec } from './domain.js';
import { callsOf, type Message, spokenAt, type ToolCall } from './message.js';
import { holdsValue, valuesIn } from './stated-values.js';

type Process = Pick<VerifierSpec, 'before' | 'confirmed' | 'never'>;

export function processChecks({ before = {}, confirmed = [], never = [] }: Process, messages: readonly Message[]) {
  return [
    ...Object.entries(before).map(([first, later]) => checkBefore(first, later, messages)),
    ...confirmed.map((tool) => checkConfirmed(tool, messages)),
    ...never.map((tool) => checkNever(tool, messages)),
  ];
}

/** Whether a check is of what may not be done, by its name: such a fault is excused by nothing. */
export const isForbidding = (name: string) => /^(?:not called|never|before|confirmed): /.test(name);

/** Alternative tools, one of which must have succeeded: `find_by_email | find_by_name`. */
export function firstTools(first: string): string[] {
  return first.split('|').map((name) => name.trim());
}

interface Made {
  readonly call: ToolCall;
  /** Index of the message with the call. */
  readonly at: number;
}

function succeeded(messages: readonly Message[]): Made[] {
  const failed = new Set(messages.flatMap((one) => (one.role === 'tool' && one.isError ? [one.toolCallId] : [])));
  const answered = new Set(messages.flatMap((one) => (one.role === 'tool' ? [one.toolCallId] : [])));
  const made = messages.flatMap((message, at) => callsOf(message).map((call) => ({ call, at })));
  return made.filter(({ call: { id } }) => answered.has(id) && !failed.has(id));
}

/** Calls in the same message do not count as later: the agent had not seen the answer. */
function checkBefore(first: string, later: readonly string[], messages: readonly Message[]): CheckResult {
  const made = succeeded(messages);
  const names = firstTools(first);
  const since = made.find(({ call }) => names.includes(call.name))?.at ?? Number.POSITIVE_INFINITY;
  const early = made.find(({ call, at }) => later.includes(call.name) && at <= since);
  const name = `before: ${first}`;
  if (early === undefined) return { name, passed: true, reason: `nothing was done before ${first}` };
  return { name, passed: false, reason: `${early.call.name} was called before ${first} had succeeded` };
}

function checkNever(tool: string, messages: readonly Message[]): CheckResult {
  const isTried = messages.flatMap(callsOf).some(({ name }) => name === tool);
  return { name: `never: ${tool}`, passed: !isTried, reason: isTried ? 'it was called' : 'it was not called' };
}

function checkConfirmed(tool: string, messages: readonly Message[]): CheckResult {
  const name = `confirmed: ${tool}`;
  const faults = succeeded(messages).flatMap(({ call, at }) => {
    if (call.name !== tool) return [];
    const agreed = agreementTo(call, messages.slice(0, at));
    return agreed === 'agreed' ? [] : [agreed];
  });
  if (faults.length === 0)
    return { name, passed: true, reason: 'the user agreed to each such call before it was made' };
  const lack = faults[0] === 'refused' ? 'agreed' : 'been asked';
  return { name, passed: false, reason: `it was called, and the user had not ${lack}` };
}

/** The user's latest reply to a proposal of this call. */
export function agreementTo(call: CallSpec, messages: readonly Message[]): 'agreed' | 'refused' | 'unasked' {
  let [proposed, found]: [string, 'agreed' | 'refused' | 'unasked'] = ['', 'unasked'];
  for (const [i] of messages.entries()) {
    const said = spokenAt(messages, i);
    if (said?.role === 'assistant') proposed = said.content;
    else if (said?.role === 'user') {
      if (names(proposed, call)) found = isYes(said.content) ? 'agreed' : 'refused';
      else if (found === 'agreed' && TAKEN_BACK.test(said.content)) found = 'refused';
      proposed = '';
    }
  }
  return found;
}

/** Verbs that propose a look-up, not a change. */
const LOOKS = /\b(?:look|check|find|search|see|show|tell|verify|read|list|identif\w*)\b/i;

/**
 * Whether a message of the agent proposes this call: by the tool's verb (`cancel_order`: "cancel") or by most of its arguments. A
 * message with a different id of the same form proposes another call.
 */
function names(text: string, { name, arguments: given }: CallSpec): boolean {
  const values = valuesOf(given);
  const ids = values.filter((value) => /\d/.test(value) && !/\s/.test(value));
  const said = valuesIn(text);
  if (ids.some((id) => !holdsValue(text, id) && said.some((other) => isAlike(other, id)))) return false;
  const [verb] = name.split(/[_\s-]|(?<=[a-z])(?=[A-Z])/);
  if (new RegExp(`\\b${verb.slice(0, Math.max(3, verb.length - 1)).replaceAll(/[^\w]/g, '')}`, 'i').test(text))
    return true;
  const held = values.filter((value) => holdsValue(text, value.replaceAll('_', ' ')) || holdsValue(text, value));
  return held.length > 0 && held.length * 2 >= values.length && !LOOKS.test(text);
}

/** Whether two ids have the same form: equal letters, and equally many digits if there are no letters. */
function isAlike(said: string, id: string): boolean {
  const form = (text: string) =>
    /^\d+$/.test(text) ? `${text.length}` : text.replace(/^#/, '').replaceAll(/\d+/g, '0').toLowerCase();
  return form(said) === form(id) && (!/^\d+$/.test(id) || id.length >= 5);
}

function valuesOf(value: Json): string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap((part) => valuesOf(part as Json));
}

const YES =
  /^\W*(?:(?:oh|well|ok|okay|great|perfect|good|fine|thanks|thank you|alright|all right)\W+)*(?:yes|yeah|yep|yup|sure|ok|okay|please do|please go|please proceed|go ahead|go on|do it|do that|do so|correct|confirm|confirmed|i confirm|i agree|agreed|absolutely|certainly|definitely|of course|exactly|right|that['’]?s (?:right|correct|fine|ok|okay|good)|that is (?:right|correct|fine|ok|okay|good)|that works|works for me|sounds (?:good|great|fine)|perfect|great|fine|good|alright|all right|proceed|ja|oui|sí|si|sim)(?![\p{L}\p{N}])/iu;
const BUT = /\b(?:but|not|don['’]t|wait|instead|unless|except|rather|hold on|first|never mind)\b/i;
const OR_NOT = /^\s*(?:but|wait|no(?!\s+(?:problem|worries|hurry))|actually|instead)\b/i;
const TAKEN_BACK =
  /^\W*(?:no\b(?!\s+(?:problem|worries|hurry))|wait|stop|hold on|actually|don['’]t|do not|never mind|cancel that|leave it)\b/i;

/** "Yes, please." and "Go ahead, thanks"; not "Yes, but the other one". Only the first sentence decides. */
function isYes(text: string): boolean {
  const [first, ...rest] = text.trim().split(/(?<=[.!?])\s+/);
  return YES.test(first) && !BUT.test(first) && !OR_NOT.test(rest.join(' '));
}

/** The question by which an agent without a language model asks for consent. */
export function proposalOf({ name, arguments: given }: CallSpec): string {
  const values = valuesOf(given);
  const words = name.replaceAll('_', ' ');
  return `Shall I go ahead: ${words}${values.length > 0 ? ` (${values.join(', ')})` : ''}?`;
}
