// A training run as a folder, written whole or not at all: what it takes to go on exactly, and what it learned from.
//
//   checkpoint.json  counters, evaluations, where the real environment is; scenario and seed; sealed
//   learner/      manifest.json (with `learnedFrom`), learner.safetensors, policy.onnx
//   real/, synthetic/    replay snapshots          model/    the world model, once there is one
//
// Nothing in it depends on the clock or the machine: the same run gives the same bytes.

import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { describeIssues, reverieError } from '../../core/errors.js';
import { openSealed, recoverFolder, replaceFolderAtomic, sealedText } from '../../core/files.js';
import { ReplayBuffer } from '../../replay/buffer.js';
import type { Selector, SelectorState } from '../../replay/selectors.js';
import type { Source } from '../../replay/transition.js';
import { loadLearner, saveLearner } from '../../rl/checkpoint.js';
import type { WorldState } from '../../training/dream-world.js';
import type { Training } from '../../training/training.js';
import type { TrainingPorts } from '../../training/training-settings.js';
import { trainingDevice } from '../device.js';
import type { JobContext } from '../job.js';
import { continuedTraining, newTraining, trainable } from './training-parts.js';

const count = z.int().min(0);

const selectorSchema = z.strictObject({
  kind: z.string(),
  scalars: z.record(z.string(), z.number()),
  /** Float64, little-endian, base64. */
  arrays: z.record(z.string(), z.string()),
});

const evaluationSchema = z.strictObject({
  realSteps: count,
  updates: count.optional(),
  episodes: count,
  meanReturn: z.number(),
  stdReturn: z.number(),
  minReturn: z.number(),
  maxReturn: z.number(),
  meanLength: z.number(),
});

/** Where living was broken off. */
export const collectorSchema = z.strictObject({
  env: z.strictObject({ env: z.string(), state: z.unknown() }).nullable(),
  observation: z.array(z.number()),
  episode: count,
  step: count,
  episodeReturn: z.number(),
  remembered: z.strictObject({ version: z.string(), state: z.unknown() }).optional(),
});

const runSchema = z.strictObject({
  format: z.literal('reverie-run'),
  formatVersion: z.literal(1),
  scenario: z.string(),
  scenarioHash: z.string(),
  seed: z.int(),
  mode: z.enum(['real', 'dream', 'offline']),
  counters: z.strictObject({ round: count, realSteps: count, syntheticSteps: count, updates: count }),
  evaluations: z.array(evaluationSchema),
  worldModelVersions: z.array(z.string()),
  dreamtEpisodes: count,
  /** What is known of the world model; absent before there is one. */
  world: z.custom<WorldState>((value) => typeof value === 'object' && value !== null).optional(),
  /** Of rows drawn from a diffusion; absent where none are. */
  generative: z.strictObject({ fittedAt: count, drawn: count }).optional(),
  collector: collectorSchema,
  /** None for a learner that does not draw from the buffers. */
  selectors: z.strictObject({ real: selectorSchema.optional(), synthetic: selectorSchema.optional() }),
});
export type RunManifest = z.infer<typeof runSchema>;

export async function saveRun(folder: string, training: Training, context: JobContext): Promise<void> {
  const manifest = await describeRun(training, context);
  const { learner, real, synthetic, world } = training.parts;
  await replaceFolderAtomic(folder, async (temporary) => {
    await saveLearner(join(temporary, 'learner'), learner, training.learnedFrom());
    await real.save(join(temporary, 'real'));
    if (synthetic.size > 0) await synthetic.save(join(temporary, 'synthetic'));
    await world?.save(join(temporary, 'model'));
    await writeFile(join(temporary, 'checkpoint.json'), sealedText(manifest));
  });
}

/**
 * The run exactly as it was saved.
 * Throws CHECKPOINT_CORRUPT, also for another algorithm's learner, or STATE_MISMATCH for another scenario or seed.
 */
export async function loadRun(folder: string, context: JobContext, ports: TrainingPorts<Training>): Promise<Training> {
  const manifest = await readRunManifest(folder);
  checkSameRun(manifest, context, folder);
  const { config } = context.scenario;
  const fresh = await newTraining(context, ports);
  await fresh.parts.learner.close();
  const from = join(folder, 'learner');
  const loaded = await loadLearner(from, trainingDevice(context.device));
  const learner = await trainable(loaded, config, (theirs, ours) => {
    return reverieError('CHECKPOINT_CORRUPT', {
      path: from,
      problem: `it holds a ${theirs} learner where ${ours} is wanted`,
    });
  });
  const dreamt = existsSync(join(folder, 'synthetic'));
  const load = (source: Source) => ReplayBuffer.load(join(folder, source));
  const training = continuedTraining(fresh, config, {
    learner,
    real: await load('real'),
    synthetic: dreamt ? await load('synthetic') : fresh.parts.synthetic,
  });
  Object.assign(training.counters, manifest.counters);
  training.evaluations.push(...manifest.evaluations);
  training.worldModelVersions.push(...manifest.worldModelVersions);
  restoreSelectors(training, manifest, folder);
  if (manifest.generative) training.parts.generator?.resume(manifest.generative);
  await training.parts.collector.restore(manifest.collector);
  if (training.worldModelVersions.length > 0)
    await training.parts.world?.resume(join(folder, 'model'), manifest.dreamtEpisodes, manifest.world);
  return training;
}

/** What a run's checkpoint says of itself, without loading it. Throws CHECKPOINT_CORRUPT. */
export async function readRunManifest(folder: string): Promise<RunManifest> {
  await recoverFolder(folder);
  const path = join(folder, 'checkpoint.json');
  try {
    return runSchema.parse(openSealed(await readFile(path, 'utf8')));
  } catch (error) {
    const problem = error instanceof z.ZodError ? describeIssues(error) : (error as Error).message;
    throw reverieError('CHECKPOINT_CORRUPT', { path, problem }, error);
  }
}

async function describeRun(run: Training, { scenario, seed }: JobContext): Promise<RunManifest> {
  return {
    format: 'reverie-run',
    formatVersion: 1,
    scenario: scenario.config.name,
    scenarioHash: scenario.hash,
    seed,
    mode: scenario.config.train.mode,
    counters: { ...run.counters },
    evaluations: [...run.evaluations],
    worldModelVersions: [...run.worldModelVersions],
    dreamtEpisodes: run.parts.world?.episodes ?? 0,
    ...(run.parts.world !== undefined && run.worldModelVersions.length > 0 && { world: run.parts.world.state }),
    ...(run.parts.generator && { generative: run.parts.generator.state }),
    collector: await run.parts.collector.state(),
    selectors: encodeSelectors(run),
  };
}

function checkSameRun(manifest: RunManifest, { scenario, seed }: JobContext, path: string): void {
  if (manifest.scenarioHash === scenario.hash && manifest.seed === seed) return;
  throw reverieError('STATE_MISMATCH', {
    problem: `Checkpoint "${path}" was made by ${`scenario ${manifest.scenario} (${manifest.scenarioHash.slice(0, 12)}), seed ${manifest.seed}`}; this run is ${`scenario ${scenario.config.name} (${scenario.hash.slice(0, 12)}), seed ${seed}`}.`,
    hint: 'Resume with the scenario, overrides and seed of the checkpoint, or start anew from its policy with --from in another folder.',
  });
}

type EncodedSelector = z.infer<typeof selectorSchema>;

function encodeSelectors({ parts }: Training): RunManifest['selectors'] {
  return Object.fromEntries(
    Object.entries(parts.selectors).map(([source, selector]) => [source, encodeSelector(selector)]),
  );
}

function restoreSelectors({ parts }: Training, { selectors }: RunManifest, path: string): void {
  for (const [source, selector] of Object.entries(parts.selectors)) {
    const saved = selectors[source as Source];
    if (saved === undefined) {
      throw reverieError('CHECKPOINT_CORRUPT', { path, problem: `it lacks the state of the ${source} selector` });
    }
    selector.restore(decodeSelector(saved));
  }
}

function encodeSelector(selector: Selector): EncodedSelector {
  const { kind, scalars, arrays } = selector.state();
  const encoded = Object.entries(arrays).map(([name, array]) => {
    return [name, Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('base64')] as const;
  });
  return { kind, scalars: { ...scalars }, arrays: Object.fromEntries(encoded) };
}

function decodeSelector({ kind, scalars, arrays }: EncodedSelector): SelectorState {
  const decoded = Object.entries(arrays).map(([name, text]) => {
    const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
    return [name, new Float64Array(bytes.buffer)] as const;
  });
  return { kind, scalars, arrays: Object.fromEntries(decoded) };
}
