// Values between memory and JSON as every protocol tells them: observations and actions by the codec of their kind, and what of a
// step's `info` is told to whom.

import type { Info, ToolsStepInfo } from '../../env/index.js';
import { faceOf } from '../../kinds/index.js';
import type { Servable } from '../../run/serving/index.js';
import type { Action } from './session-contract.js';

type OfKind = Pick<Servable, 'family'>;

export function encodeObservation(served: OfKind, observation: unknown): unknown {
  return faceOf(served).codec.encodeObservation(observation);
}

/** An action as it came over the wire. @throws REQUEST_INVALID */
export function decodeAction(served: OfKind, action: unknown): Action {
  return faceOf(served).codec.decodeAction(action) as Action;
}

/** What is told of a step, with keys in snake_case. */
export function encodeInfo(info: Info): unknown {
  return snakeKeys(info);
}

function snakeKeys(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return Array.from(value as Float32Array);
  if (Array.isArray(value)) return value.map(snakeKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [snakeCase(key), snakeKeys(one)]));
}

function snakeCase(key: string): string {
  return key.replace(/([a-z0-9])([A-Z])/g, (_, before: string, letter: string) => `${before}_${letter.toLowerCase()}`);
}

// What a step was worth and what may be told of it.

/** null where the episode ended and nobody could judge it: never a silent 0. */
export function rewardOf(reward: number, info: Info): number | null {
  const { verdict } = info as Partial<ToolsStepInfo>;
  return verdict?.reward === null ? null : reward;
}

/**
 * What a client that acts in an episode may see of `info`: who answered, how sure, what it cost, and at the end the
 * verdict. Never thoughts of a simulator, changes of the hidden state or how a task is checked.
 */
export function publicInfo(info: Info): Info {
  const { predictions, verdict, stateHash, userCost: _, ...rest } = info as Partial<ToolsStepInfo> & Info;
  if (predictions === undefined && verdict === undefined)
    return stateHash === undefined ? rest : { ...rest, stateHash };
  const answered = predictions?.map(({ backend, modelVersion, confidence, isError, cost }) => {
    return { backend, modelVersion, confidence, isError, cost };
  });
  const judged = verdict && { reward: verdict.reward, judge: verdict.judge ?? null };
  return { ...rest, stateHash, ...(answered && { answered }), ...(judged && { verdict: judged }) };
}
