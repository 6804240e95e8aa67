// What a loop of training is given, as plain values, and where each `auto` of a scenario is decided: rounds once, before a run begins; the
// dream of each round from what the model of the moment has shown on real rows. Decisions have their reasons, which the run prints.
// Scenarios say the same in their sections `train`, `rollout`, `replay`, `model` and `eval` (docs/scenarios.md).

import type { OpenPhase } from '../core/progress.js';
import { mean } from '../core/statistics.js';
import type { EnvSpec } from '../env/environments.js';
import { ROLLOUT_STEPS } from '../kinds/vector.js';
import type { LearnerEntry } from '../rl/learners.js';
import type { DiffusionOptions } from '../rl/synther.js';
import { type HorizonSchedule, horizonSchedule } from '../synth/rollout/plan.js';
import type { HeldOutReport, ModelPlace, ModelSection, Propagation } from '../worldmodel/dynamics.js';
import type { ModelTrial } from './model-trial.js';

export interface TrainingSettings {
  /** Name of the scenario, recorded with every row. */
  readonly scenario: string;
  readonly seed: number;
  /** Worker threads for dreaming and fitting; 0: in this thread. Never changes results. */
  readonly workers: number;
  /** The same for fitting alone; `workers` unless given. */
  readonly fitWorkers?: number;
  /** What learned dynamics are stepped on; the processor unless given. */
  readonly device?: ModelPlace['device'];
  readonly train: RoundSettings;
  /** `deterministic`: evaluate the policy's mode. */
  readonly eval: { readonly deterministic: boolean };
  /** Set where the loop dreams. */
  readonly dream?: DreamSettings;
  /** Models, the newest first, whose synthetic rows are learned from; null: of all. */
  readonly keepModels: number | null;
  /** Set where nothing is collected: gradient steps on given records. */
  readonly offlineUpdates?: number;
}

/** Rows drawn from a diffusion of the real ones. */
export interface GenerativeSettings {
  /** Of every batch, once there are such rows. */
  readonly share: number;
  /** Drawn from each fitted diffusion. */
  readonly rows: number;
  /** Real rows between fits. */
  readonly refitEvery: number;
  /** Levels of noise a row comes down by. */
  readonly levels: number;
  readonly diffusion: Partial<DiffusionOptions> & Pick<DiffusionOptions, 'updates'>;
}

/** How real steps, learning and evaluations follow on each other. */
interface RoundSettings {
  /** Budget of real steps. */
  readonly realSteps: number;
  /** Real steps at random before a learner that knows nothing learns. */
  readonly initialRandomSteps: number;
  /** Real steps a round. */
  readonly stepsPerRound: number;
  /** Gradient steps a real step, where rows are replayed without a dream. */
  readonly updatesPerStep: number;
  /** Gradient steps a round in the dream. */
  readonly updatesPerRound: number;
  /** Times dreaming and learning alternate within a round. */
  readonly cyclesPerRound: number;
  /** Real steps between evaluations, and episodes of each. */
  readonly evalEvery: number;
  readonly evalEpisodes: number;
  /** Real steps between learners that are kept; null: none. */
  readonly keepPolicyEvery: number | null;
  /** Mean return that counts as solved, and whether the run ends there. */
  readonly threshold: number | null;
  readonly stopAtThreshold: boolean;
}

/** The world model, and how branches are simulated in it. */
export interface DreamSettings {
  /** The scenario's `model:` section: what to learn, or of which kind the model is that was brought and stays as it is. */
  readonly model: ModelSection;
  /** Folder of the model that was brought, or of one whose weights the first fit starts from. */
  readonly modelFolder?: string;
  /** A refit starts from the last weights, or starts anew. */
  readonly refit: 'continue' | 'anew';
  /** Real steps between refits; `auto`: once there is enough that is new. */
  readonly refitEvery: number | 'auto';
  /** `auto`: a model without skill is not simulated with. */
  readonly gate: 'auto' | 'open';
  /** The real environment, from anywhere: a fitted model keeps it. */
  readonly env: EnvSpec;
  /** Length of a branch, or how it grows with real steps. */
  readonly horizon: number | HorizonSchedule | 'auto';
  /** Real states a round's branches start from. */
  readonly startsPerRound: number | 'auto';
  readonly chunkRows: number;
  readonly propagation: Propagation;
  /** A branch is truncated where the elites differ by more; null: never. */
  readonly disagreementLimit: number | null | 'auto';
  /** A branch ends where an observation lies so many widths of the real ones' range beyond it; null: never. */
  readonly range: number | null;
}

/** What a run does for its loop: shows how far it is, keeps what is told, and asks it to stop. */
export interface TrainingPorts<Run> {
  /** Aborts when the user asks to stop; the loop then throws its reason within the round, or `checkpoint` does after it. */
  readonly signal: AbortSignal;
  readonly phase: OpenPhase;
  /** One event for the journal of metrics. */
  tell(event: { readonly kind: string; readonly [key: string]: unknown }): void;
  /** After every round. Keeps what is due; throws where the run is to end here, with all of it kept. */
  checkpoint(run: Run, due: { readonly policy: boolean }): Promise<void>;
}

// Rounds: how long they are and how much is learned in them, the same for a dream and for the baselines it is compared with.

/** Settings of rounds as a scenario gives them. */
type AskedRounds = {
  readonly [Key in keyof RoundSettings]: Key extends AutoKey ? RoundSettings[Key] | 'auto' : RoundSettings[Key];
};
type AutoKey = 'initialRandomSteps' | 'updatesPerStep' | `${'steps' | 'updates' | 'cycles'}PerRound` | 'evalEvery';

/** A body, and who learns to move it. */
interface RoundBody extends Pick<LearnerEntry, 'learnsFrom' | 'updatesPerStep'> {
  readonly obsDim: number;
  readonly actionDim: number;
}

/** Gradient steps a real step, where the paper is not about them: on real rows, in a simulation (MBPO takes twenty to forty). Those between two dreams. */
const [UPDATES_ON_REAL_ROWS, UPDATES_IN_SIMULATION, UPDATES_PER_CYCLE] = [1, 40, 500];

/** Random steps for each element of an observation and an action; and of larger bodies in all, where published learners take 1,000 to 5,000. */
const [STEPS_PER_ELEMENT, LEAST_RANDOM] = [20, 100];
const [SMALL_BODY, RANDOM_OF_LARGER] = [12, 1000];

/** Real steps of a round, within bounds: a quarter of the random ones. A policy is soon held against the world that it left the data for. */
const [LEAST_ROUND, MOST_ROUND] = [25, 100];
const ROUNDS_PER_EVALUATION = 2;

export function resolveRounds(
  asked: AskedRounds,
  { obsDim, actionDim, learnsFrom, updatesPerStep }: RoundBody,
): RoundSettings {
  const elements = obsDim + actionDim;
  const random = elements > SMALL_BODY ? RANDOM_OF_LARGER : Math.max(LEAST_RANDOM, STEPS_PER_ELEMENT * elements);
  const initialRandomSteps = given(asked.initialRandomSteps, random);
  const isReplayed = learnsFrom !== 'rollouts';
  const quarter = Math.min(MOST_ROUND, Math.max(LEAST_ROUND, 5 * Math.round(initialRandomSteps / 20)));
  const stepsPerRound = given(asked.stepsPerRound, isReplayed ? quarter : ROLLOUT_STEPS);
  const updatesPerRound = given(asked.updatesPerRound, (updatesPerStep ?? UPDATES_IN_SIMULATION) * stepsPerRound);
  return {
    ...asked,
    initialRandomSteps,
    stepsPerRound,
    updatesPerStep: given(asked.updatesPerStep, updatesPerStep ?? UPDATES_ON_REAL_ROWS),
    updatesPerRound,
    cyclesPerRound: given(
      asked.cyclesPerRound,
      isReplayed ? Math.max(1, Math.round(updatesPerRound / UPDATES_PER_CYCLE)) : 1,
    ),
    evalEvery: given(asked.evalEvery, isReplayed ? ROUNDS_PER_EVALUATION * stepsPerRound : stepsPerRound),
  };
}

function given(value: number | 'auto', otherwise: number): number {
  return value === 'auto' ? otherwise : value;
}

// The dream of a round: how far, how often and whether at all. What a scenario pins stands as it is.

/** What is known of the model of the moment. Both absent for a kind that cannot say. */
export interface ModelEvidence {
  /** On real rows collected since the model before the last fit was fitted, by the policy; none of a first model. */
  readonly trial?: ModelTrial;
  /** On rows that the last fit held out. */
  readonly skill?: HeldOutSkill;
}

/** R², means over elements that change; null where none does. */
export interface HeldOutSkill {
  readonly model: number | null;
  /** The better of a linear model and "nothing changes". */
  readonly simple: number | null;
  /** Of a learned reward. */
  readonly reward: number | null;
}

export interface DreamPlan {
  /** Whether the round is simulated; else the learner learns as much from real rows. */
  readonly isOpen: boolean;
  readonly horizon: number;
  readonly disagreementLimit: number | null;
  readonly realRatio: number;
  /** Real states that the round's branches start from. */
  readonly starts: number;
  /** Why, by the key of the scenario. */
  readonly reasons: Readonly<Record<string, string>>;
}

/** Below this share of the variance explained, a model is not simulated with. */
const LEAST_SKILL = 0.5;
/** A simple model may explain so much more: members are chosen by absolute errors, where by squared ones a few unpredictable rows decide. */
export const TOLERANCE = 0.05;
/** On rows of a newer policy than the model has seen, before the refit that learns from them. */
const LEAST_UNSEEN = 0;

/** Steps of a branch at most. */
const LONGEST = 30;
/**
 * A branch ends where an elite is off by so many times what a state usually moves in one step, over all real rows: a policy that has become
 * cautious, and whose newest steps are easily predicted, does not narrow what is explored.
 */
const DOUBT = 1;
/** Simulated rows of a round, about; and starts at least and at most. */
const ROWS = 50_000;
const LEAST_STARTS = 500;
const MOST_STARTS = 10_000;

export function planDream(
  settings: Pick<DreamSettings, 'gate' | 'horizon' | 'disagreementLimit' | 'startsPerRound'>,
  askedRatio: number | 'auto',
  evidence: ModelEvidence,
  realSteps: number,
): DreamPlan {
  const gate = settings.gate === 'open' ? { isOpen: true, reason: 'pinned' } : gateOf(evidence);
  const horizon = horizonFor(settings, evidence.trial, realSteps);
  const limit = limitFor(settings, evidence.trial);
  const ratio = ratioFor(askedRatio, evidence.skill);
  const starts = startsFor(settings, horizon.value);
  return {
    isOpen: gate.isOpen,
    horizon: horizon.value,
    disagreementLimit: limit.value,
    realRatio: ratio.value,
    starts: starts.value,
    reasons: {
      'rollout.gate': gate.reason,
      'rollout.horizon': horizon.reason,
      'rollout.disagreementLimit': limit.reason,
      'replay.realRatio': ratio.reason,
      'rollout.startsPerRound': starts.reason,
    },
  };
}

/** Refits are due once such a share of the rows is new, or so many (MBPO's), or the model explains so much less of them than of held-out ones. */
const FRESH = 0.1;
const FRESH_ROWS = 250;
const WORSE = 0.1;

/** Of a model that was fitted when `fittedAt` of now `inserted` real rows were there; 0: never. */
export function isRefitDue(
  { refitEvery }: Pick<DreamSettings, 'refitEvery'>,
  { fittedAt, evidence }: { readonly fittedAt: number; readonly evidence: ModelEvidence },
  inserted: number,
): boolean {
  const fresh = inserted - fittedAt;
  if (fittedAt === 0) return true;
  if (refitEvery !== 'auto') return fresh >= refitEvery;
  const isWorse = (evidence.trial?.r2 ?? 1) < (evidence.skill?.model ?? 1) - WORSE;
  return fresh >= Math.min(FRESH * fittedAt, FRESH_ROWS) || isWorse;
}

/** Of a fit that tells its figures. */
export function skillOf({ elements }: HeldOutReport): HeldOutSkill {
  const observed = elements.filter(({ element, r2 }) => element !== 'reward' && r2.model !== null);
  const average = (of: (r2: (typeof observed)[number]['r2']) => number | null) =>
    observed.length === 0 ? null : mean(observed.map(({ r2 }) => Math.max(-1, of(r2) ?? 0)));
  const model = average((r2) => r2.model);
  const simple = average((r2) => Math.max(r2.linear ?? 0, r2.unchanged ?? 0, 0));
  return { model, simple, reward: elements.find(({ element }) => element === 'reward')?.r2.model ?? null };
}

function gateOf({ trial, skill }: ModelEvidence): { readonly isOpen: boolean; readonly reason: string } {
  const shut = (why: string) => ({ isOpen: false, reason: `shut: ${why}` });
  if (skill) {
    const { model, simple, reward } = skill;
    if (model !== null && model < LEAST_SKILL)
      return shut(`held out, the model explains ${share(model)} of what changes`);
    if (model !== null && simple !== null && model < simple - TOLERANCE)
      return shut(`held out, the model explains ${share(model)} of what changes and a simple model ${share(simple)}`);
    if (reward !== null && reward < LEAST_SKILL)
      return shut(`held out, the model explains ${share(reward)} of the reward`);
  }
  if (trial?.r2 != null && trial.r2 < LEAST_UNSEEN)
    return shut(`on the newest episodes the last model predicted worse than the mean (R² ${trial.r2.toFixed(2)})`);
  if (skill?.model == null) return { isOpen: true, reason: 'open: nothing speaks against the model' };
  return { isOpen: true, reason: `open: held out, the model explains ${share(skill.model)} of what changes` };
}

/** Of a model that no policy has tried. */
const FIRST = 'first model: not yet tested beyond one step';

function horizonFor({ horizon }: Pick<DreamSettings, 'horizon'>, trial: ModelTrial | undefined, realSteps: number) {
  if (typeof horizon === 'number') return { value: horizon, reason: 'pinned' };
  if (horizon !== 'auto') return { value: horizonSchedule(realSteps, horizon), reason: 'pinned' };
  if (trial === undefined) return { value: 1, reason: FIRST };
  const { trustedSteps, longest } = trial;
  if (trustedSteps === 0) return { value: 1, reason: 'one simulated step in five is far from the real one' };
  // Episodes that ended before the model strayed say nothing of its limit.
  const isOpen = trustedSteps === longest;
  const value = Math.min(LONGEST, isOpen ? 2 * trustedSteps : trustedSteps);
  const told = `simulated states stay near the real ones up to step ${trustedSteps}`;
  return { value, reason: isOpen ? `${told}, the last there is` : told };
}

function limitFor({ disagreementLimit }: Pick<DreamSettings, 'disagreementLimit'>, trial: ModelTrial | undefined) {
  if (disagreementLimit !== 'auto') return { value: disagreementLimit, reason: 'pinned' };
  if (trial?.doubt == null) return { value: null, reason: trial?.r2 == null ? FIRST : 'one network cannot disagree' };
  return { value: DOUBT, reason: 'as much as a state usually moves in a step' };
}

/** A tenth of real rows with a model that explains everything, more with a worse one, half at most. */
function ratioFor(asked: number | 'auto', skill: HeldOutSkill | undefined) {
  if (asked !== 'auto') return { value: asked, reason: 'pinned' };
  const explained = Math.min(skill?.model ?? 1, skill?.reward ?? 1);
  const value = Number(Math.min(0.5, Math.max(0.1, 1 - explained)).toFixed(2));
  const isKnown = skill != null && (skill.model !== null || skill.reward !== null);
  return { value, reason: isKnown ? `held out, the model explains ${share(explained)}` : 'no rows were held out' };
}

function startsFor({ startsPerRound }: Pick<DreamSettings, 'startsPerRound'>, horizon: number) {
  if (startsPerRound !== 'auto') return { value: startsPerRound, reason: 'pinned' };
  const value = Math.min(MOST_STARTS, Math.max(LEAST_STARTS, Math.ceil(ROWS / horizon)));
  return { value, reason: `about ${ROWS.toLocaleString('en')} simulated rows a round` };
}

function share(r2: number): string {
  return `${(100 * r2).toFixed(r2 > 0.99 ? 1 : 0)} %`;
}
