// Family `text` over OpenEnv: one required field, which harnesses fill with a model's reply as it is. It is called as in
// OpenEnv's textarena_env.

import { z } from 'zod';
import type { Servable } from '../../../run/index.js';
import { actionShape, commonShape, endingOf } from './ending.js';
import { checkedMessage } from './field-errors.js';
import type { EnvWire } from './wire-contract.js';

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

export function textWire({ policy }: Servable): EnvWire {
  return {
    action,
    observation,
    tools: [],
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
