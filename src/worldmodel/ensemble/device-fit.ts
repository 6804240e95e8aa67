// Whether and how an ensemble would run on a device, asked before there are weights, or before they are read.

import { type DeviceFit, deviceFit, type EnsembleWeights, type LayerWeights, type Precision } from '../../nn/index.js';
import type { DeviceSupport } from '../dynamics-kind.js';
import { rowShape, type Spaces } from '../model-spaces.js';
import { type EnsembleConfig, type EnsembleConfigInput, parseEnsembleConfig, settleEnsembleConfig } from './config.js';
import { ensembleDescriptionSchema, memberShapeOf } from './contents.js';

/** Of an ensemble of this form. Throws CUDA_UNAVAILABLE without the addon. */
export function ensembleDeviceFit(spaces: Spaces, config: EnsembleConfig, precision: Precision): DeviceFit {
  const shape = memberShapeOf(spaces, config);
  const { inputDim, outputDim, hidden, termination } = shape;
  const { obsDim, actionDim } = rowShape(spaces);
  const { actionSpace } = spaces;
  const of = (length: number) => new Float32Array(length);
  const sizes = [inputDim, ...hidden, 2 * outputDim + (termination ? 1 : 0)];
  const layers = sizes.slice(1).map((out, layer): LayerWeights => {
    const width = sizes[layer];
    return { in: width, out, w: of(width * out), b: of(out) };
  });
  const weights: EnsembleWeights = {
    ...{ obsDim, actionDim },
    actionChoices: actionSpace.type === 'discrete' ? actionSpace.n : 0,
    actionStart: actionSpace.type === 'discrete' ? actionSpace.start : 0,
    learnsReward: config.learnReward,
    learnsTermination: termination,
    elites: Array.from({ length: config.elites }, () => ({
      layers,
      logVarMin: of(outputDim),
      logVarMax: of(outputDim),
    })),
    ...{ inputMean: of(inputDim), inputScale: of(inputDim).fill(1) },
    ...{ targetMean: of(outputDim), targetScale: of(outputDim).fill(1) },
    ...{ low: of(obsDim).fill(-Infinity), high: of(obsDim).fill(Infinity) },
  };
  return deviceFit(weights, precision);
}

/** What the registry asks. */
export const ensembleDevices: DeviceSupport = {
  ofSection: (section, spaces, precision) =>
    ensembleDeviceFit(
      spaces,
      settleEnsembleConfig(parseEnsembleConfig(section as EnsembleConfigInput), { spaces }),
      precision,
    ),
  ofManifest: ({ description }, precision) => {
    const parsed = ensembleDescriptionSchema.safeParse(description);
    // What is wrong with it, its reader says.
    return parsed.success ? ensembleDeviceFit(parsed.data, parsed.data.config, precision) : { precision };
  },
};
