// How a backend is made from records that a job has gathered.

import type { OpenPhase } from '../../core/progress.js';
import type { Rng } from '../../core/rng.js';
import type { ToolsDomain } from '../../env/index.js';
import type { EpisodeRecord, ExperienceStep } from '../../replay/index.js';

export interface FitRequest {
  readonly domain: ToolsDomain;
  /** Episodes of the real environment. */
  readonly episodes: readonly EpisodeRecord[];
  /** Their calls, in order. */
  readonly steps: readonly ExperienceStep[];
  /** The backend's section of `model`, as far as the scenario has one. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Exists, and is the backend's alone. */
  readonly folder: string;
  readonly rng: Rng;
  readonly signal: AbortSignal;
  readonly phase: OpenPhase;
}

export interface FittedBackend {
  /** What the section is to say now, over what it says. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** What was found, in a few words. */
  readonly about: string;
  /** Whether it is good enough to answer; until then it is left out of the dream. */
  readonly isReady: boolean;
}

/** The same request gives the same backend. @throws what the reason of the signal is, and storage errors */
export type FitBackend = (request: FitRequest) => Promise<FittedBackend>;
