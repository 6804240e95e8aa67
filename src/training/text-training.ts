// What training agents of text is made of: settings, parts, progress, and which world each round is run in.

import type { OpenPhase } from '../core/progress.js';
import type { ToolsTask } from '../env/tools/domain.js';
import type { LineEnvironment } from '../env/tools/text-environment.js';
import type { EstimatorEntry, GroupOptions } from '../rl/group-estimators.js';
import type { TextLearner } from '../rl/text/text-learner.js';
import type { TextSituation } from '../rl/text/text-policy.js';
import type { PlayedText } from './text-play.js';
import type { Grow, Grown } from './text-tasks.js';

/** Where experience comes from: see `roundsOf`. */
export type TextMode = 'real' | 'dream' | 'dream-then-real' | 'interleaved' | 'value';

export interface TextGroupSettings extends GroupOptions {
  readonly seed: number;
  readonly mode: TextMode;
  /** Rounds, but those of `realRounds`. */
  readonly rounds: number;
  /** Further rounds in the real environment, of mode `dream-then-real`. */
  readonly realRounds: number;
  /** Rounds between two gatherings of records, of mode `interleaved`. */
  readonly gatherEvery: number;
  readonly tasksPerRound: number;
  /** Absent: all tasks in turn. */
  readonly grow?: Grow;
  readonly groupSize: number;
  /** Mode value: recorded situations of a round; 64 unless given. */
  readonly situationsPerRound?: number;
  /** How far the ratio of probabilities counts below and above 1, as the learner's objective has it. */
  readonly clipLow: number;
  readonly clipHigh: number;
  /** What the world pays, or 1 at the end of an episode that was won. */
  readonly rewards: 'paid' | 'verdict';
  /** Passes over the lessons of a round, and their step size. */
  readonly epochs: number;
  readonly lr: number;
  /** What is imitated first; `detours`: most places that demonstrations look into before the right one, 0: they know where all is. */
  readonly clone: { readonly tasks: number; readonly epochs: number; readonly lr: number; readonly detours?: number };
  /** Rounds between two evaluations; the first is before the first round, the last after the last. */
  readonly evalEvery: number;
  /** Whether an evaluation draws its choices, or takes the most probable. */
  readonly evalChoice: 'sample' | 'mode';
  /** Episodes of a check of the dream; 0: none. */
  readonly checkEpisodes: number;
}

export interface TextRound {
  /** `value`: nothing is simulated, and a value model says what choices are worth. */
  readonly where: 'real' | 'dream' | 'value';
  /** Real episodes are gathered before it, and the dream is made anew of all there are. */
  readonly gathers: boolean;
}

/**
 * All rounds of a training: in the real environment; in a dream made of records that are gathered first; the same and then in the
 * real environment (DreamGym's transfer, 2511.03773); in a dream that is made anew every so many rounds (as in DynaWeb); or of what a
 * value model made of such records says, without any environment (VEM, 2502.18906).
 */
export function roundsOf({ mode, rounds, realRounds, gatherEvery }: Rounds): TextRound[] {
  const of = (count: number, where: TextRound['where']) =>
    Array.from({ length: count }, (_, i): TextRound => {
      return { where, gathers: where !== 'real' && (mode === 'interleaved' ? i % gatherEvery === 0 : i === 0) };
    });
  if (mode === 'real' || mode === 'value') return of(rounds, mode);
  return [...of(rounds, 'dream'), ...of(mode === 'dream-then-real' ? realRounds : 0, 'real')];
}

type Rounds = Pick<TextGroupSettings, 'mode' | 'rounds' | 'realRounds' | 'gatherEvery'>;

/** What gathering records once came to. */
export interface Gathered {
  readonly episodes: number;
  readonly steps: number;
  readonly wins: number;
  /** Who acted. */
  readonly agent: string;
  /** What was made of all records so far, a line for each backend. */
  readonly made: readonly string[];
  /** Recorded steps that the dream was not made of, answered by it; null where none were held out. */
  readonly heldOut: { readonly steps: number; readonly wrongStates: number; readonly wrongObservations: number } | null;
  /** Steps after which a simulated state is wrong with no more than the tolerated probability; null likewise. */
  readonly trustHorizon: number | null;
  /** What a value model made of them is worth; absent where there is none. */
  readonly values?: ValueFit;
}

/** A value model beside recorded episodes that it was not made of. */
export interface ValueFit {
  /** Episodes and steps that it was made of, and recorded steps that could not be: what was done was not among what was offered. */
  readonly episodes: number;
  readonly steps: number;
  readonly skipped: number;
  readonly heldOutEpisodes: number;
  readonly heldOutSteps: number;
  /** Mean squared error on these, and that of the mean return of what it was made of. */
  readonly error: number;
  readonly constantError: number;
  /** 1 - error / constantError, with an interval over episodes; null where that cannot be told. */
  readonly skill: { readonly value: number | null; readonly low: number | null; readonly high: number | null };
}

/** What choices are worth, by a model made of records. */
export interface TextValues {
  /** As `TextDream` has it. */
  remember(episodes: readonly PlayedText[]): Promise<void>;
  /** Lives real episodes, keeps them, and makes the model of them. @throws SCENARIO_UNFIT where it is no better than a constant */
  gather(time: number): Promise<Gathered>;
  /** Recorded situations, those that were held out not among them. */
  situations(): Promise<readonly TextSituation[]>;
  /** Of each situation, the value of each of its commands. */
  values(situations: readonly TextSituation[]): Promise<Float32Array[]>;
}

/** A simulated world: made of records, if it is made at all. */
export interface TextDream {
  /** As the last gathering left it. Each lives one episode at a time. */
  environments(): Promise<readonly LineEnvironment[]>;
  /** Keeps real episodes that were run already, those that were imitated, for it to be made of them, too. Absent: they are of no use to it. */
  remember?(episodes: readonly PlayedText[]): Promise<void>;
  /** Lives real episodes, keeps them, and makes the dream of all that are kept; `time` counts from 0. Absent: nothing is gathered. */
  gather?(time: number): Promise<Gathered>;
}

interface TextGroupParts {
  readonly learner: TextLearner;
  readonly algorithm: Pick<EstimatorEntry, 'estimate' | 'hasCritic'>;
  /** The real environment: each lives one episode at a time; as many as may be under way at once. */
  readonly environments: readonly LineEnvironment[];
  /** What is simulated in, in the modes that simulate. */
  readonly dream?: TextDream;
  /** Who says what choices are worth, in mode `value`. */
  readonly values?: TextValues;
  /** Where evaluations are run, likewise. */
  readonly evalEnvironments: readonly LineEnvironment[];
  /** Commands of a task's solution, which is imitated first; none where there is no solution. */
  readonly walkthrough: (task: ToolsTask) => readonly string[];
  readonly tasks: readonly ToolsTask[];
  readonly evalTasks: readonly ToolsTask[];
}

/** How a step went wrong in a dream: the first of these that is so. */
export type WayApart = 'unanswered' | 'state' | 'text' | 'commands' | 'end';

/** What the policy of the moment does from the same starts with the same draws, in the dream and in the real environment. */
export interface DreamCheck {
  readonly round: number;
  /** Pairs of episodes, one in either world. */
  readonly episodes: number;
  /** Steps from where nothing had differed yet, those included after which something did. */
  readonly steps: number;
  /** Pairs by how they came apart, if they did. */
  readonly apart: Readonly<Record<WayApart, number>>;
  /** Pairs by the first word of what was said when they came apart, and how: `open: unanswered`. */
  readonly wrong: Readonly<Record<string, number>>;
  readonly dreamWins: number;
  readonly realWins: number;
  /** Simulated wins whose commands win in the real environment, too. */
  readonly confirmedWins: number;
  /** Steps in the real environment; nothing is learned from them. */
  readonly realSteps: number;
  /** Rewards of the episodes by start; null if one failed or was not judged. */
  readonly simulated?: readonly (number | null)[];
  readonly real?: readonly (number | null)[];
}

export interface TextEvaluation {
  /** What the policy had behind it. */
  readonly after: 'nothing' | 'cloning' | 'rounds';
  readonly round: number;
  readonly realSteps: number;
  readonly simulatedSteps: number;
  readonly episodes: number;
  readonly wins: number;
  readonly meanLength: number;
  /** Like that of a check. */
  readonly rewards?: readonly (number | null)[];
}

/** All that must survive between rounds beside the learner. */
export interface TextProgress {
  round: number;
  /** Steps taken in the real environment: of walkthroughs that were imitated, of records, of rounds; none of evaluations. */
  realSteps: number;
  /** Steps taken in the simulation. */
  simulatedSteps: number;
  /** Choices that a value model was asked about; absent where none was. */
  valuedChoices?: number;
  cloned: boolean;
  /** Those of walkthroughs that were imitated. */
  clonedSteps: number;
  /** Simulated steps by who answered them. */
  readonly answeredBy: Record<string, number>;
  readonly gathered: Gathered[];
  readonly evaluations: TextEvaluation[];
  /** Of the dream: before its first round, and beside evaluations after simulated rounds. */
  readonly checks: DreamCheck[];
  /** By family, where tasks are taken by it. */
  readonly grown: Grown;
  /** What was found wrong, and after which round. */
  readonly alarms: { readonly round: number; readonly problem: string }[];
  /** Whether the last check found the wins of the dream, as it is made now, to be none: then it is not learned in. */
  isShut?: boolean;
}

export function newProgress(): TextProgress {
  return {
    round: 0,
    realSteps: 0,
    simulatedSteps: 0,
    cloned: false,
    clonedSteps: 0,
    answeredBy: {},
    gathered: [],
    evaluations: [],
    checks: [],
    grown: {},
    alarms: [],
  };
}

interface TextGroupPorts {
  readonly phase: OpenPhase;
  readonly signal: AbortSignal;
  tell(event: { readonly kind: string; readonly [key: string]: unknown }): void;
  /** For people, at once. */
  warn(problem: string): void;
  /** A safe point: may keep all, and may end the run by throwing. `isDue`: what was just done is not to be done again. */
  checkpoint(isDue?: boolean): Promise<void>;
}

export interface TextTraining {
  readonly settings: TextGroupSettings;
  readonly parts: TextGroupParts;
  readonly progress: TextProgress;
  readonly ports: TextGroupPorts;
}

/** Of an event of the journal. */
export function countersOf({ round, realSteps, simulatedSteps }: TextProgress): Record<string, number> {
  return { round, realSteps, syntheticSteps: simulatedSteps };
}

/** Says how many episodes were lost, and why the first of them was. */
export function tellLost({ warn }: Pick<TextGroupPorts, 'warn'>, played: readonly PlayedText[]): void {
  const lost = played.flatMap((one) => (one.lost === undefined ? [] : [one.lost]));
  if (lost.length > 0)
    warn(`${lost.length} of ${played.length} episodes were lost, and are left out: ${lost[0].message}`);
}

/** Keeps what was found wrong, and says so. */
export function raiseAlarm(
  progress: TextProgress,
  ports: Pick<TextGroupPorts, 'warn' | 'tell'>,
  problem: string,
): void {
  progress.alarms.push({ round: progress.round, problem });
  ports.warn(`Round ${progress.round}, ${problem}.`);
  ports.tell({ kind: 'alarm', ...countersOf(progress), problem });
}

/** `count` of them, evenly spaced; all where there are no more. */
export function evenly<T>(list: readonly T[], count: number): T[] {
  if (count >= list.length) return [...list];
  return Array.from({ length: count }, (_, i) => list[Math.floor((i * list.length) / count)]);
}
