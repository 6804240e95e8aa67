// The first observation of an episode, for agents that see nothing but observations: rules, tools, how to write an action,
// and what there is to see. AgentGym's `todo` client puts instructions of its own before it, in the same way of writing.

import { describeSpace } from '../../../env/index.js';
import type { Servable } from '../../../run/index.js';
import { offeredTools, openingOf } from '../tool-calls.js';

export function firstObservation(served: Servable, observation: unknown): string {
  const { rules, first } = openingOf(served, observation);
  return [NEW, rules, writing(served), `${opener(served)}\n${first}`].filter((part) => part !== '').join('\n\n');
}

const NEW = 'This is a new environment. What follows replaces all instructions and actions above.';

function writing(served: Servable): string {
  if (served.family === 'text') return 'Write your action as one line:\nAction: [what you do]';
  if (served.family === 'vector') {
    return `Write your action as a list of numbers, ${describeSpace(served.actionSpace)}:\nAction: [numbers]`;
  }
  const tools = offeredTools(served).map(({ name, description, parameters }) => {
    return `Name: ${name}\nDescription: ${description}\nParameters: ${JSON.stringify(parameters)}`;
  });
  const how =
    'Write one action in each turn:\nThought: [your thought]\n\nAction: [name] with Action Input: [arguments as JSON]';
  return `Actions:\n\n${tools.join('\n\n')}\n\n${how}`;
}

function opener({ family }: Servable): string {
  return family === 'tools' ? 'The user says:' : 'Observation:';
}
