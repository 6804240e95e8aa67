// A backend from outside: a call is answered as it mostly was where it was recorded. No network, no language model. What it says
// is a proposal: the router holds it against the typed state, and asks the next backend where it does not hold.

import { createHash } from 'node:crypto';
import { definePlugin, NO_COST, z } from 'reverie/extend';

class Habit {
  constructor(index, { k }) {
    this.index = index;
    this.k = k;
    this.version = `habit:1:${k}`;
  }

  predict({ call: { name, arguments: given }, messages }) {
    const call = { name, arguments: given };
    const found = this.index.retrieve({ call, history: callsIn(messages), sources: 'real' }, this.k);
    const same = found.map(({ step }) => step).filter((step) => isSame(step.call, call) && step.operations !== undefined);
    if (same.length === 0) return { declined: 'this call was never recorded' };
    const votes = new Map();
    for (const step of same) {
      const outcome = outcomeOf(step);
      votes.set(outcome, [...(votes.get(outcome) ?? []), step]);
    }
    const [most] = [...votes.values()].sort((a, b) => b.length - a.length);
    const { operations, observation, isError } = most[0];
    return { operations, observation, isError, confidence: most.length / same.length, cost: NO_COST };
  }
}

const text = (call) => `${call.name}(${JSON.stringify(call.arguments)})`;
const isSame = (a, b) => text(a) === text(b);
const outcomeOf = ({ operations, observation, isError }) =>
  createHash('sha256').update(JSON.stringify([operations, observation, isError])).digest('hex');
const callsIn = (messages) => messages.flatMap(({ toolCalls = [] }) => toolCalls.map(text)).slice(-8);

const schema = z.strictObject({
  k: z.int().min(1).default(20).describe('Similar records that are looked at.'),
  minShare: z.number().min(0).max(1).default(0.8).describe('Share of them that must agree.'),
});

export default definePlugin({
  backends: [
    {
      name: 'habit',
      summary: 'What was mostly answered where the call was recorded.',
      schema,
      // Nothing is said of trust: its answers are proposals.
      minConfidence: ({ minShare }) => minShare,
      needs: ['records'],
      make: async () => (parts, settings) => new Habit(parts.index, settings),
    },
  ],
});
