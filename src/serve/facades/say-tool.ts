// Protocols in which an agent acts by calling tools alone: there it speaks to the user by a tool too.

import type { ToolSpec } from '../../env/index.js';
import type { Servable } from '../../run/index.js';

/** A tool as a client is told of it; `parameters` is the JSON Schema of an object. */
export type OfferedTool = Pick<ToolSpec, 'name' | 'description' | 'parameters'>;

/** Python identifiers all, as TRL binds tools to methods. The first that the domain has no tool of. */
const NAMES = ['respond_to_user', 'say_to_user', 'send_message_to_user'];

/** The tool that says `content` to the user; family `tools`. */
export function sayToolOf({ tools }: Pick<Servable, 'tools'>): OfferedTool {
  const taken = new Set(tools.map(({ name }) => name));
  const numbered = function* () {
    yield* NAMES;
    for (let n = 2; ; n++) yield `${NAMES[0]}_${n}`;
  };
  let name = NAMES[0];
  for (name of numbered()) if (!taken.has(name)) break;
  return {
    name,
    description:
      "Says something to the user and answers what the user replies. The user sees nothing else of the agent's.",
    parameters: {
      type: 'object',
      properties: { content: { type: 'string', minLength: 1, description: 'What is said to the user' } },
      required: ['content'],
      additionalProperties: false,
    },
  };
}
