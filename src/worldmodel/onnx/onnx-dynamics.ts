// Dynamics of one's own as an ONNX file: what manifest.json beside it must say, whether the two agree, and what follows a step.

import { readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { sha256 } from '../../core/canonical-json.js';
import type { KnownFunctions } from '../../core/environment.js';
import { describeIssues, reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { envSpecSchema } from '../../env/environments.js';
import { float32 } from '../../nn/graph.js';
import { hasExactRows } from '../../nn/row-trial.js';
import { InferenceSession } from '../../nn/runtime.js';
import { boundsClipper, knownEnds, knownRewards, type Outcome, requireFiniteAnswer, reviveKnown } from '../answer.js';
import type { WorldModelSnapshot } from '../dynamics.js';
import { MemorylessDynamics, type StepQuestion, type VectorPrediction } from '../memoryless.js';
import {
  folderInvalid,
  MANIFEST,
  readManifest,
  readModelPart,
  rowShape,
  vectorSpaceSchema,
  writeModelFolder,
} from '../model-folder.js';

export const ONNX_FORMAT = 'reverie-onnx-dynamics';

const tensorName = z.string().min(1);

const onnxManifestSchema = z.strictObject({
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
      reward: tensorName.optional().describe('float32 [batch] or [batch, 1]; absent: the known reward of env'),
      terminated: tensorName
        .optional()
        .describe('float32 [batch] or [batch, 1]: a probability; absent: the known end of env, if any'),
    })
    .refine(({ nextObs, delta }) => (nextObs === undefined) !== (delta === undefined), 'give one of nextObs and delta'),
  env: z
    .lazy(envSpecSchema)
    .optional()
    .describe('the environment whose known reward and end are used where the model has none'),
});

type OnnxManifest = z.output<typeof onnxManifestSchema>;

const HINT = 'Correct the manifest, or export the model with the tensors it declares.';

/** Throws MODEL_FILE_INVALID unless `raw` is a manifest. */
function parseOnnxManifest(raw: unknown, path: string): OnnxManifest {
  const parsed = onnxManifestSchema.safeParse(raw);
  if (parsed.success) return parsed.data;
  throw folderInvalid(path, `its manifest is not acceptable: ${describeIssues(parsed.error)}.`, HINT);
}

/** The files of such a folder, whether or not they are there: its manifest, and the model that it names. */
export function onnxFiles(folder: string): string[] {
  const manifest = join(folder, 'manifest.json');
  return [manifest, join(folder, modelNamed(manifest))];
}

/** What is wrong with a manifest is reported when the model is opened. */
function modelNamed(manifest: string): string {
  try {
    return onnxManifestSchema.shape.model.parse((JSON.parse(readFileSync(manifest, 'utf8')) as OnnxManifest).model);
  } catch {
    return onnxManifestSchema.shape.model.parse(undefined);
  }
}

/** Throws MODEL_FILE_INVALID unless the model has every declared tensor with a free batch size and the width of the spaces. Answers the action's. */
function checkSignature(session: InferenceSession, manifest: OnnxManifest, path: string): number {
  const { obsDim, actionDim, actionWidth } = rowShape(manifest);
  const { inputs, outputs } = manifest;
  requireTensor(session.inputs, 'input', inputs.obs, [obsDim], path);
  const width = requireTensor(session.inputs, 'input', inputs.action, [actionDim, actionWidth], path);
  const extra = session.inputs.find(({ name }) => name !== inputs.obs && name !== inputs.action);
  if (extra) throw folderInvalid(path, `the model also takes "${extra.name}", which nothing would feed.`, HINT);
  const state = [outputs.nextObs, outputs.delta].filter((name) => name !== undefined);
  for (const name of state) requireTensor(session.outputs, 'output', name, [obsDim], path);
  for (const name of [outputs.reward, outputs.terminated]) {
    if (name !== undefined) requireTensor(session.outputs, 'output', name, [undefined, 1], path);
  }
  return width;
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
  const problem = `${kind} "${name}" is ${given} where float32 ${wanted} with a free batch size is needed.`;
  throw folderInvalid(path, problem, HINT);
}

export interface OnnxPayload {
  readonly manifest: OnnxManifest;
  /** In a SharedArrayBuffer. */
  readonly model: Uint8Array;
}

/** Rows of one run: activations stay in cache, and memory is bounded whatever the batch. */
const TILE_ROWS = 512;
/** By which a probability may miss its bounds. */
const ROUNDING = 1e-5;

export class OnnxDynamics extends MemorylessDynamics {
  private readonly clip?: (rows: Float32Array) => void;
  private exactRows?: Promise<boolean>;

  private constructor(
    readonly manifest: OnnxManifest,
    private readonly model: Uint8Array,
    private readonly session: InferenceSession,
    private readonly actionWidth: number,
    private readonly outcome: Outcome,
    private readonly known: KnownFunctions,
  ) {
    super('onnx', versionOf(manifest, model), manifest);
    this.clip = boundsClipper(manifest.observationSpace);
  }

  /**
   * Opens a folder with manifest.json, or that file itself.
   * Throws MODEL_FILE_INVALID if manifest and model do not agree, or the model itself cannot be used.
   */
  static async load(path: string): Promise<OnnxDynamics> {
    const folder = path.endsWith(`/${MANIFEST}`) ? dirname(path) : path;
    const { files: _, ...raw } = await readManifest(folder);
    const manifest = parseOnnxManifest(raw, folder);
    // Wherever it is saved, or revived in another thread.
    for (const key of ['mjcf', 'mjcfFolder'] as const)
      if (manifest.env?.[key] !== undefined) manifest.env[key] = resolve(folder, manifest.env[key]);
    const model = await readModelPart(folder, manifest.model, manifest.sha256);
    return OnnxDynamics.open(manifest, model, folder);
  }

  static revive({ manifest, model }: OnnxPayload): Promise<OnnxDynamics> {
    return OnnxDynamics.open(manifest, model, 'snapshot');
  }

  private static async open(manifest: OnnxManifest, model: Uint8Array, path: string): Promise<OnnxDynamics> {
    // ONNX Runtime refuses shared memory.
    const session = await InferenceSession.fromBytes(model.slice(), {}, join(path, manifest.model));
    try {
      const actionWidth = checkSignature(session, manifest, path);
      const outcome = outcomeOf(manifest, path);
      const known = await reviveKnown(outcome, manifest.env, path);
      // A declared environment need not know an end: then there is none.
      const isEndless = outcome.terminated === 'known' && !known.terminated;
      const ends: Outcome = isEndless ? { ...outcome, terminated: 'never' } : outcome;
      return new OnnxDynamics(manifest, model, session, actionWidth, ends, known);
    } catch (error) {
      await session.release();
      throw error;
    }
  }

  /** The state that follows is what the model says; an end is drawn. One model has no second opinion: no disagreement. */
  protected async predict({ obs, action, rows, rngs, options }: StepQuestion): Promise<VectorPrediction> {
    if (options.disagreement)
      throw reverieError('SETTING_INVALID', {
        problem: `World model "${this.backend}" gives no disagreement, which this rollout asks for.`,
        hint: 'Use an ensemble, or leave out disagreementLimit and confidence.',
      });
    const { nextObs, reward, chance } = await this.outputsOf(obs, action, rows);
    requireFiniteAnswer(this.modelVersion, nextObs, reward, rows);
    const wrong = chance.find((value) => !(value >= -ROUNDING && value <= 1 + ROUNDING));
    if (wrong !== undefined) {
      const problem = `World model "${this.modelVersion}" answered ${wrong} as "${this.manifest.outputs.terminated}", where a probability from 0 to 1 is needed.`;
      throw reverieError('MODEL_FILE_INVALID', { problem, hint: 'Export the model with a sigmoid on that output.' });
    }
    this.clip?.(nextObs);
    const rewards =
      this.outcome.reward === 'known' ? knownRewards(this.known.reward!, obs, action, nextObs, rows) : reward;
    requireFiniteAnswer(this.modelVersion, nextObs, rewards, rows);
    const isDrawn = this.outcome.terminated === 'learned' && !options.deterministic;
    const draws = isDrawn ? new Float32Array(rows) : undefined;
    if (draws && rngs instanceof Rng) rngs.fillUniform(draws);
    else if (draws)
      for (const [r, rng] of (rngs as readonly Rng[]).entries()) rng.fillUniform(draws.subarray(r, r + 1));
    return { nextObs, reward: rewards, terminated: this.ends(nextObs, rows, chance, draws) };
  }

  protected haveExactRows(): Promise<boolean> {
    this.exactRows ??= hasExactRows(this.session);
    return this.exactRows;
  }

  snapshot(): WorldModelSnapshot {
    const model = new Uint8Array(new SharedArrayBuffer(this.model.length));
    model.set(this.model);
    const payload: OnnxPayload = { manifest: this.manifest, model };
    return { backend: this.backend, modelVersion: this.modelVersion, payload };
  }

  async save(folder: string): Promise<void> {
    const { model, manifest } = this;
    // Keys in the schema's order, as they will be when it is read and written again.
    const stored = parseOnnxManifest({ ...manifest, sha256: sha256(model) }, folder);
    await writeModelFolder(folder, stored, { [manifest.model]: model });
  }

  close(): Promise<void> {
    return this.session.release();
  }

  /** What the model says of all rows; a run takes so many of them. */
  private async outputsOf(obs: Float32Array, action: Float32Array, rows: number) {
    const { inputs, outputs, model } = this.manifest;
    const { obsDim } = this.shape;
    const nextObs = new Float32Array(rows * obsDim);
    const reward = new Float32Array(rows);
    const chance = new Float32Array(rows);
    for (let first = 0; first < rows; first += TILE_ROWS) {
      const count = Math.min(TILE_ROWS, rows - first);
      const answer = await this.session.run({
        [inputs.obs]: float32(obs.subarray(first * obsDim, (first + count) * obsDim), [count, obsDim]),
        [inputs.action]: float32(this.actionRows(action, first, count), [count, this.actionWidth]),
      });
      const column = (name: string, width: number) => {
        const data = answer[name].data as Float32Array;
        if (data.length === count * width) return data;
        const problem = `output "${name}" has ${data.length} values for a run that needs ${count * width}.`;
        throw folderInvalid(model, problem, 'Export the model with a batch axis that follows its inputs.');
      };
      const state = column((outputs.nextObs ?? outputs.delta)!, obsDim);
      for (let i = 0, at = first * obsDim; i < state.length; i++, at++)
        nextObs[at] = state[i] + (outputs.delta === undefined ? 0 : obs[at]);
      if (outputs.reward) reward.set(column(outputs.reward, 1), first);
      if (outputs.terminated) chance.set(column(outputs.terminated, 1), first);
    }
    return { nextObs, reward, chance };
  }

  private actionRows(action: Float32Array, first: number, rows: number): Float32Array {
    const { actionSpace, actionWidth: width } = this;
    if (actionSpace.type !== 'discrete' || width === this.shape.actionDim)
      return action.subarray(first * width, (first + rows) * width);
    const encoded = new Float32Array(rows * width);
    for (let r = 0; r < rows; r++) encoded[r * width + action[first + r] - actionSpace.start] = 1;
    return encoded;
  }

  private ends(nextObs: Float32Array, rows: number, chance: Float32Array, draws: Float32Array | undefined): Uint8Array {
    if (this.outcome.terminated === 'known') return knownEnds(this.known.terminated!, nextObs, rows);
    return Uint8Array.from(chance, (one, r) => ((draws?.[r] ?? 0.5) < one ? 1 : 0));
  }
}

function versionOf({ sha256: _, ...meaning }: OnnxManifest, model: Uint8Array): string {
  const text = JSON.stringify(meaning, (key, value) => (/^mjcf/.test(key) ? basename(value) : value)) + sha256(model);
  return sha256(text).slice(0, 32);
}

function outcomeOf({ outputs, env }: OnnxManifest, path: string): Outcome {
  if (outputs.reward === undefined && env === undefined) {
    const problem = 'the model declares no reward output, and the manifest names no "env" that knows it.';
    throw folderInvalid(path, problem, 'Declare outputs.reward, or give env.');
  }
  return {
    reward: outputs.reward === undefined ? 'known' : 'learned',
    terminated: outputs.terminated === undefined ? (env === undefined ? 'never' : 'known') : 'learned',
  };
}
