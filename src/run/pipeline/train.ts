// `reverie train`: rounds until the budget or the threshold is reached, with evaluations and checkpoints between them.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deviceText } from '../device.js';
import { interrupted, type JobContext, type TrainResult } from '../job.js';
import type { MetricsEvent, MetricsWriter } from '../metrics.js';
import { loadRun, saveRun } from './checkpoint.js';
import { withTrustedHorizon } from './fidelity/horizon/auto.js';
import { keepPolicy } from './kept-policies.js';
import { makeTrainingRun, type TrainingRun } from './training-run.js';

/** Everything `train` keeps lies in this folder of the run. */
const CHECKPOINT_FOLDER = 'checkpoint';

export async function trainJob(asked: JobContext): Promise<TrainResult> {
  const context = await withTrustedHorizon(asked);
  const folder = join(context.out, CHECKPOINT_FOLDER);
  const run = await begin(context, folder);
  try {
    await rounds(run, context, folder);
    return resultOf(run, context, folder);
  } catch (error) {
    // Stopped within a round: the last checkpoint stands, and a resumed run lives the round again, byte for byte.
    if (context.signal.aborted) interrupted();
    throw error;
  } finally {
    await run.close();
  }
}

async function begin(context: JobContext, folder: string): Promise<TrainingRun> {
  if (!context.resume || !existsSync(folder)) {
    rewindMetrics(context.metrics, 0);
    return makeTrainingRun(context);
  }
  const run = await loadRun(folder, context);
  rewindMetrics(context.metrics, run.counters.round);
  context.log(`Going on after ${run.counters.realSteps} real steps.`);
  return run;
}

async function rounds(run: TrainingRun, context: JobContext, folder: string): Promise<void> {
  const { train } = context.scenario.config;
  const phase = context.progress.phase(`train (${train.mode})`, train.realSteps, 'real steps');
  phase.set(run.counters.realSteps);
  let savedAt = performance.now();
  while (!isFinished(run, context)) {
    const before = run.counters.realSteps;
    await run.round();
    const isDue = (every: number) => Math.floor(run.counters.realSteps / every) > Math.floor(before / every);
    if (isDue(train.evalEvery) || run.counters.realSteps >= train.realSteps) await run.evaluate();
    // Before the checkpoint: a run that goes on from it has all that were due until then.
    if (train.keepPolicyEvery !== null && isDue(train.keepPolicyEvery)) await keepPolicy(context.out, run);
    phase.set(run.counters.realSteps, noteOf(run));
    if (performance.now() - savedAt >= train.checkpointSeconds * 1000) {
      await saveRun(folder, run, context);
      savedAt = performance.now();
    }
    if (context.signal.aborted) {
      await saveRun(folder, run, context);
      interrupted();
    }
  }
  await saveRun(folder, run, context);
  phase.end(noteOf(run));
}

function isFinished(run: TrainingRun, context: JobContext): boolean {
  const { train } = context.scenario.config;
  if (run.counters.realSteps >= train.realSteps) return true;
  return train.stopAtThreshold && stepsToThreshold(run, train.threshold) !== null;
}

function stepsToThreshold(run: TrainingRun, threshold: number | null): number | null {
  if (threshold === null) return null;
  return run.evaluations.find((evaluation) => evaluation.meanReturn >= threshold)?.realSteps ?? null;
}

function noteOf(run: TrainingRun): string {
  const last = run.evaluations.at(-1);
  return last ? `return ${last.meanReturn.toFixed(1)}` : '';
}

function resultOf(run: TrainingRun, context: JobContext, folder: string): TrainResult {
  const { train } = context.scenario.config;
  return {
    job: 'train',
    wallSeconds: context.metrics.wallSeconds,
    mode: train.mode,
    device: deviceText(context.device),
    checkpoint: folder,
    realSteps: run.counters.realSteps,
    syntheticSteps: run.counters.syntheticSteps,
    updates: run.counters.updates,
    evaluations: run.evaluations,
    threshold: train.threshold,
    realStepsToThreshold: stepsToThreshold(run, train.threshold),
  };
}

// Brings a run's metrics journal back to the round its checkpoint was made at, so that a resumed run tells nothing twice.

/** Drops every event from the first one of round `round` or later. */
function rewindMetrics(metrics: MetricsWriter, round: number): void {
  let bytes = 0;
  let wallSeconds = 0;
  for (const line of readFileSync(metrics.file, 'utf8').split('\n').slice(0, -1)) {
    const event = JSON.parse(line) as MetricsEvent;
    // An evaluation after round n carries n + 1: the counter of rounds that are over.
    if ((event.round ?? 0) > round || (event.round === round && event.kind !== 'eval')) break;
    bytes += Buffer.byteLength(line) + 1;
    wallSeconds = event.wallSeconds;
  }
  metrics.rewind({ bytes, wallSeconds });
}
