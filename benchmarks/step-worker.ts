// A worker of step-workers.ts: revives the model, keeps its rows and steps them whenever it is told to.

import { parentPort, workerData } from 'node:worker_threads';
import { Rng, type RngState } from '../src/core/rng.js';
import type { WorldModelSnapshot } from '../src/worldmodel/dynamics.js';
import { loadWorldModel } from '../src/worldmodel/kinds.js';

export interface StepShare {
  readonly model: WorldModelSnapshot;
  readonly obs: Float32Array;
  readonly action: Float32Array;
  readonly rows: number;
  readonly rng: RngState;
}

const { model: snapshot, obs, action, rng: state } = workerData as StepShare;
const model = await loadWorldModel(snapshot);
const rng = Rng.fromState(state);
const carry = await model.begin(obs, rng);
parentPort!.on('message', async (steps: number) => {
  for (let i = 1; i < steps; i++) await model.imagine(carry, action, rng);
  const { observation: nextObs, reward, terminated } = await model.imagine(carry, action, rng);
  const buffers = [nextObs, reward, terminated].map((column) => column.buffer as ArrayBuffer);
  parentPort!.postMessage({ nextObs, reward, terminated }, buffers);
});
parentPort!.postMessage('ready');
