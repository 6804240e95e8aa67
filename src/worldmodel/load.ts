// From a folder or a snapshot to a world model, whatever its kind.

import { reverieError } from '../core/errors.js';
import { ENSEMBLE_FORMAT } from './ensemble/ensemble-folder.js';
import { EnsembleModel, type EnsemblePayload } from './ensemble/ensemble-model.js';
import { TABULAR_FORMAT } from './exact/tabular-folder.js';
import { TabularModel, type TabularPayload } from './exact/tabular-model.js';
import { reviveKnown } from './known.js';
import { folderInvalid, readManifest } from './model-folder.js';
import { OnnxDynamics, type OnnxPayload } from './onnx/onnx-dynamics.js';
import { ONNX_FORMAT } from './onnx/onnx-manifest.js';
import type { ModelPlace, StoredWorldModel, WorldModelSnapshot } from './world-model.js';

/**
 * Revives a world model, on the processor or on a device. Throws MODEL_FOLDER_INVALID for what is none, is damaged, or names
 * what does not exist; DEVICE_UNSUPPORTED for a kind that devices do not run, and as `EnsembleModel.open`.
 */
export async function loadWorldModel(
  source: WorldModelSnapshot | string,
  place: ModelPlace = {},
): Promise<StoredWorldModel> {
  const format = typeof source === 'string' ? (await readManifest(source))['format'] : source.backend;
  if (place.device && format !== ENSEMBLE_FORMAT && format !== 'ensemble') {
    const problem = 'devices run ensembles';
    throw reverieError('DEVICE_UNSUPPORTED', { backend: format, device: place.device.kind, problem });
  }
  return typeof source === 'string' ? fromFolder(source, place) : fromSnapshot(source, place);
}

async function fromFolder(folder: string, place: ModelPlace): Promise<StoredWorldModel> {
  const { format } = await readManifest(folder);
  switch (format) {
    case ENSEMBLE_FORMAT:
      return EnsembleModel.load(folder, place);
    case ONNX_FORMAT:
      return OnnxDynamics.load(folder);
    case TABULAR_FORMAT:
      return TabularModel.load(folder);
    default: {
      const known = [ENSEMBLE_FORMAT, ONNX_FORMAT, TABULAR_FORMAT].join(', ');
      throw folderInvalid(folder, `its format is ${JSON.stringify(format)}.`, `Known formats: ${known}.`);
    }
  }
}

async function fromSnapshot(
  { backend, modelVersion, payload }: WorldModelSnapshot,
  place: ModelPlace,
): Promise<StoredWorldModel> {
  switch (backend) {
    case 'ensemble': {
      const { description, models } = payload as EnsemblePayload;
      const known = await reviveKnown(description.outcome, description.env, 'snapshot');
      return EnsembleModel.open({ description, models }, known, modelVersion, place);
    }
    case 'onnx':
      return OnnxDynamics.revive(payload as OnnxPayload);
    case 'exact':
      return TabularModel.revive(payload as TabularPayload);
    default:
      throw folderInvalid('snapshot', `its backend is "${backend}".`, 'Known backends: ensemble, onnx, exact.');
  }
}
