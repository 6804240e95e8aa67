// `reverie train` in a world of text: gives the loop of groups its parts and keeps checkpoints on the way, so that a run that was
// stopped or killed goes on to the same bytes.

import { existsSync, readFileSync } from 'node:fs';
import { evenly, type TextProgress, type TextTraining, textGroups } from '../../../algorithms/index.js';
import { reverieError } from '../../../core/errors.js';
import { Rng } from '../../../core/rng.js';
import {
  type Responder,
  rulesResponder,
  type TextEnvironment,
  type ToolsDomain,
  type ToolsTask,
  textEnvironment,
} from '../../../env/index.js';
import type { ToolsScenarioConfig } from '../../../kinds/index.js';
import { groupEstimators, type TextLearner, textNetworks } from '../../../rl/index.js';
import { wilson } from '../../../worldmodel/index.js';
import { interrupted, type JobContext } from '../../job.js';
import type { MetricsEvent, MetricsWriter } from '../../metrics.js';
import type { ToolsScenario } from '../../scenario.js';
import type { Rate, TextTrainResult } from '../../tools-results.js';
import { makeEpisodeEnvironment, makeParts, type ToolsParts } from './parts.js';
import { loadTextPolicy, policyFolder, saveTextPolicy } from './policy-checkpoint.js';

type Context = JobContext<ToolsScenario>;

/** Episodes under way at once; never changes which are lived. */
const LANES = 64;

export async function trainPolicyJob(asked: Context): Promise<TextTrainResult> {
  const context = { ...asked, scenario: ofTraining(asked.scenario) };
  const { config } = context.scenario;
  const parts = await makeParts(context);
  try {
    const tasks = tasksOf(parts.domain, config.train.splits, 'to learn from');
    const evalTasks = evenly(tasksOf(parts.domain, config.train.evalSplits, 'to be judged on'), config.train.evalTasks);
    const real = parts.domain.rules === undefined ? parts.responder : rulesResponder(parts.domain);
    const environments = lanes(parts, config.train.mode === 'real' ? real : parts.responder, config);
    const evalEnvironments = lanes(parts, real, config);
    const learner = await makeTextLearner(config, context.seed);
    try {
      const progress = await progressOf(context, learner, parts.domain);
      const estimate = groupEstimators.get(config.rl.algorithm).estimate;
      const made = { learner, estimate, environments, evalEnvironments, tasks, evalTasks };
      await textGroups(trainingOf(context, made, progress, parts.domain));
      return resultOf(context, learner, progress, parts.domain);
    } finally {
      await learner.close();
    }
  } catch (error) {
    // Stopped within a round: the last checkpoint stands, and a resumed run lives the round again, byte for byte.
    if (context.signal.aborted) interrupted();
    throw error;
  } finally {
    await parts.close();
  }
}

/** A fresh learner as the scenario has it. */
export async function makeTextLearner(
  { rl }: Pick<ToolsScenarioConfig, 'rl'>,
  seed: number,
  network = rl.network,
): Promise<TextLearner> {
  const make = await textNetworks.get(network).make();
  const settings = (rl as Readonly<Record<string, unknown>>)[network];
  return make(settings as never, rl, Rng.fromSeed(seed).split('text-learner'));
}

/** Environments of text in which `responder` answers. @throws ENV_SPEC_INVALID for a domain that is none of text */
export function lanes(
  parts: Pick<ToolsParts, 'domain' | 'user'>,
  responder: Responder,
  config: ToolsScenarioConfig,
): TextEnvironment[] {
  return Array.from({ length: LANES }, () => textEnvironment(makeEpisodeEnvironment(parts, responder, config)));
}

export function rateOf(wins: number, of: number): Rate {
  return { ...wilson(wins, of), of };
}

function ofTraining(scenario: ToolsScenario): ToolsScenario {
  const { config } = scenario;
  return { ...scenario, config: { ...config, domain: { ...config.domain, ...config.train.domain } } };
}

function tasksOf({ id, tasks }: ToolsDomain, splits: readonly string[], purpose: string): ToolsTask[] {
  const found = tasks.filter(({ split = 'train' }) => splits.includes(split));
  if (found.length > 0) return found;
  const problem = `none of its ${tasks.length} tasks is of split ${splits.join(' or ')}`;
  throw reverieError('TEXT_TASKS_MISSING', { domain: id, purpose, problem });
}

/** What an earlier process of this run came to, with the learner as it was then. */
async function progressOf(context: Context, learner: TextLearner, domain: ToolsDomain): Promise<TextProgress> {
  const folder = policyFolder(context.out);
  if (!context.resume || !existsSync(folder)) {
    rewindMetrics(context.metrics, undefined);
    return { round: 0, steps: 0, cloned: false, clonedSteps: 0, evaluations: [] };
  }
  const { manifest, state } = await loadTextPolicy(folder);
  if (manifest.domain !== domain.version) {
    const problem = `it learned in version ${manifest.domain} of the domain, which is ${domain.version} now`;
    throw reverieError('CHECKPOINT_CORRUPT', { path: folder, problem });
  }
  learner.restore(state);
  rewindMetrics(context.metrics, manifest.progress.round);
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
  const { rl, train, name } = scenario.config;
  const { cloneTasks: tasks, cloneEpochs: epochs, cloneLr: lr } = train;
  let savedAt = performance.now();
  const checkpoint = async () => {
    const isLast = progress.round >= train.rounds;
    if (isLast || signal.aborted || performance.now() - savedAt >= train.checkpointSeconds * 1000) {
      await saveTextPolicy(policyFolder(out), parts.learner, {
        scenario: name,
        seed,
        domain: domain.version,
        progress,
      });
      savedAt = performance.now();
    }
    if (signal.aborted) interrupted();
  };
  return {
    settings: { ...rl, ...train, seed, clone: { tasks, epochs, lr } },
    parts,
    progress,
    ports: {
      signal,
      checkpoint,
      phase: (label, total, unit) => context.progress.phase(label, total, unit),
      tell: (event) => metrics.write(event),
    },
  };
}

function resultOf(
  { scenario, metrics, out }: Context,
  learner: TextLearner,
  progress: TextProgress,
  domain: ToolsDomain,
): TextTrainResult {
  const { round: rounds, steps, clonedSteps, evaluations } = progress;
  const { rl, train } = scenario.config;
  return {
    job: 'train',
    family: 'tools',
    wallSeconds: metrics.wallSeconds,
    mode: train.mode,
    algorithm: rl.algorithm,
    policy: { version: learner.policy.version, choosesAmong: 'admissible commands' },
    parameters: learner.parameters,
    checkpoint: policyFolder(out),
    domain: domain.version,
    rounds,
    steps,
    clonedSteps,
    evaluations: evaluations.map(({ wins, episodes, ...rest }) => ({ ...rest, success: rateOf(wins, episodes) })),
  };
}

/** Drops every event of a round after `round`, or all, so that a resumed run tells nothing twice. */
function rewindMetrics(metrics: MetricsWriter, round: number | undefined): void {
  let bytes = 0;
  let wallSeconds = 0;
  for (const line of readFileSync(metrics.file, 'utf8').split('\n').slice(0, -1)) {
    const event = JSON.parse(line) as MetricsEvent;
    if (round === undefined || (event.round ?? 0) > round) break;
    bytes += Buffer.byteLength(line) + 1;
    wallSeconds = event.wallSeconds;
  }
  metrics.rewind({ bytes, wallSeconds });
}
