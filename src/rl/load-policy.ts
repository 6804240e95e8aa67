// Revives any policy of this room from its snapshot's payload; the module every snapshot names as its loader.

import { z } from 'zod';
import type { VectorSpace } from '../core/environment.js';
import { describeIssues, reverieError } from '../core/errors.js';
import type { Policy } from '../core/policy.js';
import { NetworkPolicy } from './network-policy.js';
import type { PolicyNet } from './policy-net.js';
import { RandomPolicy } from './random-policy.js';
import { ScriptedPolicy } from './scripted-policy.js';

const payloadSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('network'), net: z.custom<PolicyNet>(), theta: z.instanceof(Float32Array) }),
  z.object({ kind: z.literal('random'), space: z.custom<VectorSpace>() }),
  z.object({
    kind: z.literal('scripted'),
    source: z.object({
      module: z.string(),
      export: z.string(),
      settings: z.unknown().optional(),
      obsDim: z.int(),
      actionDim: z.int(),
    }),
  }),
]);

/** Throws MODEL_FILE_INVALID for anything that is not a payload of this room's snapshots. */
export async function loadPolicy(payload: unknown): Promise<Policy> {
  const parsed = payloadSchema.safeParse(payload);
  if (!parsed.success)
    throw reverieError('MODEL_FILE_INVALID', {
      problem: `This is not a policy that can be loaded: ${describeIssues(parsed.error)}.`,
      hint: 'Give the payload of a PolicySnapshot made by this version of reverie.',
    });
  const value = parsed.data;
  if (value.kind === 'random') return new RandomPolicy(value.space);
  if (value.kind === 'scripted') return ScriptedPolicy.load(value.source);
  return NetworkPolicy.load(value.net, value.theta);
}
