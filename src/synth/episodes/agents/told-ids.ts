// What an agent may know: ids that the policy, the user or a tool has mentioned.

import type { Json } from '../../../core/json.js';
import type { CallSpec, Message } from '../../../env/index.js';
import { hasWord } from '../../quality/provenance.js';

/** Names of arguments that hold an id which nobody has mentioned. */
export function unknownIds({ arguments: given }: CallSpec, messages: readonly Message[]): string[] {
  return Object.entries(given).flatMap(([name, value]) => (isId(value) && !isKnown(value, messages) ? [name] : []));
}

/** Whether somebody but the agent has mentioned it, as a whole word. */
export function isKnown(id: string, messages: readonly Message[]): boolean {
  return messages.some(
    ({ role, content }) => role !== 'assistant' && hasWord(` ${content ?? ''} `.toLowerCase(), id.toLowerCase()),
  );
}

/** A word with a digit in it that is no date. */
export function isId(value: Json): value is string {
  return typeof value === 'string' && /\d/.test(value) && !/\s|^\d{4}-\d\d-\d\d$/.test(value);
}
