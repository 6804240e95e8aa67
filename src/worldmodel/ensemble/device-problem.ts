// Whether an ensemble could run on a device, asked before there are weights, or before they are read.

import { type EnsembleWeights, type LayerWeights, unsupportedByDevice } from '../../nn/index.js';
import { readManifest } from '../model-folder.js';
import { rowShape, type Spaces } from '../model-spaces.js';
import type { EnsembleConfig } from './config.js';
import { ensembleDescriptionSchema, memberShapeOf } from './contents.js';
import { ENSEMBLE_FORMAT } from './ensemble-folder.js';

/** Why devices cannot run an ensemble of this form; undefined where they can. Throws CUDA_UNAVAILABLE without the addon. */
export function ensembleDeviceProblem(spaces: Spaces, config: EnsembleConfig): string | undefined {
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
  return unsupportedByDevice(weights);
}

/** The same of a saved world model. Throws MODEL_FOLDER_INVALID for a folder without a readable manifest. */
export async function folderDeviceProblem(folder: string): Promise<string | undefined> {
  const { format, description } = await readManifest(folder);
  if (format !== ENSEMBLE_FORMAT) return 'devices run ensembles alone';
  const parsed = ensembleDescriptionSchema.safeParse(description);
  // What is wrong with it, its reader says.
  return parsed.success ? ensembleDeviceProblem(parsed.data, parsed.data.config) : undefined;
}
