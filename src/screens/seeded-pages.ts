// Pages that tasks are done on, and tasks that a seed sets anew: which seeds each split has, and what is drawn by one.

import { contentHash } from '../core/canonical-json.js';
import type { ScreenState } from '../env/screens/screen-state.js';
import type { ToolsTask } from '../env/tools/domain.js';
import type { ActGame } from '../env/tools/rules-responder.js';
import type { AppSpec } from './page/page-browser.js';

/** A page that a task is done on. */
export interface ScreenPage extends ActGame {
  /** Absolute path of the HTML file; empty for a page of an application. */
  readonly file: string;
  readonly app?: AppSpec;
  readonly seed: number;
  /** The next action of a solution of this task; undefined where it is done, or not known how. */
  readonly solve?: (screen: ScreenState) => string | undefined;
}

/** First seed of each split. */
const FIRST_SEED: Readonly<Record<NonNullable<ToolsTask['split']>, number>> = {
  train: 0,
  validation: 1_000_000,
  test: 2_000_000,
};

/** What a page is beside its name, its seed and where these put it. */
export type SeededPage = Pick<ScreenPage, 'file' | 'app' | 'solve'>;

/**
 * Pages `NAME.SEED` of family `NAME`, so many seeds of each name and split.
 * @param pageOf what the page of a name and seed is
 */
export function seededPages(
  names: readonly string[],
  seeds: number,
  pageOf: (name: string, seed: number) => SeededPage,
): ScreenPage[] {
  const splits = Object.entries(FIRST_SEED) as [keyof typeof FIRST_SEED, number][];
  return names.flatMap((name) =>
    splits.flatMap(([split, first]) =>
      Array.from({ length: seeds }, (_, i) => {
        const seed = first + i;
        return { id: `${name}.${seed}`, seed, family: name, split, tags: [name], ...pageOf(name, seed) };
      }),
    ),
  );
}

/** A whole number from 0 to below another, which follows from the seed and from what it is for. */
export function drawBySeed(below: number, seed: number, what: string): number {
  return Number.parseInt(contentHash({ seed, what }).slice(0, 8), 16) % below;
}

/** An entry of a list, likewise. */
export function pickBySeed<T>(list: readonly T[], seed: number, what: string): T {
  return list[drawBySeed(list.length, seed, what)];
}
