// `reverie train`: runs the loop, shows how far it is, and keeps checkpoints on the way, so that a run that was stopped or killed
// resumes to the same bytes.

import { join } from 'node:path';
import { recoverFolder } from '../../core/files.js';
import type { Fact, Report } from '../../core/report.js';
import type { ScenarioConfig } from '../../kinds/vector.js';
import { decisionsOf } from '../../rl/auto-settings.js';
import { train } from '../../training/loops.js';
import type { DreamPlan, TrainingPorts } from '../../training/settings.js';
import type { Training } from '../../training/training.js';
import type { GenerationSummary } from '../../training/world.js';
import { deviceText } from '../device.js';
import { evaluationSettings, learnerVersions, vectorSet } from '../evaluation-set.js';
import { formatCount, formatNumber, formatPercent, formatSpread, quoted } from '../format.js';
import type { JobContext } from '../job.js';
import { type MetricsEvent, readMetrics } from '../metrics.js';
import { publish } from '../report-page.js';
import { loadRun, newTraining, saveRun } from './checkpoint.js';
import { keepPolicy } from './inputs.js';

/** What a round has left to end in after Ctrl-C. */
const GRACE_MS = 10_000;

export type TrainResult = Awaited<ReturnType<typeof trainJob>>;

export async function trainJob(context: JobContext) {
  const { scenario, out, signal, progress, metrics } = context;
  const { train: settings } = scenario.config;
  const evaluationSet = await vectorSet(context, {
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
  // The round under way may end, so that nothing is lost; a long one is left, and done again when the run resumes.
  const hurry = new AbortController();
  const onStop = () => setTimeout(() => hurry.abort(signal.reason), GRACE_MS).unref();
  signal.addEventListener('abort', onStop, { once: true });
  const ports: TrainingPorts<Training> = {
    signal: hurry.signal,
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
  const training = await begun(context, folder, ports);
  try {
    show(training);
    await train(training);
    await saveRun(folder, training, context);
    bar.end(show(training));
    const result = { ...resultOf(training, context, folder), evaluationSet };
    const shown = trainReport(scenario.config.name, result, training.settings.train.initialRandomSteps);
    return { ...result, report: await publish(context, shown, evaluationSet) };
  } finally {
    signal.removeEventListener('abort', onStop);
    await training.close();
  }
}

async function begun(context: JobContext, folder: string, ports: TrainingPorts<Training>): Promise<Training> {
  const { resume, metrics, log } = context;
  if (!resume || !(await recoverFolder(folder))) {
    metrics.rewind();
    return newTraining(context, ports);
  }
  const training = await loadRun(folder, context, ports);
  const { round, realSteps, updates } = training.counters;
  // An evaluation after round n carries n + 1: the counter of rounds that are over.
  metrics.rewindTo((event) => (event.round ?? 0) < round || (event.round === round && event.kind === 'eval'));
  const done = training.settings.offlineUpdates === undefined ? `${realSteps} real steps` : `${updates} updates`;
  log(`Resuming after ${done}.`);
  return training;
}

/** Settings of rounds without effect: by the mode where rows are replayed, else by what is learned from. */
const IDLE = {
  rollouts: ['initialRandomSteps', 'updatesPerStep', 'updatesPerRound', 'cyclesPerRound'],
  model: ['updatesPerStep', 'updatesPerRound', 'cyclesPerRound'],
  dream: ['updatesPerStep'],
  real: ['updatesPerRound', 'cyclesPerRound'],
  offline: ['initialRandomSteps', 'stepsPerRound', 'updatesPerStep', 'cyclesPerRound', 'evalEvery'],
};

function resultOf(training: Training, context: JobContext, folder: string) {
  const { train: settings, replay } = context.scenario.config;
  const asked: Readonly<Record<string, unknown>> = settings;
  const { realSteps, syntheticSteps, updates } = training.counters;
  // From the journal, so that a resumed run reports all of it.
  const events = readMetrics(context.metrics.file);
  const dream = dreamReport(events);
  const generative = generativeReport(events, replay.generative);
  const { real, synthetic, learner } = training.parts;
  // Given, whatever was collected beside them.
  const isOffline = settings.mode === 'offline';
  const records = { real: real.inserted - realSteps, synthetic: isOffline && !generative ? synthetic.size : 0 };
  const idle = learner.learnsFrom === 'replay' ? IDLE[settings.mode] : IDLE[learner.learnsFrom];
  return {
    ...{ job: 'train', wallSeconds: context.metrics.wallSeconds, mode: settings.mode },
    ...{ device: deviceText(context.device), checkpoint: folder, realSteps, syntheticSteps, updates },
    ...{ evaluations: training.evaluations, threshold: settings.threshold },
    realStepsToThreshold: training.stepsToThreshold(),
    // A learner that was given has its own settings.
    learner: training.parts.before ? [] : decisionsOf(context.scenario.config.rl, training.parts.env),
    rounds: Object.entries(training.settings.train).filter(([key, now]) => now !== asked[key] && !idle.includes(key)),
    ...(dream && { dream }),
    ...((isOffline || records.real > 0) && { records }),
    ...(generative && { generative }),
  };
}

/** Rounds, those whose model was not used and why, and the settings of the last; undefined for a run without a simulation. */
function dreamReport(events: readonly MetricsEvent[]) {
  const plans = events.filter(({ kind }) => kind === 'plan') as unknown as DreamPlan[];
  const last = plans.at(-1);
  if (last === undefined) return undefined;
  const shut = plans.filter(({ isOpen }) => !isOpen);
  const values = {
    'rollout.horizon': last.horizon,
    'rollout.disagreementLimit': last.disagreementLimit,
    'replay.realRatio': last.realRatio,
    'rollout.startsPerRound': last.starts,
  };
  return {
    rounds: plans.length,
    shutRounds: shut.length,
    shutBecause: shut.at(-1)?.reasons['rollout.gate']?.replace('shut: ', '') ?? null,
    settings: Object.entries(values).map(([key, value]) => ({
      ...{ key, value: value === null ? 'none' : String(value), reason: last.reasons[key] ?? '' },
    })),
  };
}

/** Rows drawn from diffusions of the real ones; undefined for a run that draws none. */
function generativeReport(events: readonly MetricsEvent[], settings: ScenarioConfig['replay']['generative']) {
  if (settings === null) return undefined;
  const generations = events.filter(({ kind }) => kind === 'generate') as unknown as GenerationSummary[];
  const last = generations.at(-1);
  return {
    fits: generations.length,
    rows: generations.reduce((sum, { rows }) => sum + rows, 0),
    share: settings.share,
    fittedTo: last?.fittedTo ?? null,
    modelVersion: last?.modelVersion ?? null,
  };
}

const RANDOM = ': all real steps were random (train.initialRandomSteps)';

function trainReport(name: string, result: ReturnType<typeof resultOf>, random: number): Report {
  const { evaluations, threshold, dream, records, generative, realSteps, syntheticSteps, mode } = result;
  const last = evaluations.at(-1);
  const [reached, unit] =
    mode === 'offline'
      ? [evaluations.find(({ meanReturn }) => meanReturn >= (threshold ?? Infinity))?.updates, 'gradient updates']
      : [result.realStepsToThreshold, 'real steps'];
  const isRandom = result.updates === 0 && realSteps > 0 && realSteps <= random;
  const facts: (Fact | false)[] = [
    records !== undefined && [
      'given',
      `${formatCount(records.real)} real and ${formatCount(records.synthetic)} synthetic rows`,
    ],
    mode !== 'offline' && ['steps', `${formatCount(realSteps)} real, ${formatCount(syntheticSteps)} simulated`],
    generative !== undefined && [
      'drawn',
      generative.fits === 0
        ? 'no rows: too few real ones for a first fit (replay.generative.refitEvery)'
        : `${formatCount(generative.rows)} rows from ${formatCount(generative.fits)} diffusions, ${formatPercent(generative.share)} of each batch`,
    ],
    ['learned', `${formatCount(result.updates)} gradient updates${isRandom ? RANDOM : ''}`],
    ['last return', last ? formatSpread(last.meanReturn, last.stdReturn, last.episodes) : 'not evaluated'],
    threshold !== null && [
      'threshold',
      `${formatNumber(threshold)} ${reached == null ? 'not reached' : `reached after ${formatCount(reached)} ${unit}`}`,
    ],
    dream !== undefined &&
      dream.shutRounds > 0 && [
        'model unused',
        `in ${dream.shutRounds} of ${dream.rounds} rounds: ${dream.shutBecause}`,
      ],
    ...result.rounds.map(([key, value]): Fact => [`train.${key}`, `${value}: by body and learner`]),
    ...result.learner.map(({ key, value, reason }): Fact => [`rl.${key}`, `${[value].flat().join(', ')}: ${reason}`]),
    ...(dream?.settings ?? [])
      .filter(({ reason }) => reason !== 'pinned')
      .map(({ key, value, reason }): Fact => [key, `${value}: ${reason}`]),
    ['checkpoint', result.checkpoint],
    ['next', `reverie eval --checkpoint ${quoted(result.checkpoint)}`],
  ];
  const points = evaluations.map(({ realSteps: steps, updates, meanReturn: y }) => {
    return { x: mode === 'offline' ? (updates ?? 0) : steps, y };
  });
  return {
    title: `Training: ${name}`,
    blocks: [
      { kind: 'facts', rows: facts.filter((fact) => fact !== false) },
      {
        ...{ kind: 'curves', title: 'Return in the real environment', yTitle: 'return' },
        xTitle: mode === 'offline' ? 'gradient updates' : 'real steps',
        curves: [{ name: mode, points }],
        ...(threshold !== null && { threshold: { value: threshold, label: `threshold ${formatNumber(threshold)}` } }),
      },
    ],
  };
}
