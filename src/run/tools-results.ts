// What jobs on scenarios of family `tools` answer. They become `result.json`, as all results do.

import type { Cost } from '../core/cost.js';
import type { Panel } from '../core/evaluation-set.js';
import type { Report } from '../core/report.js';
import type { Deficit } from '../synth/signals/deficits.js';
import type { DreamCheck, Gathered, TextEvaluation, TextMode } from '../training/text-training.js';
import type { BackendFitReport } from '../worldmodel/tools/backend-model.js';
import type { JobResult } from './job.js';

/** Rates with their 95 % intervals (Wilson). */
export interface Rate {
  readonly value: number | null;
  readonly low: number;
  readonly high: number;
  readonly of: number;
}

export interface ShadowResult {
  /** Calls that were compared. */
  readonly steps: number;
  readonly transitionError: Omit<Rate, 'of'>;
  readonly observationError: Omit<Rate, 'of'>;
  readonly rewardError: Omit<Rate, 'of'>;
  /** Largest number of steps after which the state is wrong with no more than the tolerated probability. */
  readonly trustHorizon: number;
}

/** Episodes of an agent in the real environment. */
export interface RealEpisodesResult extends JobResult {
  readonly job: 'collect' | 'eval';
  readonly family: 'tools';
  readonly data: string;
  /** Folder of the episodes as logs that `experience.logs` reads; null where none are written. */
  readonly logs: string | null;
  readonly episodes: number;
  readonly steps: number;
  readonly success: Rate | null;
  readonly abstained: number;
  readonly failed: Readonly<Record<string, number>>;
  /** What the first of each of them was told; absent where none failed. */
  readonly failedFor?: Readonly<Record<string, string>>;
  /** Mean reward of each task's judged episodes. */
  readonly byTask: Readonly<Record<string, number>>;
  readonly cost: Cost;
  readonly spent: Cost;
  readonly stoppedBy: string | null;
  /** A policy's own word on what it chose by; absent for agents of other kinds. */
  readonly policy?: TextPolicyNote;
}

/** What is to be said beside a policy's figures. */
export function remarkOn({ choosesAmong }: TextPolicyNote, who = 'It'): string {
  return `${who} chooses among ${choosesAmong}: its success is not that of an agent that writes its own.`;
}

export interface TextPolicyNote {
  readonly version: string;
  /** It was shown what there is to choose from: not to be printed beside a free-text figure without saying so. */
  readonly choosesAmong: 'admissible commands';
}

/** A policy of text that learned by group-relative policy gradients. */
export interface TextTrainResult extends JobResult {
  readonly job: 'train';
  readonly family: 'tools';
  readonly panel: Panel;
  readonly mode: TextMode;
  readonly algorithm: string;
  readonly policy: TextPolicyNote;
  readonly parameters: number;
  /** Folder of the last checkpoint. */
  readonly checkpoint: string;
  /** Version of the domain: rules and games. */
  readonly domain: string;
  readonly rounds: number;
  /** Steps lived in the real environment: of walkthroughs that were imitated (`clonedSteps`), of records, of rounds. */
  readonly realSteps: number;
  readonly dreamtSteps: number;
  /** Choices that a value model was asked about; absent where there is none. */
  readonly valuedChoices?: number;
  readonly clonedSteps: number;
  /** Dreamt steps by who answered them. */
  readonly answeredBy: Readonly<Record<string, number>>;
  readonly gathered: readonly Gathered[];
  readonly checks: readonly DreamCheck[];
  /** What was found wrong while it learned. */
  readonly alarms: readonly { readonly round: number; readonly problem: string }[];
  readonly evaluations: readonly (Omit<TextEvaluation, 'wins' | 'episodes'> & { readonly success: Rate })[];
  /** File of HTML in which the last dream is played; absent where there is none, or its world cannot be taken along. */
  readonly page?: string;
  /** File of the HTML report. */
  readonly report: string;
}

/** One way of training an agent of text, over all seeds, in their order. */
export interface TextArmSummary {
  readonly arm: string;
  /** Unseen tasks won at the end of training, all seeds together. */
  readonly success: Rate;
  readonly bySeed: readonly number[];
  /** After imitation; null where nothing was imitated. */
  readonly imitated: readonly (number | null)[];
  readonly realSteps: readonly number[];
  readonly dreamtSteps: readonly number[];
  readonly wallSeconds: number;
}

/** What a dream was worth to an agent of text, beside as many rounds in the exact rules: by seed. */
export interface TextComparison {
  /** The dream, and the exact rules. */
  readonly arms: readonly TextArmSummary[];
  /** Success in the exact rules once at least as many real steps were lived as the dream took in all; null where that was never judged. */
  readonly realForAsMany: readonly (number | null)[];
  /** Real steps after which the exact rules had led to as many wins as the dream in the end ÷ the dream's; null where they did not. */
  readonly stepsRatios: readonly (number | null)[];
}

export interface TextQuickstartResult extends JobResult, TextComparison {
  readonly job: 'quickstart';
  readonly family: 'tools';
  readonly panel: Panel;
  /** File of the HTML report. */
  readonly report: string;
  /** What the table and the report are made from. */
  readonly reportInput: Report;
}

/** A backend of the router that learned from records. */
export interface BackendFitResult extends JobResult {
  readonly job: 'fit';
  readonly family: 'tools';
  readonly backend: string;
  /** Folder of the model. */
  readonly model: string;
  readonly modelVersion: string;
  /** Recorded episodes that it was given. */
  readonly episodes: number;
  /** Share of held-out steps that it got exactly right, and whether that is enough for it to be used. */
  readonly exactness: number;
  readonly isReady: boolean;
  readonly report: BackendFitReport;
  readonly panel: Panel;
}

/** What came of a suite of probes. */
export interface SuiteResult {
  readonly passed: boolean;
  /** Share of probes passed. */
  readonly rate: number;
  /** Failures by what was done instead. */
  readonly faults: Readonly<Record<string, number>>;
}

/** What came of trying to be rewarded for nothing. */
export interface HackerResult {
  readonly passed: boolean;
  /** Episodes that were played for it, in so many tasks. */
  readonly plays: number;
  readonly tasks: number;
  readonly tricks: readonly {
    readonly task: string;
    /** What was done, turn by turn. */
    readonly moves: readonly string[];
    readonly reward: number;
    readonly by: 'judge' | 'simulator';
    /** What exact checks say to it. */
    readonly truth: string;
  }[];
}

/** What the gates before rewards found. */
export interface AuditResult extends JobResult {
  readonly job: 'audit';
  readonly family: 'tools';
  readonly mustFail: {
    readonly passed: boolean;
    readonly rate: Rate;
    readonly byKind: Readonly<Record<string, Rate>>;
    readonly failures: readonly { readonly probe: string; readonly problem: string }[];
    /** File with all of it. */
    readonly report: string;
  };
  /** Tasks that are not fit to be rewarded, and why. */
  readonly tasks: readonly { readonly task: string; readonly problem: string }[];
  /** Calls that a simulator must answer; null where the domain names none. */
  readonly mustSucceed: {
    readonly passed: boolean;
    readonly rate: Rate;
    /** Failures by what was done instead: refused, without an answer, silent, untrue and so on. */
    readonly faults: Readonly<Record<string, number>>;
    readonly failures: readonly { readonly probe: string; readonly problem: string }[];
    readonly report: string;
  } | null;
  /** Whether reward can be had for nothing; null where exact rules alone decide, or it was not tried. */
  readonly hacker: HackerResult | null;
  /** null in a scenario without a judge. */
  readonly judge: {
    readonly version: string;
    readonly passed: boolean;
    /** Why its rewards are refused; null if they are not. */
    readonly refusal: string | null;
    readonly falsePositive: Rate;
    readonly falseNegative: Rate;
    readonly abstention: Rate;
    readonly flip: Rate;
    readonly report: string;
  } | null;
  readonly spent: Cost;
}

export interface ExportResult extends JobResult {
  readonly job: 'export';
  readonly family: 'tools';
  /** Folder the episodes were read from. */
  readonly data: string;
  readonly datasets: readonly string[];
}

export interface SynthEpisodesResult extends JobResult {
  readonly job: 'synth';
  readonly family: 'tools';
  /** Folder of the datasets. */
  readonly data: string;
  readonly datasets: readonly string[];
  readonly episodes: number;
  /** Episodes that went into the datasets, and why the others did not. */
  readonly accepted: number;
  readonly rejected: Readonly<Record<string, number>>;
  /** Turns of the agent that are not to be learnt, by the filter that removed them. */
  readonly removed: readonly {
    readonly filter: string;
    readonly episodes: number;
    readonly turns: number;
  }[];
  /** Rows that no episode came of, by error code. */
  readonly failed: Readonly<Record<string, number>>;
  /** What the first of each of them was told; absent where none failed. */
  readonly failedFor?: Readonly<Record<string, string>>;
  readonly steps: number;
  /** Share of judged episodes that succeeded; null if none was judged. */
  readonly success: Rate | null;
  /** Episodes that could not be judged. */
  readonly abstained: number;
  /** Calls answered by each backend of the router. */
  readonly answeredBy: Readonly<Record<string, number>>;
  /** Of these: refused, so that the agent was shown an error of the environment; and repaired after one refusal. */
  readonly refusedOf: Readonly<Record<string, number>>;
  readonly repairedOf: Readonly<Record<string, number>>;
  /** Walks without a task of their own, by what became of them; absent where there were none. */
  readonly walks?: Readonly<Record<string, number>>;
  /** Failed episodes by what was done in the step that lost them, where that is known. */
  readonly lostBy: Readonly<Record<string, number>>;
  /** The same by what the solution would have done there, most first; with success on tasks that need it and on others. */
  readonly deficits: readonly Deficit[];
  /** Episodes that are written as examples to imitate (`quality.imitation`). */
  readonly imitated: number;
  /** What the episodes cost when they were made; answers from a cache count as when they were first asked. */
  readonly cost: Cost;
  /** What this run itself spent. */
  readonly spent: Cost;
  /** The budget that ended the job before its last row; null if none did. */
  readonly stoppedBy: string | null;
  /** Whether the simulator passed the must-fail suite; null where none was asked for. */
  readonly mustFail: SuiteResult | null;
  /** Whether it does what is possible; null where that was not asked, or nothing could be. */
  readonly mustSucceed: SuiteResult | null;
  /** Whether reward could be had for nothing; null where exact rules alone decide, or it was not tried. */
  readonly hacker: HackerResult | null;
  /** What shadow steps found: shares of wrong states, observations and rewards, and the steps that may be trusted. */
  readonly shadow: ShadowResult | null;
  readonly newTasks: number;
  readonly report: string;
}
