// The slow truth about branched rollouts: objects, one row at a time, written from the definition and not from the engine.
// Only the batched calls to policy and model are shared, because the noise of a row depends on its place among the living.

import type { Carry } from '../../src/core/dynamics.js';
import type { OwnRequest } from './fixtures.js';

export interface ReferenceRow {
  obs: number[];
  action: number[];
  reward: number;
  terminated: number;
  truncated: number;
  nextObs: number[];
  episode: number;
  step: number;
  parent: number;
  confidence?: number;
  logProb?: number;
}

interface Branch {
  obs: number[];
  carry: Carry;
  rows: ReferenceRow[];
  episode: number;
  parent: number;
  living: boolean;
}

export async function referenceRollouts(request: OwnRequest): Promise<ReferenceRow[]> {
  const { chunkSize = 512 } = request;
  const branches = await plantBranches(request);
  for (let from = 0, chunk = 0; from < branches.length; from += chunkSize, chunk++) {
    await runChunk(branches.slice(from, from + chunkSize), request, chunk);
  }
  return branches.flatMap((branch) => branch.rows);
}

async function plantBranches(request: OwnRequest): Promise<Branch[]> {
  const { starts, startIds, firstEpisode = 0 } = request;
  const obsDim = starts.length / startIds.length;
  const planted: Branch[] = [];
  for (let start = 0; start < startIds.length; start++) {
    const obs = starts.slice(start * obsDim, (start + 1) * obsDim);
    planted.push({
      obs: [...obs],
      carry: await request.model.begin(obs, request.rng),
      rows: [],
      episode: firstEpisode + start,
      parent: startIds[start],
      living: true,
    });
  }
  return planted;
}

async function runChunk(branches: Branch[], request: OwnRequest, chunk: number): Promise<void> {
  const rng = request.rng.split('chunk', chunk);
  for (let step = 0; step < request.horizon; step++) {
    const living = branches.filter((branch) => branch.living);
    if (living.length === 0) return;
    const obs = Float32Array.from(living.flatMap((branch) => branch.obs));
    const wantsDoubt = request.disagreementLimit !== undefined;
    const acted = await request.policy.act(obs, living.length, rng.split('act', step));
    const { model } = request;
    const carry = model.join(living.map((branch) => branch.carry));
    const answer = await model.imagine(carry, acted.action, rng.split('model', step), {
      propagation: request.propagation,
      disagreement: wantsDoubt,
    });
    for (let i = 0; i < living.length; i++) {
      const cut = <T extends Float32Array>(column: T) => {
        const dim = column.length / living.length;
        return [...column.slice(i * dim, (i + 1) * dim)];
      };
      const row: ReferenceRow = {
        obs: living[i].obs,
        action: cut(acted.action),
        reward: answer.reward[i],
        terminated: answer.terminated[i],
        truncated: 0,
        nextObs: cut(answer.observation),
        episode: living[i].episode,
        step,
        parent: living[i].parent,
        ...(wantsDoubt && { confidence: Math.fround(1 / (1 + answer.disagreement![i])) }),
        ...(acted.logProb && { logProb: acted.logProb[i] }),
      };
      living[i].carry = model.pick(answer.carry, Uint32Array.of(i));
      extend(living[i], row, request, answer.disagreement?.[i]);
    }
  }
}

function extend(branch: Branch, row: ReferenceRow, request: OwnRequest, disagreement?: number): void {
  const isDoubted = request.disagreementLimit !== undefined && disagreement! > request.disagreementLimit;
  if (isDoubted) {
    branch.living = false;
    const last = branch.rows.at(-1);
    if (last) last.truncated = 1;
    return;
  }
  branch.rows.push(row);
  branch.obs = row.nextObs;
  const isLast = row.step === request.horizon - 1;
  if (isLast && !row.terminated) row.truncated = 1;
  branch.living = !isLast && !row.terminated;
}
