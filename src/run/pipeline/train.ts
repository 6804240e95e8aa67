// `reverie train`: gives the loop its parts, shows how far it is, and keeps checkpoints on the way, so that a run that was
// stopped or killed resumes to the same bytes.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { train } from '../../training/loops.js';
import type { TrainingPorts } from '../../training/settings.js';
import type { Training } from '../../training/training.js';
import { deviceText } from '../device.js';
import { evaluationSettings, learnerVersions, vectorSet } from '../evaluation-set.js';
import type { JobContext, TrainResult } from '../job.js';
import { readMetrics } from '../metrics.js';
import { loadRun, saveRun } from './checkpoint.js';
import { dreamReport, generativeReport } from './dream-report.js';
import { withTrustedHorizon } from './fidelity/auto-horizon.js';
import { keepPolicy } from './inputs.js';
import { newTraining } from './training-parts.js';

export async function trainJob(asked: JobContext): Promise<TrainResult> {
  const context = await withTrustedHorizon(asked);
  const { scenario, out, signal, progress, metrics } = context;
  const { train: settings } = scenario.config;
  const panel = await vectorSet(context, {
    policies: learnerVersions(scenario.config),
    given: ['data', 'model', 'checkpoint'],
    settings: evaluationSettings(scenario.config),
  });
  const folder = join(out, 'checkpoint');
  const isOffline = settings.mode === 'offline';
  const [total, unit] = isOffline ? [settings.offlineUpdates, 'updates'] : [settings.realSteps, 'real steps'];
  const bar = progress.phase(`train (${settings.mode})`, total, unit);
  const show = ({ counters, evaluations }: Training) => {
    const last = evaluations.at(-1);
    const note = last ? `return ${last.meanReturn.toFixed(1)}` : '';
    bar.set(isOffline ? counters.updates : counters.realSteps, note);
    return note;
  };
  let savedAt = performance.now();
  const ports: TrainingPorts<Training> = {
    signal,
    phase: (name, most, of) => progress.phase(name, most, of),
    tell: (event) => metrics.write(event),
    checkpoint: async (training, due) => {
      // Before the checkpoint: a run that resumes from it has all that were due until then.
      if (due.policy) await keepPolicy(out, training);
      show(training);
      if (signal.aborted || performance.now() - savedAt >= settings.checkpointSeconds * 1000) {
        await saveRun(folder, training, context);
        savedAt = performance.now();
      }
      signal.throwIfAborted();
    },
  };
  // Stopped within a round: the last checkpoint stands, and a resumed run does the round again, byte for byte.
  const training = await begun(context, folder, ports);
  try {
    show(training);
    await train(training);
    await saveRun(folder, training, context);
    bar.end(show(training));
    return { ...resultOf(training, context, folder), panel };
  } finally {
    await training.close();
  }
}

async function begun(context: JobContext, folder: string, ports: TrainingPorts<Training>): Promise<Training> {
  const { resume, metrics, log } = context;
  if (!resume || !existsSync(folder)) {
    metrics.rewindTo(() => false);
    return newTraining(context, ports);
  }
  const training = await loadRun(folder, context, ports);
  const { round, realSteps, updates } = training.counters;
  // An evaluation after round n carries n + 1: the counter of rounds that are over.
  metrics.rewindTo((event) => (event.round ?? 0) < round || (event.round === round && event.kind === 'eval'));
  log(
    `Going on after ${training.settings.offlineUpdates === undefined ? `${realSteps} real steps` : `${updates} updates`}.`,
  );
  return training;
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
    ...{ job: 'train', wallSeconds: context.metrics.wallSeconds, mode: settings.mode },
    ...{ device: deviceText(context.device), checkpoint: folder, realSteps, syntheticSteps, updates },
    ...{ evaluations: training.evaluations, threshold: settings.threshold },
    realStepsToThreshold: training.stepsToThreshold(),
    ...(dream && { dream }),
    ...(settings.mode === 'offline' && { records }),
    ...(generative && { generative }),
  };
}
