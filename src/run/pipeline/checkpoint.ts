// A training run as a folder, written whole or not at all: what it takes to resume exactly, and what it learned from.
//
//   checkpoint.json  counters, evaluations, where the real environment is; scenario and seed; sealed
//   learner/      manifest.json (with `learnedFrom`), learner.safetensors, policy.onnx
//   real/, synthetic/    replay snapshots          model/    the world model, once there is one
//
// Nothing in it depends on the clock or the machine: the same run gives the same bytes.

import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import { recoverFolder, replaceFolderAtomic, sealedText } from '../../core/files.js';
import { ReplayBuffer } from '../../replay/buffer.js';
import type { Selector, SelectorState } from '../../replay/selectors.js';
import type { Source } from '../../replay/transition.js';
import { loadLearner, saveLearner } from '../../rl/checkpoint.js';
import type { TrainingPorts } from '../../training/settings.js';
import type { TrainEvaluation, Training } from '../../training/training.js';
import type { WorldState } from '../../training/world.js';
import { trainingDevice } from '../device.js';
import type { JobContext } from '../job.js';
import { readSealed } from '../run-folder.js';
import { continuedTraining, newTraining, trainable } from './training-parts.js';

export const count = z.int().min(0);

const selectorSchema = z.strictObject({
  kind: z.string(),
  scalars: z.record(z.string(), z.number()),
  /** Float64, little-endian, base64. */
  arrays: z.record(z.string(), z.string()),
});

/** Where recording was broken off. */
export const collectorSchema = z.strictObject({
  env: z.strictObject({ env: z.string(), state: z.unknown() }).nullable(),
  observation: z.array(z.number()),
  episode: count,
  step: count,
  episodeReturn: z.number(),
  remembered: z.strictObject({ version: z.string(), state: z.unknown() }).optional(),
});

/** What the seal vouches for is taken as it was written. */
const written = <T>() => z.custom<T>((value) => typeof value === 'object' && value !== null);

const runSchema = z.strictObject({
  format: z.literal('reverie-run'),
  formatVersion: z.literal(1),
  scenario: z.string(),
  scenarioHash: z.string(),
  seed: z.int(),
  mode: z.enum(['real', 'dream', 'offline']),
  counters: z.strictObject({ round: count, realSteps: count, syntheticSteps: count, updates: count }),
  evaluations: z.array(written<TrainEvaluation>()),
  worldModelVersions: z.array(z.string()),
  dreamtEpisodes: count,
  /** What is known of the world model; absent before there is one. */
  world: written<WorldState>().optional(),
  /** Of rows drawn from a diffusion; absent where none are. */
  generative: z.strictObject({ fittedAt: count, drawn: count }).optional(),
  collector: collectorSchema,
  /** None for a learner that does not draw from the buffers. */
  selectors: z.strictObject({ real: selectorSchema.optional(), synthetic: selectorSchema.optional() }),
});
export type RunManifest = z.infer<typeof runSchema>;

export async function saveRun(folder: string, run: Training, { scenario, seed }: JobContext): Promise<void> {
  const { learner, real, synthetic, world, generator, collector, selectors } = run.parts;
  const manifest: RunManifest = {
    format: 'reverie-run',
    formatVersion: 1,
    scenario: scenario.config.name,
    scenarioHash: scenario.hash,
    seed,
    mode: scenario.config.train.mode,
    counters: { ...run.counters },
    evaluations: [...run.evaluations],
    worldModelVersions: [...run.worldModelVersions],
    dreamtEpisodes: world?.episodes ?? 0,
    ...(world !== undefined && run.worldModelVersions.length > 0 && { world: world.state }),
    ...(generator && { generative: generator.state }),
    collector: await collector.state(),
    selectors: Object.fromEntries(Object.entries(selectors).map(([source, one]) => [source, encodeSelector(one)])),
  };
  await replaceFolderAtomic(folder, async (temporary) => {
    await saveLearner(join(temporary, 'learner'), learner, run.learnedFrom());
    await real.save(join(temporary, 'real'));
    if (synthetic.size > 0) await synthetic.save(join(temporary, 'synthetic'));
    await world?.save(join(temporary, 'model'));
    await writeFile(join(temporary, 'checkpoint.json'), sealedText(manifest));
  });
}

/**
 * The run exactly as it was saved.
 * @throws CHECKPOINT_CORRUPT, also for another algorithm's learner; STATE_MISMATCH for another scenario or seed
 */
export async function loadRun(folder: string, context: JobContext, ports: TrainingPorts<Training>): Promise<Training> {
  const manifest = await readRunManifest(folder);
  const { scenario, seed } = context;
  if (manifest.scenarioHash !== scenario.hash || manifest.seed !== seed) {
    const told = (name: string, hash: string, of: number) => `scenario ${name} (${hash.slice(0, 12)}), seed ${of}`;
    const theirs = told(manifest.scenario, manifest.scenarioHash, manifest.seed);
    const ours = told(scenario.config.name, scenario.hash, seed);
    throw reverieError('STATE_MISMATCH', {
      problem: `Checkpoint "${folder}" was made by ${theirs}; this run is ${ours}.`,
      hint: 'Resume with the scenario, overrides and seed of the checkpoint, or start anew from its policy with --from in another folder.',
    });
  }
  const fresh = await newTraining(context, ports);
  await fresh.parts.learner.close();
  const from = join(folder, 'learner');
  const loaded = await loadLearner(from, trainingDevice(context.device));
  const learner = await trainable(loaded, scenario.config, (theirs, ours) => {
    const problem = `it holds a ${theirs} learner where ${ours} is wanted`;
    return reverieError('CHECKPOINT_CORRUPT', { path: from, problem });
  });
  const isSimulated = existsSync(join(folder, 'synthetic'));
  const load = (source: Source) => ReplayBuffer.load(join(folder, source));
  const training = continuedTraining(fresh, scenario.config, {
    learner,
    real: await load('real'),
    synthetic: isSimulated ? await load('synthetic') : fresh.parts.synthetic,
  });
  Object.assign(training.counters, manifest.counters);
  training.evaluations.push(...manifest.evaluations);
  training.worldModelVersions.push(...manifest.worldModelVersions);
  for (const [source, selector] of Object.entries(training.parts.selectors)) {
    const saved = manifest.selectors[source as Source];
    if (saved === undefined)
      throw reverieError('CHECKPOINT_CORRUPT', {
        path: folder,
        problem: `it lacks the state of the ${source} selector`,
      });
    selector.restore(decodeSelector(saved));
  }
  if (manifest.generative) training.parts.generator?.resume(manifest.generative);
  await training.parts.collector.restore(manifest.collector);
  if (training.worldModelVersions.length > 0)
    await training.parts.world?.resume(join(folder, 'model'), manifest.dreamtEpisodes, manifest.world);
  return training;
}

/** What a run's checkpoint says of itself, without loading it. @throws CHECKPOINT_CORRUPT */
export async function readRunManifest(folder: string): Promise<RunManifest> {
  await recoverFolder(folder);
  return readSealed(join(folder, 'checkpoint.json'), runSchema);
}

function encodeSelector(selector: Selector): z.infer<typeof selectorSchema> {
  const { kind, scalars, arrays } = selector.state();
  const encoded = Object.entries(arrays).map(([name, array]) => {
    return [name, Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('base64')] as const;
  });
  return { kind, scalars: { ...scalars }, arrays: Object.fromEntries(encoded) };
}

function decodeSelector({ kind, scalars, arrays }: z.infer<typeof selectorSchema>): SelectorState {
  const decoded = Object.entries(arrays).map(([name, text]) => {
    return [name, new Float64Array(Uint8Array.from(Buffer.from(text, 'base64')).buffer)] as const;
  });
  return { kind, scalars, arrays: Object.fromEntries(decoded) };
}
