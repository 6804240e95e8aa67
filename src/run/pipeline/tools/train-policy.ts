// `reverie train` in a world of text: gives the loop of groups its parts and keeps checkpoints on the way, so that a run that was
// stopped or killed goes on to the same bytes.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { reverieError } from '../../../core/errors.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import { rulesResponder } from '../../../env/tools/rules-responder.js';
import type { Responder } from '../../../env/tools/tools-family.js';
import { groupEstimators } from '../../../rl/group-estimators.js';
import type { TextLearner } from '../../../rl/text/text-policy.js';
import { textGroups } from '../../../training/text-loop.js';
import { grownDeficits } from '../../../training/text-tasks.js';
import {
  evenly,
  newProgress,
  roundsOf,
  type TextDream,
  type TextProgress,
  type TextTraining,
} from '../../../training/text-training.js';
import { wilson } from '../../../worldmodel/tools/shadow.js';
import { requireSet } from '../../evaluation-set.js';
import { interrupted, type JobContext, whileOpen } from '../../job.js';
import type { MetricsEvent, MetricsWriter } from '../../metrics.js';
import type { ToolsScenario } from '../../scenario.js';
import type { Rate, TextTrainResult } from '../../tools-results.js';
import { trainingPanel } from './episodes-panel.js';
import { makeParts, ofTraining, type ToolsParts } from './parts.js';
import { loadTextPolicy, policyFolder, saveTextPolicy } from './policy-checkpoint.js';
import { makeTextLearner } from './policy-learner.js';
import { RecordedDream } from './recorded-dream.js';
import { RecordedValues } from './recorded-values.js';
import { lanes, textViewOf } from './text-lanes.js';
import { writeTextTrainReport } from './text-train-report.js';

type Context = JobContext<ToolsScenario>;

export async function trainPolicyJob(asked: Context): Promise<TextTrainResult> {
  const context = { ...asked, scenario: ofTraining(asked.scenario) };
  const { config } = context.scenario;
  const dreamsLater = config.train.mode !== 'real' && config.train.gather !== undefined;
  const parts = await makeParts({ ...context, dreamsLater });
  // Stopped within a round: the last checkpoint stands, and a resumed run lives the round again, byte for byte.
  return whileOpen(context, parts, async () => {
    const tasks = tasksOf(parts.domain, config.train.splits, 'to learn from');
    const evalTasks = evenly(tasksOf(parts.domain, config.train.evalSplits, 'to be judged on'), config.train.evalTasks);
    const real = parts.domain.rules === undefined ? parts.responder : rulesResponder(parts.domain);
    const learner = await makeTextLearner(context.scenario, context.seed);
    try {
      const panel = trainingPanel(context, parts, evalTasks, real.version);
      requireSet(panel, context.inputs);
      const environments = lanes(parts, real, config);
      const evalEnvironments = lanes(parts, real, config);
      const progress = await progressOf(context, learner, parts.domain);
      const algorithm = groupEstimators.get(config.rl.algorithm);
      const { walkthrough } = textViewOf(parts.domain);
      const others = othersOf(context, parts, tasks, learner, progress);
      const made = { learner, algorithm, environments, ...others, evalEnvironments, walkthrough, tasks, evalTasks };
      try {
        await textGroups(trainingOf(context, made, progress, parts.domain));
      } finally {
        await others.values?.close();
      }
      const result = { ...resultOf(context, learner, progress, parts.domain), panel };
      await writeTextTrainReport(result.report, context, result);
      return result;
    } finally {
      await learner.close();
    }
  });
}

/** What it learns in beside the real environment, or from. */
function othersOf(
  context: Context,
  parts: ToolsParts,
  tasks: readonly ToolsTask[],
  learner: TextLearner,
  progress: TextProgress,
): { readonly dream?: TextDream; readonly values?: RecordedValues } {
  const { mode } = context.scenario.config.train;
  if (mode === 'real') return {};
  if (mode !== 'value') return { dream: dreamOf(context, parts, tasks, learner, progress) };
  const { length: gathered } = progress.gathered;
  return { values: new RecordedValues({ context, parts, tasks, gathered }) };
}

/** Made of records where the scenario gathers any, and else who answers as it says. */
function dreamOf(
  context: Context,
  parts: ToolsParts,
  tasks: readonly ToolsTask[],
  { policy }: TextLearner,
  progress: TextProgress,
): TextDream {
  const { config } = context.scenario;
  const dreamLanes = (responder: Responder) => lanes(parts, responder, config);
  if (config.train.gather !== undefined)
    return new RecordedDream({ context, parts, tasks, policy, gathered: progress.gathered.length, lanes: dreamLanes });
  const environments = dreamLanes(parts.responder);
  return { environments: async () => environments };
}

export function rateOf(wins: number, of: number): Rate {
  return { ...wilson(wins, of), of };
}

/** @throws DOMAIN_UNFIT */
export function tasksOf({ id, tasks }: ToolsDomain, splits: readonly string[], purpose: string): ToolsTask[] {
  const found = tasks.filter(({ split = 'train' }) => splits.includes(split));
  if (found.length > 0) return found;
  const problem = `none of its ${tasks.length} tasks is of split ${splits.join(' or ')}`;
  throw reverieError('DOMAIN_UNFIT', {
    problem: `Domain "${id}" has no task ${purpose}: ${problem}.`,
    hint: 'Name splits that have tasks, in train.splits and train.evalSplits, or give the domain more of them (train.domain).',
  });
}

/** What an earlier process of this run came to, with the learner as it was then. */
async function progressOf(context: Context, learner: TextLearner, domain: ToolsDomain): Promise<TextProgress> {
  const folder = policyFolder(context.out);
  if (!context.resume || !existsSync(folder)) {
    rewindMetrics(context.metrics, undefined);
    return newProgress();
  }
  const { manifest, state } = await loadTextPolicy(folder);
  if (manifest.domain !== domain.version) {
    const problem = `it learned in version ${manifest.domain} of the domain, which is ${domain.version} now`;
    throw reverieError('CHECKPOINT_CORRUPT', { path: folder, problem });
  }
  learner.restore(state);
  rewindMetrics(context.metrics, manifest.progress);
  context.log(`Going on after ${manifest.progress.round} rounds.`);
  return manifest.progress;
}

function trainingOf(
  context: Context,
  parts: TextTraining['parts'],
  progress: TextProgress,
  domain: ToolsDomain,
): TextTraining {
  const { scenario, seed, signal, metrics, out } = context;
  const { train, name } = scenario.config;
  const settings = settingsOf(scenario.config, seed);
  const { length: rounds } = roundsOf(settings);
  let savedAt = performance.now();
  const checkpoint = async (isDue = false) => {
    const isLast = progress.round >= rounds;
    if (isLast || isDue || signal.aborted || performance.now() - savedAt >= train.checkpointSeconds * 1000) {
      const about = { scenario: name, seed, domain: domain.version, progress };
      await saveTextPolicy(policyFolder(out), parts.learner, about);
      savedAt = performance.now();
    }
    if (signal.aborted) interrupted();
  };
  return {
    settings,
    parts,
    progress,
    ports: {
      signal,
      checkpoint,
      phase: (label, total, unit) => context.progress.phase(label, total, unit),
      tell: (event) => metrics.write(event),
      warn: (problem) => context.log(problem),
    },
  };
}

/** What a scenario says, with the defaults of what it leaves out. */
function settingsOf({ rl, train }: ToolsScenario['config'], seed: number): TextTraining['settings'] {
  const {
    cloneTasks: tasks,
    cloneEpochs: epochs,
    cloneLr: lr,
    cloneDetours: detours,
    realRounds = train.rounds,
  } = train;
  const gatherEvery = train.gather?.every ?? Number.POSITIVE_INFINITY;
  const { gaeLambda = 0.95, progressWeight = 0, rewards = 'paid' } = rl;
  const asked = {
    ...rl,
    ...train,
    seed,
    realRounds,
    gatherEvery,
    gaeLambda,
    progressWeight,
    rewards,
  };
  const { situations: situationsPerRound } = train.value ?? {};
  return { ...asked, situationsPerRound, clone: { tasks, epochs, lr, detours } };
}

function resultOf(
  { scenario, metrics, out }: Context,
  learner: TextLearner,
  progress: TextProgress,
  domain: ToolsDomain,
): Omit<TextTrainResult, 'panel'> {
  const { round: rounds, cloned: _cloned, watched: _watched, grown, evaluations, ...lived } = progress;
  const { rl, train } = scenario.config;
  const { version } = learner.policy;
  return {
    job: 'train',
    family: 'tools',
    wallSeconds: metrics.wallSeconds,
    mode: train.mode,
    algorithm: rl.algorithm,
    policy: { version, choosesAmong: 'admissible commands' },
    parameters: learner.parameters,
    checkpoint: policyFolder(out),
    domain: domain.version,
    rounds,
    ...lived,
    ...(train.grow?.deficits && {
      lacking: grownDeficits(grown).map(([deficit, share]) => ({ deficit, share })),
    }),
    evaluations: evaluations.map(({ wins, episodes, ...rest }) => ({ ...rest, success: rateOf(wins, episodes) })),
    report: join(out, 'report.html'),
  };
}

/** Drops every event that a resumed run will tell again: of a later round or gathering, or all of them. */
function rewindMetrics(metrics: MetricsWriter, progress: TextProgress | undefined): void {
  let bytes = 0;
  let wallSeconds = 0;
  for (const line of readFileSync(metrics.file, 'utf8').split('\n').slice(0, -1)) {
    const event = JSON.parse(line) as MetricsEvent;
    if (progress === undefined || (event.round ?? 0) > progress.round) break;
    if (event.kind === 'gather' && (event.time as number) >= progress.gathered.length) break;
    if (event.kind === 'check' && (event.time as number) >= progress.checks.length) break;
    bytes += Buffer.byteLength(line) + 1;
    wallSeconds = event.wallSeconds;
  }
  metrics.rewind({ bytes, wallSeconds });
}
