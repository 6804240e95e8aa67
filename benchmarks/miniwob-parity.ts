// Do MiniWoB++'s pages come out in jsdom as in Chromium? In every task that is offered in jsdom, each seed's solution (where the pack has one)
// and a walk of chance are done in both, and after each action goal, focus, every element, reward and end are compared. A task counts
// when nothing differed. MINIWOB_TASKS names some tasks, MINIWOB_SEEDS how
// many seeds of each.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { wilson } from '../src/core/statistics.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { compareTask, openPair, type SeedFound } from './miniwob-pages.js';

const SEEDS = 50;
const STEPS = 4;

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const module = pathToFileURL(join(root, 'packs', 'miniwob', 'tasks.mjs')).href;
  const { IN_JSDOM } = (await import(module)) as { readonly IN_JSDOM: readonly string[] };
  const asked = process.env.MINIWOB_TASKS?.split(',') ?? IN_JSDOM;
  const names = quick ? asked.slice(0, 2) : asked;
  const seeds = quick ? 1 : Number(process.env.MINIWOB_SEEDS ?? SEEDS);
  const tasks: Record<string, object> = {};
  let equal = 0;
  for (const [at, name] of names.entries()) {
    const found = await compared(root, name, seeds);
    const differing = found.filter(({ difference }) => difference !== undefined);
    if (differing.length === 0) equal += 1;
    tasks[name] = { ...totals(found), differing };
    log(`${at + 1}/${names.length} ${name}: ${seeds - differing.length} of ${seeds} seeds alike`);
  }
  const { low, high } = wilson(equal, names.length);
  const version = (name: string) => createRequire(import.meta.url)(`${name}/package.json`).version as string;
  const versions = { jsdom: version('jsdom'), 'playwright-core': version('playwright-core') };
  return { value: equal / names.length, low, high, n: names.length, raw: { seeds, tasks }, versions };
}

async function compared(root: string, name: string, seeds: number): Promise<SeedFound[]> {
  const pair = await openPair(root, [name], seeds);
  try {
    return Array.from({ length: seeds }, (_, seed) => compareTask(pair, `${name}.${seed}`, STEPS));
  } finally {
    pair.close();
  }
}

function totals(found: readonly SeedFound[]): { readonly screens: number; readonly unreachable: number } {
  const sum = (key: 'screens' | 'unreachable') => found.reduce((total, one) => total + one[key], 0);
  return { screens: sum('screens'), unreachable: sum('unreachable') };
}
