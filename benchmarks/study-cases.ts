// Cases of a study that takes many sittings: each is a line of a file that the repository keeps, written as soon as it is
// measured. A case of the same name and settings is not measured again, by whatever commit.

import { existsSync, readFileSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { launch } from '../src/run/launch.js';
import type { TrainResult } from '../src/run/pipeline/train.js';
import { loadScenario } from '../src/run/scenario.js';
import type { BenchmarkContext } from './benchmark.js';

/** What tells cases of a study apart. */
export interface CaseName {
  readonly body: string;
  /** How it was trained, or what was judged. */
  readonly arm: string;
  readonly seed: number;
  /** Of all settings: a case of others is measured anew. */
  readonly hash: string;
  /** What it simulated and learned on, by the name of the flag; absent for the processor by ONNX Runtime. */
  readonly device?: 'native';
}

export type Point = readonly [steps: number, meanReturn: number];

/** One finished training run. */
export interface StudyCase extends CaseName {
  /** Null where the threshold was not reached. */
  readonly realStepsToThreshold: number | null;
  readonly realSteps: number;
  /** Mean of the last evaluation. */
  readonly lastReturn: number | null;
  /** Of every evaluation. */
  readonly points: readonly Point[];
  readonly wallSeconds: number;
  readonly shutRounds: number;
}

export class Study<Case extends CaseName = StudyCase> {
  private readonly path: string;
  private readonly cases: Case[];

  constructor(root: string, id: string) {
    this.path = join(root, 'benchmarks', 'studies', `${id}.jsonl`);
    const text = existsSync(this.path) ? readFileSync(this.path, 'utf8') : '';
    // The last line may have been cut off by a kill.
    this.cases = text.split('\n').flatMap((line) => parsed<Case>(line));
  }

  find({ body, arm, seed, hash, device }: CaseName): Case | undefined {
    const isIt = (one: Case) => one.body === body && one.arm === arm && one.seed === seed && one.device === device;
    return this.cases.find((one) => isIt(one) && one.hash === hash);
  }

  async keep(found: Case): Promise<void> {
    this.cases.push(found);
    await mkdir(dirname(this.path), { recursive: true });
    await appendFile(this.path, `${JSON.stringify(found)}\n`);
  }
}

function parsed<Case>(line: string): Case[] {
  try {
    return line === '' ? [] : [JSON.parse(line) as Case];
  } catch {
    return [];
  }
}

/** Area under a curve, as the mean return over its steps. */
export function areaOf(points: readonly Point[]): number {
  let area = 0;
  for (let i = 1; i < points.length; i++)
    area += ((points[i][1] + points[i - 1][1]) / 2) * (points[i][0] - points[i - 1][0]);
  return area / (points.at(-1)![0] - points[0][0]);
}

/** The study of the repository at `root`. What is quick measures nothing, and nothing of it is kept. */
export async function studyOf<Case extends CaseName = StudyCase>(
  root: string,
  id: string,
  quick: boolean,
): Promise<Study<Case>> {
  return new Study(quick ? await mkdtemp(join(tmpdir(), 'reverie-study-')) : root, id);
}

/** What a sitting is to measure: names and seeds from the environment, all unless given. */
export function chosen(all: readonly string[], variable: string, separator = ','): readonly string[] {
  const asked = process.env[variable];
  if (!asked) return all;
  const names = asked.split(separator).map((name) => name.trim());
  const unknown = names.filter((name) => !all.includes(name));
  if (unknown.length > 0) throw new Error(`${variable} names ${unknown.join(', ')}; there are: ${all.join(', ')}.`);
  return names;
}

/** What runs of this sitting dream and learn on: `native` or, unless given, `cpu`. */
export function askedDevice(): { readonly device?: 'native' } {
  const asked = process.env['REVERIE_BENCH_DEVICE'] || 'cpu';
  if (asked !== 'cpu' && asked !== 'native')
    throw new Error(`REVERIE_BENCH_DEVICE is ${asked}; there are: cpu, native.`);
  return asked === 'native' ? { device: asked } : {};
}

export interface AskedCase {
  /** Folder of `benchmarks/bodies`, unless `scenario` says another. */
  readonly body: string;
  readonly scenario?: string;
  readonly profile?: string;
  readonly arm: string;
  readonly seed: number;
  /** Real steps. */
  readonly budget: number;
  readonly set: readonly string[];
}

/** The case as it is kept, or measured now and kept. */
export async function measuredCase(
  study: Study,
  root: string,
  { body, scenario = join(root, 'benchmarks', 'bodies', body), profile, arm, seed, budget, set: own }: AskedCase,
  log: BenchmarkContext['log'],
): Promise<StudyCase> {
  const set = [`train.realSteps=${budget}`, 'train.stopAtThreshold=true', ...own];
  const { hash } = await loadScenario(scenario, { profile, set });
  const on = askedDevice();
  const kept = study.find({ body, arm, seed, hash, ...on });
  if (kept) return kept;
  const out = await mkdtemp(join(tmpdir(), 'reverie-study-'));
  try {
    const result = await launch<TrainResult>('train', {
      ...{ scenario, profile, set, seed, out: join(out, 'run'), quiet: true },
      ...{ stream: process.stderr, command: 'npm run bench', device: on.device ?? 'cpu' },
    });
    const { realStepsToThreshold, realSteps, wallSeconds, evaluations, dream } = result;
    const lastReturn = evaluations.at(-1)?.meanReturn ?? null;
    const points = evaluations.map((one): Point => [one.realSteps, Number(one.meanReturn.toFixed(2))]);
    const figures = { realStepsToThreshold, realSteps, lastReturn, wallSeconds, shutRounds: dream?.shutRounds ?? 0 };
    const found = { body, arm, seed, hash, ...on, ...figures, points };
    await study.keep(found);
    const steps = realStepsToThreshold ?? `not in ${realSteps}`;
    log(`${body}, ${arm}, seed ${seed}: ${steps} real steps, return ${lastReturn}, ${Math.round(wallSeconds)} s`);
    return found;
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}
