// Settings that find themselves: how far, how often and whether at all a round is dreamt, from what the model of the moment has
// shown on real rows. What a scenario pins stands as it is; each choice has its reason, which the run tells.

import { type HorizonSchedule, horizonSchedule } from '../synth/rollout/plan.js';
import type { HeldOutReport } from '../worldmodel/dynamics.js';
import type { ModelTrial } from '../worldmodel/model-folder.js';
import type { DreamSettings } from './training-settings.js';

/** What is known of the model of the moment. Both absent for a kind that cannot say. */
export interface ModelEvidence {
  /** On real rows: of the model before the last fit those lived since then, or of a first model those it learned from. */
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
  /** Whether the round is dreamt in; else the learner learns as much from real rows. */
  readonly isOpen: boolean;
  readonly horizon: number;
  readonly disagreementLimit: number | null;
  readonly realRatio: number;
  /** Real states that the round's branches start from. */
  readonly starts: number;
  /** Why, by the key of the scenario. */
  readonly reasons: Readonly<Record<string, string>>;
}

/** Below this share of the variance explained, a model is not dreamt in. */
const LEAST_SKILL = 0.5;
/** A simple model may explain so much more without the model being worthless: of little variance all explain nearly everything. */
const TOLERANCE = 0.02;
/** On rows of a newer policy than the model has seen, before the refit that learns from them. */
const LEAST_UNSEEN = 0;

/** Steps of a branch at most. */
const LONGEST = 30;
/** A branch ends where the elites differ by so many times what they differ by on 95 % of real steps. */
const DOUBT = 2;
/** And not below this share of what a state usually moves: a few steps near a rest say nothing of the others. */
const LEAST_DOUBT = 0.2;
/** Dreamt rows of a round, about; and starts at least and at most. */
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

/** Length of a branch after so many real steps. */
export function horizonAt(realSteps: number, horizon: number | HorizonSchedule): number {
  return typeof horizon === 'number' ? horizon : horizonSchedule(realSteps, horizon);
}

/** Of a fit that tells its figures. */
export function skillOf({ elements }: HeldOutReport): HeldOutSkill {
  const observed = elements.filter(({ element, r2 }) => element !== 'reward' && r2.model !== null);
  const average = (of: (r2: (typeof observed)[number]['r2']) => number | null) =>
    observed.length === 0
      ? null
      : observed.reduce((sum, { r2 }) => sum + Math.max(-1, of(r2) ?? 0), 0) / observed.length;
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
    return shut(`on the newest episodes the last model foresaw worse than the mean (R² ${trial.r2.toFixed(2)})`);
  if (skill?.model == null) return { isOpen: true, reason: 'open: nothing speaks against the model' };
  return { isOpen: true, reason: `open: held out, the model explains ${share(skill.model)} of what changes` };
}

function horizonFor({ horizon }: Pick<DreamSettings, 'horizon'>, trial: ModelTrial | undefined, realSteps: number) {
  if (horizon !== 'auto') return { value: horizonAt(realSteps, horizon), reason: 'pinned' };
  if (trial === undefined) return { value: 1, reason: 'nothing is known of the model beyond one step' };
  const { trustedSteps, longest } = trial;
  if (trustedSteps === 0) return { value: 1, reason: 'one imagined step in five is far from the real one' };
  // Episodes that ended before the model strayed say nothing of its limit.
  const isOpen = trustedSteps === longest;
  const value = Math.min(LONGEST, isOpen ? 2 * trustedSteps : trustedSteps);
  const told = `${trustedSteps} imagined steps stay near real episodes`;
  return { value, reason: isOpen ? `${told}, which are no longer` : told };
}

function limitFor({ disagreementLimit }: Pick<DreamSettings, 'disagreementLimit'>, trial: ModelTrial | undefined) {
  if (disagreementLimit !== 'auto') return { value: disagreementLimit, reason: 'pinned' };
  if (trial?.doubt == null) return { value: null, reason: 'the model has no second opinion' };
  const value = Number((DOUBT * trial.doubt).toPrecision(3));
  if (value < LEAST_DOUBT)
    return { value: LEAST_DOUBT, reason: 'a fifth of what a state usually moves, the least limit' };
  return { value, reason: `${DOUBT} times the disagreement that 95 % of real steps stay below` };
}

/** A tenth of real rows with a model that explains everything, more with a worse one, half at most. */
function ratioFor(asked: number | 'auto', skill: HeldOutSkill | undefined) {
  if (asked !== 'auto') return { value: asked, reason: 'pinned' };
  const explained = Math.min(skill?.model ?? 1, skill?.reward ?? 1);
  const value = Number(Math.min(0.5, Math.max(0.1, 1 - explained)).toFixed(2));
  return { value, reason: `held out, the model explains ${share(explained)}` };
}

function startsFor({ startsPerRound }: Pick<DreamSettings, 'startsPerRound'>, horizon: number) {
  if (startsPerRound !== 'auto') return { value: startsPerRound, reason: 'pinned' };
  const value = Math.min(MOST_STARTS, Math.max(LEAST_STARTS, Math.ceil(ROWS / horizon)));
  return { value, reason: `about ${ROWS.toLocaleString('en')} dreamt rows a round` };
}

function share(r2: number): string {
  return `${(100 * r2).toFixed(r2 > 0.99 ? 1 : 0)} %`;
}
