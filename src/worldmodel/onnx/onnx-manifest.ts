// What a folder with dynamics of one's own must say: manifest.json beside the .onnx file, and whether the two agree.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { describeIssues } from '../../core/errors.js';
import { envSpecSchema } from '../../env/env-spec.js';
import type { InferenceSession } from '../../nn/runtime.js';
import { folderInvalid } from '../model-folder.js';
import { rowShape, vectorSpaceSchema } from '../model-spaces.js';

export const ONNX_FORMAT = 'reverie-onnx-dynamics';

const tensorName = z.string().min(1);

export const onnxManifestSchema = z.strictObject({
  format: z.literal(ONNX_FORMAT),
  formatVersion: z.literal(1),
  model: z
    .string()
    .default('dynamics.onnx')
    .describe('the .onnx file, in the same folder, with all its weights inside'),
  sha256: z.string().optional().describe('its hash in hex; checked where given'),
  observationSpace: vectorSpaceSchema,
  actionSpace: vectorSpaceSchema,
  inputs: z
    .strictObject({
      obs: tensorName.default('obs').describe('float32 [batch, obsDim]'),
      action: tensorName
        .default('action')
        .describe('float32 [batch, actionDim]; discrete: [batch, 1], or [batch, n] one-hot'),
    })
    .prefault({}),
  outputs: z
    .strictObject({
      nextObs: tensorName.optional().describe('float32 [batch, obsDim]: what follows; or give delta'),
      delta: tensorName.optional().describe('float32 [batch, obsDim]: change of the observation'),
      logVar: tensorName.optional().describe('float32 [batch, obsDim]: log-variance of either; absent: deterministic'),
      reward: tensorName.optional().describe('float32 [batch] or [batch, 1]; absent: the known reward of env'),
      terminated: tensorName.optional().describe('float32 [batch] or [batch, 1]; absent: the known end of env, if any'),
      terminatedIs: z.enum(['probability', 'logit']).default('probability').describe('what `terminated` holds'),
    })
    .refine(({ nextObs, delta }) => (nextObs === undefined) !== (delta === undefined), 'give one of nextObs and delta'),
  env: z
    .lazy(envSpecSchema)
    .optional()
    .describe('the environment whose known reward and end are used where the model has none'),
});

export type OnnxManifest = z.output<typeof onnxManifestSchema>;

const HINT = 'Correct the manifest, or export the model with the tensors it declares.';

/** Throws MODEL_FILE_INVALID unless `raw` is a manifest. */
export function parseOnnxManifest(raw: unknown, path: string): OnnxManifest {
  const parsed = onnxManifestSchema.safeParse(raw);
  if (parsed.success) return parsed.data;
  throw folderInvalid(path, `its manifest is not acceptable: ${describeIssues(parsed.error)}.`, HINT);
}

/** The files of such a folder, whether or not they are there: its manifest, and the model that it names. */
export function onnxFiles(folder: string): string[] {
  const manifest = join(folder, 'manifest.json');
  return [manifest, join(folder, modelNamed(manifest))];
}

/** What is wrong with a manifest is said by whoever opens the model. */
function modelNamed(manifest: string): string {
  try {
    return onnxManifestSchema.shape.model.parse((JSON.parse(readFileSync(manifest, 'utf8')) as OnnxManifest).model);
  } catch {
    return onnxManifestSchema.shape.model.parse(undefined);
  }
}

/** How the model wants its actions. */
export interface ActionInput {
  readonly width: number;
  readonly isOneHot: boolean;
}

/** Throws MODEL_FILE_INVALID unless the model has every declared tensor with a free batch size and the width of the spaces. */
export function checkSignature(session: InferenceSession, manifest: OnnxManifest, path: string): ActionInput {
  const { obsDim, actionDim, actionWidth } = rowShape(manifest);
  const { inputs, outputs } = manifest;
  const action = [actionDim, actionWidth];
  requireTensor(session.inputs, 'input', inputs.obs, [obsDim], path);
  const width = requireTensor(session.inputs, 'input', inputs.action, action, path);
  const extra = session.inputs.find(({ name }) => name !== inputs.obs && name !== inputs.action);
  if (extra) throw folderInvalid(path, `the model also takes "${extra.name}", which nothing would feed.`, HINT);
  const state = [outputs.nextObs, outputs.delta, outputs.logVar].filter((name) => name !== undefined);
  for (const name of state) requireTensor(session.outputs, 'output', name, [obsDim], path);
  for (const name of [outputs.reward, outputs.terminated]) {
    if (name !== undefined) requireTensor(session.outputs, 'output', name, [undefined, 1], path);
  }
  return { width, isOneHot: manifest.actionSpace.type === 'discrete' && width !== actionDim };
}

/** Checks one tensor: [batch, width] with one of `widths` (undefined: [batch] alone); answers its width. */
function requireTensor(
  tensors: InferenceSession['inputs'],
  kind: string,
  name: string,
  widths: readonly (number | undefined)[],
  path: string,
): number {
  const tensor = tensors.find((candidate) => candidate.name === name);
  if (!tensor) {
    const known = tensors.map((candidate) => `"${candidate.name}"`).join(', ');
    throw folderInvalid(path, `the model has no ${kind} "${name}"; its ${kind}s are ${known}.`, HINT);
  }
  const { dtype, shape } = tensor;
  const isRight = widths.some((width) =>
    width === undefined
      ? shape.length === 1
      : shape.length === 2 && (shape[1] === width || typeof shape[1] === 'string'),
  );
  if (dtype === 'float32' && isRight && typeof shape[0] === 'string') {
    return typeof shape[1] === 'number' ? shape[1] : (widths.findLast((width) => width !== undefined) ?? 1);
  }
  const wanted = [...new Set(widths)]
    .map((width) => (width === undefined ? '[batch]' : `[batch, ${width}]`))
    .join(' or ');
  const given = `${dtype}[${shape.join(', ')}]`;
  throw folderInvalid(
    path,
    `${kind} "${name}" is ${given} where float32 ${wanted} with a free batch size is needed.`,
    HINT,
  );
}
