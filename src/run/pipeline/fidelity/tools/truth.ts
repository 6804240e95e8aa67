// What dreams of tools are held against.

import type { ToolsQuestion, TrueSequence, TruthReport } from '../../../../fidelity/index.js';

export interface ToolsTruth {
  readonly report: TruthReport;
  readonly questions: readonly ToolsQuestion[];
  /** Real episodes to be carried out in the dream. */
  readonly sequences: readonly TrueSequence[];
  /** Who answers by what is also the truth; absent where nobody does. */
  readonly truthBackend?: string;
  /** What cannot be compared, and why. */
  readonly notes: readonly string[];
}

/** Calls of an episode that is worth carrying out again. */
export const LEAST_CALLS = 2;

/** Says it where there are not as many questions as were wanted. */
export function fewer(found: number, wanted: number): string[] {
  return found < wanted ? [`There are ${found} different calls to ask about, not the ${wanted} that were wanted.`] : [];
}
