// Whether a device computes what the host does: a small ensemble of random weights, stepped there and in the emulation of the
// same kernels.

import { Rng } from '../core/rng.js';
import { DeviceEnsemble, type DeviceTarget } from './cuda.js';
import type { EnsembleWeights, LayerWeights } from './cuda-addon.js';

const OBS_DIM = 4;
const ACTION_DIM = 2;
const WIDTHS = [OBS_DIM + ACTION_DIM, 48, 48, 2 * (OBS_DIM + 1)];
const ROWS = 100;

/**
 * The largest difference between the two in any number of the step, in float32, where rounding makes it about 1e-6.
 * Throws as `DeviceEnsemble.open` and `step`.
 */
export async function deviceTrial(kind: DeviceTarget['kind']): Promise<number> {
  const [there, here] = [await stepOn(kind), await stepOn('emulated')];
  return there.reduce((worst, value, i) => Math.max(worst, Math.abs(value - here[i])), 0);
}

async function stepOn(kind: DeviceTarget['kind']): Promise<Float32Array> {
  const rng = Rng.fromSeed(0).split('device-trial');
  const ensemble = await DeviceEnsemble.open({ kind, precision: 'fp32' }, trialWeights(rng));
  try {
    const { nextObs, reward, disagreement } = await ensemble.step({
      rows: ROWS,
      obs: rng.split('obs').fillNormal(new Float32Array(ROWS * OBS_DIM)),
      action: rng.split('action').fillUniform(new Float32Array(ROWS * ACTION_DIM), -1, 1),
      rng: rng.split('noise'),
      isTs1: true,
      isDeterministic: false,
      withDisagreement: true,
    });
    return Float32Array.from([...nextObs, ...reward!, ...disagreement!]);
  } finally {
    await ensemble.close();
  }
}

function trialWeights(rng: Rng): EnsembleWeights {
  const filled = (length: number, value: number) => new Float32Array(length).fill(value);
  const layersOf = (member: number) =>
    WIDTHS.slice(1).map((out, layer): LayerWeights => {
      const width = WIDTHS[layer];
      const w = rng.split('member', member, layer).fillNormal(new Float32Array(width * out));
      return { in: width, out, w: w.map((value) => value / Math.sqrt(width)), b: filled(out, 0.1) };
    });
  const elite = (member: number) => ({
    layers: layersOf(member),
    logVarMin: filled(OBS_DIM + 1, -10),
    logVarMax: filled(OBS_DIM + 1, 0.5),
  });
  return {
    ...{ obsDim: OBS_DIM, actionDim: ACTION_DIM, actionChoices: 0, actionStart: 0 },
    ...{ learnsReward: true, learnsTermination: false },
    elites: [elite(0), elite(1), elite(2)],
    ...{ inputMean: filled(OBS_DIM + ACTION_DIM, 0), inputScale: filled(OBS_DIM + ACTION_DIM, 1) },
    ...{ targetMean: filled(OBS_DIM + 1, 0), targetScale: filled(OBS_DIM + 1, 1) },
    ...{ low: filled(OBS_DIM, Number.NEGATIVE_INFINITY), high: filled(OBS_DIM, Number.POSITIVE_INFINITY) },
  };
}
