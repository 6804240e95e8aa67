// Where an environment of numbers lives that cannot be read: in another process, on a server. It is asked to begin, to step, and to
// live an episode again; when it dies, all that was lived there is forgotten.

import type { VectorSpace } from '../../core/environment.js';

/** An episode as it was lived: what brings it back, in a new process as well. */
export interface Lived {
  readonly seed: number;
  readonly actions: readonly Float32Array[];
  /** The environment's stream was begun anew, with this seed, after so many steps. */
  readonly reseeds: readonly { readonly steps: number; readonly seed: number }[];
}

export type Request =
  | { readonly verb: 'reset'; readonly seed: number }
  | { readonly verb: 'step'; readonly action: Float32Array }
  | { readonly verb: 'replay'; readonly lived: Lived }
  | { readonly verb: 'close' };

/** What an environment answers; its failure is an answer too. Closing answers nothing. */
export type Answer = Moved | Failed | undefined;

export interface Moved {
  readonly observation: Float32Array;
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** Of a replay: steps taken before the episode ended, or all of them. */
  readonly steps: number;
  readonly info: Record<string, unknown>;
}

/** Type and message of the Python exception. */
export interface Failed {
  readonly failed: { readonly type: string; readonly message: string };
}

/** Where one environment lives. */
export interface Place {
  readonly spaces: PlaceSpaces;
  /** Which life of it this is, the first being 1: another one has forgotten all that was lived. */
  generation(): number;
  /** @throws PlaceLost, and what it takes to begin another life */
  ask(request: Request): Promise<Answer>;
  /** The process's id; undefined where none of ours runs. */
  pid(): number | undefined;
  close(): void;
  readonly faults: PlaceFaults;
}

export interface PlaceSpaces {
  readonly observation: VectorSpace;
  readonly action: VectorSpace;
  readonly maxEpisodeSteps: number | null;
}

/** What goes wrong in a place, as an error of the catalogue. */
export interface PlaceFaults {
  /** The environment itself failed. */
  failed(what: string, problem: string): Error;
  /** It died as often in a row, at one request. */
  died(times: number, problem: string, cause: unknown): Error;
  /** An episode that was lived again came out elsewhere. */
  otherwise(seed: number, steps: number): Error;
}

/** It ended, by itself or by another hand, before it answered. */
export class PlaceLost extends Error {}
