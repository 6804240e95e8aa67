// A policy as a file: policy.onnx, which any ONNX consumer opens.

import { join } from 'node:path';
import { reverieError } from '../core/errors.js';
import { ensureFolder, writeFileAtomic } from '../store/atomic-file.js';
import type { Learner } from './learner.js';

/**
 * Writes the learner's policy to `path` (ending in .onnx) or to `policy.onnx` in the folder `path`; answers the file's path.
 * Inputs: obs [batch, obsDim], noise [batch, noiseDim] (standard normals for a Box, uniforms in (0, 1) per class for a
 * Discrete). Outputs: action and mean [batch, actionDim] in the environment's units, logProb [batch].
 * @throws POLICY_INVALID for a learner whose policy is no network
 */
export async function exportPolicy(path: string, learner: Pick<Learner, 'policyModel'>): Promise<string> {
  const model = learner.policyModel?.();
  if (model === undefined)
    throw reverieError('POLICY_INVALID', { problem: 'it is no network, which .onnx would hold' });
  const isFile = path.endsWith('.onnx');
  if (!isFile) await ensureFolder(path);
  const file = isFile ? path : join(path, 'policy.onnx');
  await writeFileAtomic(file, model);
  return file;
}
