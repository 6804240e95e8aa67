// The ensemble that the dream and training benchmarks share: MBPO's, with HalfCheetah's shape, fitted to made-up data.

import { Rng } from '../src/core/rng.js';
import { boxSpace, unboundedSpace } from '../src/env/space-values.js';
import { allocateBatch } from '../src/replay/columns.js';
import type { TransitionBatch } from '../src/replay/transition.js';
import type { EnsembleModel } from '../src/worldmodel/ensemble/ensemble-model.js';
import { fitEnsemble } from '../src/worldmodel/ensemble/fit.js';
import { loadWorldModel } from '../src/worldmodel/kinds.js';
import { PythonPeer } from './python-peer.js';

export const OBS_DIM = 17;
export const ACTION_DIM = 6;
export const MEMBERS = 7;
export const ELITES = 5;
export const HIDDEN = [200, 200, 200, 200];
export const SPACES = {
  observationSpace: unboundedSpace(OBS_DIM),
  actionSpace: boxSpace(new Array(ACTION_DIM).fill(-1), new Array(ACTION_DIM).fill(1)),
};

/** Random rows: what the weights are does not matter to the time they take. */
export function randomTransitions(rows: number, rng: Rng): TransitionBatch {
  const batch = allocateBatch(rows, OBS_DIM, ACTION_DIM);
  rng.fillUniform(batch.action, -1, 1);
  for (const column of [batch.obs, batch.nextObs, batch.reward]) rng.fillNormal(column);
  return batch;
}

export async function makeEnsemble(): Promise<EnsembleModel> {
  const rng = Rng.fromSeed(0);
  const settings = { members: MEMBERS, elites: ELITES, hidden: HIDDEN, maxEpochs: 1 };
  return (await fitEnsemble(randomTransitions(1000, rng), SPACES, settings, { rng })).model;
}

/** The same model by vector code of our own (`--device native`). Throws DEVICE_UNAVAILABLE without the addon. */
export async function nativeOf(model: EnsembleModel, threads = 1): Promise<EnsembleModel> {
  const device = { kind: 'native', precision: 'fp32', threads } as const;
  return (await loadWorldModel(model.snapshot(), { device })) as EnsembleModel;
}

/** Multiply-adds that a row takes where one elite answers it. */
export function productsOfRow(): number {
  const sizes = [OBS_DIM + ACTION_DIM, ...HIDDEN, 2 * (OBS_DIM + 1)];
  return sizes.slice(1).reduce((sum, out, layer) => sum + sizes[layer] * out, 0);
}

/** What mbrl-lib imports, at versions that work together today; mbrl-lib itself is added by the script (see there). */
const REQUIREMENTS = [
  'torch==2.15.0',
  'numpy==2.4.6',
  'hydra-core==1.3.8',
  'omegaconf==2.3.1',
  'gymnasium==1.4.0',
  'matplotlib==3.11.2',
  'termcolor==3.3.0',
  'tqdm==4.70.1',
];

/** PyTorch with mbrl-lib, on the CPU. Its wheels are large: the first start downloads gigabytes. */
export function startTorch(root: string, log: (line: string) => void): Promise<PythonPeer> {
  return PythonPeer.start({ name: 'torch', requirements: REQUIREMENTS, script: 'torch_ensemble.py', root, log });
}
