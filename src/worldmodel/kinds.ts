// The registry of dynamics, and what is asked of a model before one knows its kind. A new kind is a folder with an entry,
// and one line here; a user's module registers its own.

import { z } from 'zod';
import { reverieError } from '../core/errors.js';
import { threadPlugins } from '../core/plugins.js';
import { Registry } from '../core/registry.js';
import type { DeviceFit, Precision } from '../nn/cuda-addon.js';
import type {
  DynamicsEntry,
  ModelPlace,
  ModelSection,
  Spaces,
  StoredDynamics,
  WorldModelSnapshot,
} from './dynamics.js';
import { ensembleEntry } from './ensemble/entry.js';
import { folderInvalid, readManifest } from './model-folder.js';
import { onnxEntry } from './onnx/entry.js';

export const dynamicsKinds = new Registry<DynamicsEntry>('dynamics');
for (const entry of [ensembleEntry, onnxEntry]) dynamicsKinds.register(entry);

/** What a scenario's `model:` section may be: one of the kinds that are registered now and can be named. */
export function modelSectionSchema() {
  const named = dynamicsKinds.list().flatMap(({ schema }) => schema ?? []);
  const union = z.discriminatedUnion('kind', named as [(typeof named)[number], ...typeof named]);
  return union as unknown as z.ZodType<ModelSection, { readonly kind?: string; readonly [key: string]: unknown }>;
}

/**
 * Revives a world model, on the processor or on a device. Throws MODEL_FILE_INVALID for what is none, is damaged, or names
 * what does not exist; DEVICE_UNAVAILABLE for a kind that devices do not run, and what its kind throws.
 */
export async function loadWorldModel(
  source: WorldModelSnapshot | string,
  place: ModelPlace = {},
): Promise<StoredDynamics> {
  await threadPlugins();
  const isFolder = typeof source === 'string';
  const entry = isFolder ? entryOfFormat(source, (await readManifest(source))['format']) : entryOfSnapshot(source);
  const kind = await entry.make();
  if (place.device && kind.devices === undefined) {
    const backend = isFolder ? entry.format : entry.name;
    throw reverieError('DEVICE_UNAVAILABLE', {
      problem: `World model "${backend}" cannot run on ${place.device.kind}: devices run ensembles.`,
      hint: 'Use --device cpu, or --device auto, which uses a GPU only where it can.',
    });
  }
  return isFolder ? kind.load(source, place) : kind.revive(source, place);
}

/** Whether a device would run what `section` describes. Throws CUDA_UNAVAILABLE without the addon. */
export async function sectionDeviceFit(
  section: ModelSection,
  spaces: Spaces,
  precision: Precision,
): Promise<DeviceFit> {
  const { devices } = await dynamicsKinds.get(section.kind).make();
  return devices?.ofSection(section, spaces, precision) ?? { problem: NO_DEVICE, precision };
}

/** The same of a saved world model. Throws MODEL_FILE_INVALID for a folder without a readable manifest. */
export async function folderDeviceFit(folder: string, precision: Precision): Promise<DeviceFit> {
  const manifest = await readManifest(folder);
  const entry = dynamicsKinds.list().find(({ format }) => format === manifest['format']);
  const devices = (await entry?.make())?.devices;
  return devices?.ofManifest(manifest, precision) ?? { problem: NO_DEVICE, precision };
}

const NO_DEVICE = 'devices run ensembles alone';

function entryOfFormat(folder: string, format: unknown): DynamicsEntry {
  const entry = dynamicsKinds.list().find((one) => one.format === format);
  if (entry !== undefined) return entry;
  const known = dynamicsKinds.list().map((one) => one.format);
  throw folderInvalid(folder, `its format is ${JSON.stringify(format)}.`, `Known formats: ${known.join(', ')}.`);
}

function entryOfSnapshot({ backend }: WorldModelSnapshot): DynamicsEntry {
  if (dynamicsKinds.has(backend)) return dynamicsKinds.get(backend);
  const known = dynamicsKinds.names().join(', ');
  throw folderInvalid('snapshot', `its backend is "${backend}".`, `Known backends: ${known}.`);
}
