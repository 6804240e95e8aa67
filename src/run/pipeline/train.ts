// `reverie train`: gives the loop its parts, shows how far it is, and keeps checkpoints on the way, so that a run that was
// stopped or killed goes on to the same bytes.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { requirePanel } from '../../core/evaluation-set.js';
import type { OpenPhase, Phase } from '../../core/progress.js';
import { train } from '../../training/train.js';
import type { Training } from '../../training/training.js';
import type { TrainingPorts } from '../../training/training-settings.js';
import { deviceText } from '../device.js';
import { interrupted, type JobContext, type TrainResult } from '../job.js';
import { type MetricsEvent, type MetricsWriter, readMetrics } from '../metrics.js';
import { wantedPanel } from '../wanted-panel.js';
import { loadRun, saveRun } from './checkpoint.js';
import { dreamReport, generativeReport } from './dream-report.js';
import { withTrustedHorizon } from './fidelity/auto-horizon.js';
import { keepPolicy } from './kept-policies.js';
import { newTraining } from './training-parts.js';
import { trainPanel } from './vector-panels.js';

/** Everything `train` keeps lies in this folder of the run. */
const CHECKPOINT_FOLDER = 'checkpoint';

export async function trainJob(asked: JobContext): Promise<TrainResult> {
  const context = await withTrustedHorizon(asked);
  const panel = await trainPanel(context);
  requirePanel(panel, wantedPanel(context));
  const keeper = new Keeper(context);
  const training = await begin(context, keeper);
  try {
    keeper.show(training);
    await train(training);
    await keeper.finish(training);
    return { ...resultOf(training, context, keeper.folder), panel };
  } catch (error) {
    // Stopped within a round: the last checkpoint stands, and a resumed run lives the round again, byte for byte.
    if (context.signal.aborted) interrupted();
    throw error;
  } finally {
    await training.close();
  }
}

async function begin(context: JobContext, keeper: Keeper): Promise<Training> {
  if (!context.resume || !existsSync(keeper.folder)) {
    rewindMetrics(context.metrics, 0);
    return newTraining(context, keeper);
  }
  const training = await loadRun(keeper.folder, context, keeper);
  rewindMetrics(context.metrics, training.counters.round);
  const { realSteps, updates } = training.counters;
  const isOffline = training.settings.offlineUpdates !== undefined;
  context.log(`Going on after ${isOffline ? `${updates} updates` : `${realSteps} real steps`}.`);
  return training;
}

/** What the loop is given of its run: the bars, the journal of metrics, and checkpoints every so many seconds. */
class Keeper implements TrainingPorts<Training> {
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly phase: OpenPhase;
  private readonly bar: Phase;
  private readonly isOffline: boolean;
  private savedAt = performance.now();

  constructor(private readonly context: JobContext) {
    const { scenario, out, signal, progress } = context;
    const { mode, realSteps, offlineUpdates } = scenario.config.train;
    this.folder = join(out, CHECKPOINT_FOLDER);
    this.signal = signal;
    this.phase = (name, total, unit) => progress.phase(name, total, unit);
    this.isOffline = mode === 'offline';
    const [total, unit] = this.isOffline ? [offlineUpdates, 'updates'] : [realSteps, 'real steps'];
    this.bar = progress.phase(`train (${mode})`, total, unit);
  }

  show(training: Training): void {
    const { realSteps, updates } = training.counters;
    this.bar.set(this.isOffline ? updates : realSteps, noteOf(training));
  }

  tell(event: { readonly kind: string }): void {
    this.context.metrics.write(event);
  }

  async checkpoint(training: Training, due: { readonly policy: boolean }): Promise<void> {
    // Before the checkpoint: a run that goes on from it has all that were due until then.
    if (due.policy) await keepPolicy(this.context.out, training);
    this.show(training);
    const { checkpointSeconds } = this.context.scenario.config.train;
    if (this.signal.aborted || performance.now() - this.savedAt >= checkpointSeconds * 1000) {
      await saveRun(this.folder, training, this.context);
      this.savedAt = performance.now();
    }
    if (this.signal.aborted) interrupted();
  }

  async finish(training: Training): Promise<void> {
    await saveRun(this.folder, training, this.context);
    this.bar.end(noteOf(training));
  }
}

function noteOf({ evaluations }: Training): string {
  const last = evaluations.at(-1);
  return last ? `return ${last.meanReturn.toFixed(1)}` : '';
}

function resultOf(training: Training, context: JobContext, folder: string): TrainResult {
  const { train: settings, replay } = context.scenario.config;
  const { realSteps, syntheticSteps, updates } = training.counters;
  const events = readMetrics(context.metrics.file);
  const dream = dreamReport(events);
  const generative = generativeReport(events, replay.generative);
  const { real, synthetic } = training.parts;
  const records = { real: real.size, synthetic: generative ? 0 : synthetic.size };
  return {
    job: 'train',
    wallSeconds: context.metrics.wallSeconds,
    mode: settings.mode,
    device: deviceText(context.device),
    checkpoint: folder,
    realSteps,
    syntheticSteps,
    updates,
    evaluations: training.evaluations,
    threshold: settings.threshold,
    realStepsToThreshold: training.stepsToThreshold(),
    ...(dream && { dream }),
    ...(settings.mode === 'offline' && { records }),
    ...(generative && { generative }),
  };
}

/** Drops every event from the first one of round `round` or later, so that a resumed run tells nothing twice. */
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
