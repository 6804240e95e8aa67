// What early experience gives to learn from (2510.08558): what follows each action, and why the expert's is better.

import type { Cost } from '../../core/cost.js';
import type { Message } from '../../env/tools/message.js';
import type { ToolsAction } from '../../env/tools/tools-family.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import type { Source } from '../../replay/transition.js';

interface RowBase {
  /** `episode:step:k`, or `episode:step:reflection`: equal work has equal ids, so that a stopped job goes on. */
  readonly id: string;
  readonly episode: string;
  readonly task: string;
  readonly family: string;
  readonly split: EpisodeRecord['split'];
  /** Number of the agent's turn within the episode. */
  readonly step: number;
  readonly cost: Cost;
}

/** One transition to predict: state, action, what is seen next. */
export interface WorldModelRow extends RowBase {
  readonly kind: 'world-model';
  /** 0: the expert's action; 1 to K: alternatives. */
  readonly k: number;
  /** All that the agent had seen, the policy first: the state as a text. */
  readonly history: readonly Message[];
  readonly action: ToolsAction;
  /** What is seen next: answers of tools, or of the user; empty where the conversation ended. */
  readonly next: readonly Message[];
  readonly terminated: boolean;
  readonly source: Source;
  /** Who answered, each once. */
  readonly backends: readonly string[];
  readonly modelVersions: readonly string[];
  /** Least of the answers; null where nobody can say (a simulated user). */
  readonly confidence: number | null;
}

/** Thoughts before an action: why it is better than what else could be done. */
export interface ReflectionRow extends RowBase {
  readonly kind: 'reflection';
  readonly history: readonly Message[];
  /** The expert's. */
  readonly action: ToolsAction;
  readonly reflection: string;
  /** Ids of the rows it was written from. */
  readonly contrasted: readonly string[];
  readonly modelVersion: string;
}

/** Something that was left out, and why. */
export interface SkippedRow extends RowBase {
  readonly kind: 'skipped';
  readonly reason: string;
}

export type EarlyExperienceRow = WorldModelRow | ReflectionRow | SkippedRow;
