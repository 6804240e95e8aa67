// Reward and end as a learner in the dream would be given them: sampled, one step from real states, and summed over
// sequences of actions that were really taken.

import type { Instrument } from '../../instrument.js';
import { type Beginning, beginningsOf, openLoop } from '../open-loop.js';
import { CHUNK_ROWS, CHUNK_STARTS, chunkRange, chunkRng, type Judged } from '../plan.js';
import { short } from '../section-parts.js';
import { widths } from '../truth.js';
import { concludeRewardEnd } from './finding.js';
import type { RewardEndRow } from './row.js';

/** Chunks of transitions come first, then those of sequences. */
export function rewardEndInstrument(judged: Judged): Instrument<RewardEndRow> {
  const beginnings = beginningsOf(judged);
  const stepChunks = judged.subject.model === undefined ? 0 : Math.ceil(judged.ground.truth.rows.rows / CHUNK_ROWS);
  return {
    id: 'reward-end',
    unit: 'transitions and dreams',
    chunks: stepChunks + Math.ceil(beginnings.length / CHUNK_STARTS),
    measure: (chunk) => {
      if (chunk < stepChunks) return steps(judged, chunk);
      const [first, end] = chunkRange(chunk - stepChunks, CHUNK_STARTS, beginnings.length);
      return sequences(judged, beginnings.slice(first, end), chunk);
    },
    conclude: (rows) => concludeRewardEnd(judged, beginnings, rows),
  };
}

async function steps({ ground, subject }: Judged, chunk: number): Promise<readonly RewardEndRow[]> {
  const { truth, plan } = ground;
  const { obsDim, actionDim } = widths(truth);
  const [first, end] = chunkRange(chunk, CHUNK_ROWS, truth.rows.rows);
  const obs = truth.rows.obs.subarray(first * obsDim, end * obsDim);
  const action = truth.rows.action.subarray(first * actionDim, end * actionDim);
  const rng = chunkRng(plan, 'reward-end', chunk);
  const { propagation } = plan;
  const { reward, terminated } = await subject.model!.step(obs, action, end - first, rng, { propagation });
  return Array.from(reward, (value, r) => ({ kind: 'step', reward: short(value), terminated: terminated[r] }));
}

async function sequences(
  judged: Judged,
  beginnings: readonly Beginning[],
  chunk: number,
): Promise<readonly RewardEndRow[]> {
  const { plan } = judged.ground;
  const tracks = await openLoop(judged, beginnings, chunkRng(plan, 'reward-end', chunk), {
    propagation: plan.propagation,
  });
  return tracks.map(({ lived, reward, terminated }) => {
    const end = terminated.subarray(0, lived).indexOf(1);
    const steps = end < 0 ? lived : end + 1;
    let sum = 0;
    for (let t = 0; t < steps; t++) sum += reward[t];
    return { kind: 'sequence', return: short(sum), steps };
  });
}
