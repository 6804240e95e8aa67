// `reverie train` in a world of text: gives the loop of groups its parts, reports what came of it, and keeps checkpoints on the way, so that
// a run that was stopped or killed resumes to the same bytes. A checkpoint is a folder that is written whole or not at all, and nothing in
// it depends on the clock or the machine:
//
//   text-policy.json       network, settings, progress, hash of the weights; sealed
//   learner.safetensors    weights, moments of Adam, reference

import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { contentHash, sha256 } from '../../../core/canonical-json.js';
import { reverieError } from '../../../core/errors.js';
import type { EvaluationSet } from '../../../core/evaluation-set.js';
import { recoverFolder, replaceFolderAtomic, sealedText } from '../../../core/files.js';
import type { Fact, Report } from '../../../core/report.js';
import { Rng } from '../../../core/rng.js';
import { rateOf } from '../../../core/statistics.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import { rulesResponder } from '../../../env/tools/rules-responder.js';
import { float32 } from '../../../nn/graph.js';
import { decodeTensors, encodeTensors } from '../../../nn/safetensors.js';
import { groupEstimators } from '../../../rl/group-estimators.js';
import { type RelevanceSettings, relevanceSchema } from '../../../rl/text/relevance.js';
import { TextLearner } from '../../../rl/text/text-learner.js';
import { textGroups } from '../../../training/text-loop.js';
import {
  evenly,
  newProgress,
  roundsOf,
  type TextDream,
  type TextEvaluation,
  type TextProgress,
  type TextTraining,
} from '../../../training/text-training.js';
import { toolsSet } from '../../evaluation-set.js';
import { formatCount, formatCounts, formatPercent } from '../../format.js';
import { closedOnFailure, type JobContext } from '../../job.js';
import { publish } from '../../report-page.js';
import { readSealed } from '../../run-folder.js';
import type { ToolsScenario } from '../../scenario.js';
import { type Gain, gainTable, pairedGain } from '../gain.js';
import { RecordedDream, RecordedValues } from './records.js';
import { lanes, makeParts, ofTraining, remarkOn, spendingFacts, type ToolsParts, textViewOf } from './rows.js';

type Context = JobContext<ToolsScenario>;

export type TextTrainResult = Awaited<ReturnType<typeof trainPolicyJob>>;

export async function trainPolicyJob(asked: Context) {
  const context = { ...asked, scenario: ofTraining(asked.scenario) };
  const { scenario, seed } = context;
  const { config } = scenario;
  const { train, rl } = config;
  const isMade = train.mode !== 'real' && train.gather !== undefined;
  const parts = await makeParts({ ...context, dreamsLater: isMade });
  let learner: TextLearner | undefined;
  let values: RecordedValues | undefined;
  // Stopped within a round: the last checkpoint stands, and a resumed run does the round again, byte for byte.
  try {
    const { domain } = parts;
    const tasks = tasksOf(domain, train.splits, 'to learn from');
    const evalTasks = evenly(tasksOf(domain, train.evalSplits, 'to be judged on'), train.evalTasks);
    const real = domain.rules === undefined ? parts.responder : rulesResponder(domain);
    learner = await makeTextLearner(scenario, seed);
    const evaluationSet = trainingSet(context, parts, evalTasks, real.version);
    const progress = await progressOf(context, learner, domain);
    const gathering = { context, parts, tasks, gathered: progress.gathered.length };
    const [environments, evalEnvironments] = [0, 1].map(() => lanes(parts, real, config));
    let dream: TextDream | undefined;
    if (train.mode === 'value') values = new RecordedValues(gathering);
    else if (isMade) dream = new RecordedDream({ ...gathering, policy: learner.policy });
    else if (train.mode !== 'real') {
      const simulated = lanes(parts, parts.responder, config);
      dream = { environments: async () => simulated };
    }
    const algorithm = groupEstimators.get(rl.algorithm);
    const { walkthrough } = textViewOf(domain);
    const made = { learner, algorithm, environments, dream, values, evalEnvironments, walkthrough, tasks, evalTasks };
    await textGroups(trainingOf(context, made, progress, domain));
    const { spent, spentBy } = parts.budget;
    const result = { ...resultOf(context, learner, progress, domain), spent, spentBy, evaluationSet };
    return { ...result, report: await publish(context, trainReport(config.name, result), evaluationSet) };
  } finally {
    await values?.close();
    await learner?.close();
    await parts.close();
  }
}

/** Judged on `tasks` where `answers` answers; who learns, and in what, is given by digests. */
function trainingSet(
  { scenario, seed }: Context,
  { domain, user, responder }: ToolsParts,
  tasks: readonly ToolsTask[],
  answers: string,
): EvaluationSet {
  const { rl, train, synth } = scenario.config;
  const { evalEvery, evalChoice, evalSplits, evalTasks, checkpointSeconds: _, ...how } = train;
  // A simulation that is made of records is given by how they are gathered.
  const isGiven = train.mode !== 'real' && train.gather === undefined;
  const learner = `${rl.algorithm}@${contentHash({ rl, how }).slice(0, 12)}`;
  const dream: Record<string, string> = isGiven ? { dream: responder.version } : {};
  const policies = { learner, ...dream, user: user.version, answers };
  const settings = { evalEvery, evalChoice, evalSplits, evalTasks, maxSteps: synth.maxSteps };
  return toolsSet({ seed }, domain, tasks, policies, settings);
}

/** @throws DOMAIN_UNFIT */
function tasksOf({ id, tasks }: ToolsDomain, splits: readonly string[], purpose: string): ToolsTask[] {
  const found = tasks.filter(({ split = 'train' }) => splits.includes(split));
  if (found.length > 0) return found;
  throw reverieError('DOMAIN_UNFIT', {
    problem: `Domain "${id}" has no task ${purpose}: none of its ${tasks.length} tasks is of split ${splits.join(' or ')}.`,
    hint: 'Name splits that have tasks, in train.splits and train.evalSplits, or give the domain more of them (train.domain).',
  });
}

/** What an earlier process of this run came to, with the learner as it was then. */
async function progressOf(
  { out, resume, metrics, log }: Context,
  learner: TextLearner,
  domain: ToolsDomain,
): Promise<TextProgress> {
  const folder = policyFolder(out);
  if (!resume || !(await recoverFolder(folder))) {
    metrics.rewind();
    return newProgress();
  }
  const { manifest, state } = await loadTextPolicy(folder);
  const { progress } = manifest;
  if (manifest.domain !== domain.version) {
    const problem = `it learned in version ${manifest.domain} of the domain, which is ${domain.version} now`;
    throw reverieError('CHECKPOINT_CORRUPT', { path: folder, problem });
  }
  learner.restore(state);
  // Events of a later round, gathering or check are written again.
  const times: Partial<Record<string, number>> = { gather: progress.gathered.length, check: progress.checks.length };
  metrics.rewindTo(({ kind, round = 0, time }) => {
    const known = times[kind];
    return round <= progress.round && (known === undefined || (time as number) < known);
  });
  log(`Resuming after ${progress.round} rounds.`);
  return progress;
}

function trainingOf(
  { scenario, seed, signal, metrics, out, progress: bars, log }: Context,
  parts: TextTraining['parts'],
  progress: TextProgress,
  domain: ToolsDomain,
): TextTraining {
  const { rl, train, name } = scenario.config;
  // What a scenario says, with the defaults of what it leaves out.
  const { cloneTasks: tasks, cloneEpochs: epochs, cloneLr: lr, cloneDetours: detours } = train;
  const { gaeLambda = 0.95, rewards = 'paid' } = rl;
  const settings: TextTraining['settings'] = {
    ...{ ...rl, ...train, seed, gaeLambda, rewards, realRounds: train.realRounds ?? train.rounds },
    gatherEvery: train.gather?.every ?? Number.POSITIVE_INFINITY,
    situationsPerRound: train.value?.situations,
    clone: { tasks, epochs, lr, detours },
  };
  const { length: rounds } = roundsOf(settings);
  let savedAt = performance.now();
  const checkpoint = async (isDue = false) => {
    const isLate = performance.now() - savedAt >= train.checkpointSeconds * 1000;
    if (progress.round >= rounds || isDue || signal.aborted || isLate) {
      const about = { scenario: name, seed, domain: domain.version, progress };
      await saveTextPolicy(policyFolder(out), parts.learner, about);
      savedAt = performance.now();
    }
    signal.throwIfAborted();
  };
  return {
    ...{ settings, parts, progress },
    ports: {
      signal,
      checkpoint,
      phase: bars.phase,
      tell: (event) => metrics.write(event),
      warn: log,
    },
  };
}

function resultOf(
  { scenario, metrics, out }: Context,
  learner: TextLearner,
  progress: TextProgress,
  domain: ToolsDomain,
) {
  const { round: rounds, cloned: _cloned, grown: _grown, evaluations, ...rest } = progress;
  const { rl, train } = scenario.config;
  return {
    ...{ job: 'train', family: 'tools', wallSeconds: metrics.wallSeconds, mode: train.mode, algorithm: rl.algorithm },
    policy: { version: learner.policy.version, choosesAmong: 'admissible commands' },
    ...{ parameters: learner.parameters, checkpoint: policyFolder(out), domain: domain.version, rounds, ...rest },
    evaluations: evaluations.map(({ wins, episodes, rewards: _, ...one }) => ({
      ...one,
      success: rateOf(wins, episodes),
    })),
    gains: gainsOf(progress),
  };
}

/** From before the first round to after the last. */
function gainsOf({ evaluations, checks }: TextProgress): Gain[] {
  const [first, last] = [checks[0], checks.at(-1)];
  const before = evaluations.findLast(({ after }) => after !== 'rounds');
  const after = evaluations.at(-1);
  return [
    ...(checks.length < 2
      ? []
      : [
          pairedGain('in the simulation', first.simulated, last?.simulated),
          pairedGain('in reality, from the same starts', first.real, last?.real),
        ]),
    ...(before === after ? [] : [pairedGain('in reality, on unseen tasks', before?.rewards, after?.rewards)]),
  ];
}

/** What the policy of an evaluation had behind it. */
function momentOf({ after, round }: Pick<TextEvaluation, 'after' | 'round'>): string {
  if (after === 'rounds') return `after ${formatCount(round)} rounds`;
  return after === 'cloning' ? 'after imitation' : 'untrained';
}

type Reported = ReturnType<typeof resultOf> & Pick<ToolsParts['budget'], 'spent' | 'spentBy'>;

function trainReport(name: string, result: Reported): Report {
  const { evaluations, mode, algorithm, alarms } = result;
  const facts: Fact[] = [
    ['policy', `${result.policy.version}, ${formatCount(result.parameters)} parameters`],
    ['learned', `${formatCount(result.rounds)} rounds of ${algorithm} (${mode})`],
    ['real steps', `${formatCount(result.realSteps)}, ${formatCount(result.clonedSteps)} of them of walkthroughs`],
    mode === 'value'
      ? ['valued choices', formatCount(result.valuedChoices ?? 0)]
      : ['simulated steps', formatCount(result.simulatedSteps)],
    ...alarms.map(({ round, problem }): Fact => ['warning', `after ${formatCount(round)} rounds, ${problem}`]),
    ...simulationFacts(result),
    ...spendingFacts(result),
    ['checkpoint', result.checkpoint],
  ];
  return {
    title: `An agent of ${name}`,
    blocks: [
      { kind: 'facts', rows: facts },
      {
        kind: 'table',
        columns: ['', 'success', '95 %', 'real steps', 'simulated steps', 'length'],
        rows: evaluations.map((evaluation) => {
          const { success, realSteps, simulatedSteps, meanLength } = evaluation;
          const interval = `${formatPercent(success.low)} to ${formatPercent(success.high)}`;
          const steps = [formatCount(realSteps), formatCount(simulatedSteps), meanLength.toFixed(1)];
          return [momentOf(evaluation), formatPercent(success.value), interval, ...steps];
        }),
        note: `Of unseen tasks. Real steps are those of walkthroughs, of records and of rounds, none of evaluations. One seed: intervals are those of the episodes, not of training again. ${remarkOn('The policy')}`,
      },
      ...gainTable(result.gains),
      {
        ...{ kind: 'curves', title: 'Success against real steps' },
        ...{ xTitle: 'real steps', yTitle: 'success', yScale: 'share' },
        caption: 'Share of unseen tasks won, an episode each in the real environment.',
        curves: [
          { name: mode, points: evaluations.map(({ realSteps: x, success: { value } }) => ({ x, y: value ?? 0 })) },
        ],
      },
    ],
  };
}

/** What the simulation or the value model was made of, how it did on what was held out, and how it did beside the real environment. */
function simulationFacts({ gathered, checks, answeredBy }: Reported): Fact[] {
  const records = gathered.flatMap(({ agent, episodes, wins, steps, made, heldOut, trustHorizon, values }): Fact[] => {
    const played = `${formatCount(episodes)} episodes of ${agent.split(',')[0]} (${formatCount(wins)} won), ${formatCount(steps)} steps`;
    const facts: Fact[] = [['records', `${played}; ${made.join('; ')}`]];
    if (values !== undefined)
      facts.push(['  held out', `${skillText(values)} on ${formatCount(values.heldOutSteps)} steps`]);
    if (heldOut !== null) {
      const share = (wrong: number) => formatPercent(wrong / heldOut.steps);
      const trusted = trustHorizon === null || trustHorizon > 1e6 ? 'any number of' : formatCount(trustHorizon);
      const wrong = `${share(heldOut.wrongStates)} of states and ${share(heldOut.wrongObservations)} of texts wrong`;
      facts.push(['  held out', `${wrong}; ${trusted} steps can be trusted`]);
    }
    return facts;
  });
  const beside = checks.map(({ round, steps, episodes, apart, dreamWins, confirmedWins, realWins }): Fact => {
    const wrong = formatPercent(Object.values(apart).reduce((sum, count) => sum + count, 0) / steps);
    const wins = `${dreamWins} simulated wins, ${confirmedWins} of them confirmed, and ${realWins} real ones in ${episodes} episodes`;
    return [
      `beside the real, after ${formatCount(round)} rounds`,
      `${wrong} of ${formatCount(steps)} steps wrong; ${wins}`,
    ];
  });
  const answers = formatCounts(answeredBy);
  return [...records, ...(answers === '' ? [] : [['answered by', answers] as const]), ...beside];
}

function skillText({ skill: { value, low, high } }: NonNullable<Reported['gathered'][number]['values']>): string {
  const number = (one: number | null) => (one === null ? 'unknown' : one.toFixed(2));
  return `skill over a constant ${number(value)} (${number(low)} to ${number(high)})`;
}

/**
 * The learner of a run of train, or of a checkpoint's folder; the caller closes it.
 * @throws INPUT_MISSING, CHECKPOINT_CORRUPT
 */
export async function openTextLearner(scenario: ToolsScenario, seed: number, checkpoint: string): Promise<TextLearner> {
  const { manifest, state } = await loadTextPolicy(checkpoint);
  // As it was trained, whatever the scenario says of it now.
  const learner = await makeTextLearner(scenario, seed, manifest.settings);
  await closedOnFailure(learner, () => learner.restore(state));
  return learner;
}

/** A fresh learner. */
function makeTextLearner(
  { config: { rl } }: ToolsScenario,
  seed: number,
  settings: RelevanceSettings = rl.relevance,
): Promise<TextLearner> {
  const valueCoefficient = groupEstimators.get(rl.algorithm).hasCritic ? (rl.valueCoefficient ?? 0.5) : 0;
  return TextLearner.make(settings, { ...rl, valueCoefficient }, Rng.fromSeed(seed).split('text-learner'));
}

const manifestSchema = z.strictObject({
  format: z.literal('reverie-text-policy'),
  formatVersion: z.literal(2),
  scenario: z.string(),
  seed: z.int(),
  /** Version of the domain it learned in. */
  domain: z.string(),
  network: z.literal('relevance'),
  settings: relevanceSchema,
  gradientSteps: z.int().min(0),
  policyVersion: z.string(),
  /** As it was written, which the seal vouches for. */
  progress: z.custom<TextProgress>((value) => typeof value === 'object' && value !== null),
  sha256: z.string(),
});

const POLICY_FILE = 'text-policy.json';
const STATE_FILE = 'learner.safetensors';

/** Where a checkpoint of a run lies. */
function policyFolder(out: string): string {
  return join(out, 'checkpoint');
}

/** Writes (or atomically replaces) the folder. @throws STORAGE_FULL, STORAGE_FAILED */
async function saveTextPolicy(
  folder: string,
  learner: TextLearner,
  about: { readonly scenario: string; readonly seed: number; readonly domain: string; readonly progress: TextProgress },
): Promise<void> {
  const { meta, arrays } = learner.state();
  const tensors = Object.entries(arrays).map(([name, array]) => [name, float32(array)] as const);
  const bytes = encodeTensors(Object.fromEntries(tensors));
  const manifest = manifestSchema.parse({
    ...{ format: 'reverie-text-policy', formatVersion: 2, ...about, ...meta },
    ...{ policyVersion: learner.policy.version, sha256: sha256(bytes) },
  });
  await replaceFolderAtomic(folder, async (temporary) => {
    await writeFile(join(temporary, STATE_FILE), bytes);
    await writeFile(join(temporary, POLICY_FILE), sealedText(manifest));
  });
}

/** The policy of a run, or of a checkpoint's folder. @throws INPUT_MISSING, CHECKPOINT_CORRUPT */
async function loadTextPolicy(given: string) {
  const folders = [policyFolder(given), given];
  for (const folder of folders) await recoverFolder(folder);
  const folder = folders.find((one) => existsSync(join(one, POLICY_FILE)));
  if (folder === undefined)
    throw reverieError('INPUT_MISSING', { what: 'policy of text', path: given, input: 'checkpoint' });
  const manifest = readSealed(join(folder, POLICY_FILE), manifestSchema);
  const { network, settings, gradientSteps } = manifest;
  const path = join(folder, STATE_FILE);
  const corrupt = (problem: string, cause?: unknown) => reverieError('CHECKPOINT_CORRUPT', { path, problem }, cause);
  const bytes = await readFile(path).catch((error: Error) => {
    throw corrupt(error.message, error);
  });
  if (sha256(bytes) !== manifest.sha256) throw corrupt('its content does not match its hash');
  const tensors = Object.entries(decodeTensors(bytes)).map(([name, { data }]) => [name, data as Float32Array] as const);
  const state = { meta: { network, settings, gradientSteps }, arrays: Object.fromEntries(tensors) };
  return { manifest, state };
}
