// How each environment looks over OpenEnv: one file a family says what.

import { z } from 'zod';
import type { BoxSpace, VectorSpace } from '../../../env/index.js';
import { faceOf } from '../../../kinds/index.js';
import type { Servable } from '../../../run/serving/index.js';
import { encodeObservation } from '../../core/values.js';
import { actionOfCall, observationText, offeredTools, rulesOf } from '../tool-calls.js';
import { actionShape, commonShape, endingOf } from './ending.js';
import { checkedMessage } from './json-rpc.js';
import { callAction, toolsWire } from './tools-wire.js';
import type { EnvWire } from './wire-contract.js';

const wires = new WeakMap<Servable, EnvWire>();

/** The same one for the same environment. */
export function envWire(served: Servable): EnvWire {
  const known = wires.get(served);
  if (known !== undefined) return known;
  const wire = makeWire(served);
  wires.set(served, wire);
  return wire;
}

function makeWire(served: Servable): EnvWire {
  const { acts } = faceOf(served);
  if (acts === 'turn') return toolsWire(served);
  return withCalls(served, acts === 'numbers' ? vectorWire(served) : textWire(served));
}

// Whatever the actions of an environment are, agents can take them by calling its tool (`MCPToolClient`, tools/call).

function withCalls(served: Servable, wire: Omit<EnvWire, 'tools'>): EnvWire {
  return {
    ...wire,
    tools: offeredTools(served),
    decode(data, at) {
      if (!isCall(data)) return wire.decode(data, at);
      const { tool_name: name, arguments: given } = checkedMessage(callAction, data, at);
      return actionOfCall(served, { name, arguments: given });
    },
    observe(turn, action, data) {
      if (action !== undefined && isCall(data)) {
        const result = { data: observationText(turn.observation) };
        return { tool_name: (data as { tool_name: string }).tool_name, result, error: null, ...endingOf(turn) };
      }
      const seen = wire.observe(turn, action, data);
      return action === undefined ? { ...seen, metadata: { instructions: rulesOf(served), ...seen } } : seen;
    },
  };
}

function isCall(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'tool_name' in data;
}

// Family `text` over OpenEnv: one required field, which harnesses fill with a model's reply as it is. It is called as in
// OpenEnv's textarena_env.

const action = z
  .strictObject({ message: z.string().describe('What is done, in words'), ...actionShape })
  .meta({ title: 'TextAction' });

const observation = z
  .strictObject({
    instructions: z.string().optional().describe('After reset: what the agent is told first'),
    text: z.string().describe('What is seen'),
    admissible: z.array(z.string()).optional().describe('Actions that make sense now, where the environment tells'),
    ...commonShape,
  })
  .meta({ title: 'TextObservation' });

function textWire({ policy }: Servable): Omit<EnvWire, 'tools'> {
  return {
    action,
    observation,
    decode: (data, at) => checkedMessage(action, data, at).message,
    observe(turn, given) {
      const isFirst = given === undefined && policy !== '';
      const { admissible } = turn.info;
      return {
        ...(isFirst ? { instructions: policy } : {}),
        text: turn.observation,
        ...(admissible === undefined ? {} : { admissible }),
        ...endingOf(turn),
      };
    },
  };
}

// Family `vector` over OpenEnv. Fields are named as in its own environments of that kind: `values` for numbers
// (dm_control_env), `action_id` for one of n (openspiel_env, atari_env).

function vectorWire(served: Servable): Omit<EnvWire, 'tools'> {
  const { observationSpace, actionSpace } = served;
  const space = actionSpace as VectorSpace;
  const seen = valuesOf(observationSpace as VectorSpace, 'What is observed, one number an element');
  return {
    observation: z.strictObject({ values: seen, ...commonShape }).meta({ title: 'VectorObservation' }),
    ...(space.type === 'discrete' ? discreteAction(space) : boxAction(space)),
    observe: (turn) => ({ values: encodeObservation(served, turn.observation), ...endingOf(turn) }),
  };
}

type ActionWire = Pick<EnvWire, 'action' | 'decode'>;

function boxAction(space: BoxSpace): ActionWire {
  const values = valuesOf(space, 'The action, one number an element');
  const action = z.strictObject({ values, ...actionShape }).meta({ title: 'VectorAction' });
  return { action, decode: (data, at) => Float32Array.from(checkedMessage(action, data, at).values) };
}

function discreteAction({ start, n }: { readonly start: number; readonly n: number }): ActionWire {
  const id = z
    .int()
    .describe('Which of the actions')
    .meta({ minimum: start, maximum: start + n - 1 });
  const action = z.strictObject({ action_id: id, ...actionShape }).meta({ title: 'DiscreteAction' });
  return { action, decode: (data, at) => Float32Array.of(checkedMessage(action, data, at).action_id) };
}

/** Bounds are told, and the environment's to enforce: it knows whether it clips or refuses. */
function valuesOf(space: VectorSpace, description: string) {
  if (space.type === 'discrete') return z.array(z.number()).length(1).describe(description);
  const size = space.shape.reduce((product, length) => product * length, 1);
  const { shape, low, high } = space;
  return z.array(z.number()).length(size).describe(description).meta({ shape, low, high });
}
