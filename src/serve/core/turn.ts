// What a step was worth and what may be told of it.

import type { Info, ToolsStepInfo } from '../../env/index.js';

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
