// Training runs of agents of text as cases of a study (study-cases.ts): what `reverie train` came to in one arm and seed.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ReverieError } from '../src/core/errors.js';
import { launch } from '../src/run/launch.js';
import { loadAnyScenario } from '../src/run/scenario.js';
import type { TextTrainResult } from '../src/run/tools-results.js';
import type { BenchmarkContext } from './benchmark.js';
import type { CaseName, Study } from './study-cases.js';

export interface TextCase extends CaseName {
  /** On tasks that were never trained on: before anything, after imitation where there is any, and in the end. */
  readonly before: number;
  readonly imitated?: number;
  readonly success: number;
  readonly realSteps: number;
  readonly dreamtSteps: number;
  readonly wallSeconds: number;
  /** Each evaluation after the first. */
  readonly curve?: readonly { readonly realSteps: number; readonly dreamtSteps: number; readonly success: number }[];
  /** Of the last check of a dream beside the real environment: episodes, those that stayed alike to their end, and wins. */
  readonly check?: {
    readonly episodes: number;
    readonly alike: number;
    readonly dreamWins: number;
    readonly realWins: number;
  };
  /** A value model was no better than a constant, so that nothing was learned from it. */
  readonly isRefused?: true;
}

export interface TextSitting extends Pick<BenchmarkContext, 'log'> {
  readonly study: Study<TextCase>;
  /** Scenario by name or folder. */
  readonly scenario: string;
  readonly profile?: string;
}

export interface AskedText {
  /** What is played, for the case's name. */
  readonly body: string;
  readonly arm: string;
  readonly seed: number;
  readonly set: readonly string[];
}

/** The case as it is kept, or measured now and kept. */
export async function measuredText(
  { study, scenario, profile, log }: TextSitting,
  { body, arm, seed, set }: AskedText,
): Promise<TextCase> {
  const { hash } = await loadAnyScenario(scenario, { profile, set });
  const kept = study.find({ body, arm, seed, hash });
  if (kept !== undefined) return kept;
  const out = await mkdtemp(join(tmpdir(), 'reverie-study-'));
  try {
    const result = await launch<TextTrainResult>('train', {
      ...{ scenario, profile, set, seed, out: join(out, 'run'), quiet: true },
      ...{ stream: process.stderr, command: 'npm run bench' },
    });
    const found = { body, arm, seed, hash, ...figuresOf(result) };
    await study.keep(found);
    const { before, imitated, success, realSteps, wallSeconds } = found;
    const rates = [before, ...(imitated === undefined ? [] : [imitated]), success].map((rate) => rate.toFixed(3));
    log(`${body}, ${arm}, seed ${seed}: ${rates.join(' to ')}, ${realSteps} real steps, ${Math.round(wallSeconds)} s`);
    return found;
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}

/**
 * As `measuredText`, of a training by a value model; one that is refused leaves the policy as it was before its rounds.
 * @param lived a case of the same seed, which begins with the same policy
 */
export async function measuredOrRefused(sitting: TextSitting, asked: AskedText, lived?: TextCase): Promise<TextCase> {
  try {
    return await measuredText(sitting, asked);
  } catch (error) {
    if (!(error instanceof ReverieError) || error.code !== 'TEXT_VALUES_UNFIT' || lived === undefined) throw error;
    const { study, scenario, profile, log } = sitting;
    const { set, ...name } = asked;
    log(`${name.body}, ${name.arm}, seed ${name.seed}: ${error.message}`);
    const { hash } = await loadAnyScenario(scenario, { profile, set });
    const { check: _, before, imitated, ...rest } = lived;
    const left = { before, ...(imitated !== undefined && { imitated }), success: imitated ?? before };
    const found = { ...rest, ...left, ...name, hash, dreamtSteps: 0, isRefused: true } as const;
    await study.keep(found);
    return found;
  }
}

function figuresOf({ evaluations, checks, realSteps, dreamtSteps, wallSeconds }: TextTrainResult) {
  const imitated = evaluations.find(({ after }) => after === 'cloning')?.success.value;
  const check = checks.at(-1);
  const apart = Object.values(check?.apart ?? {}).reduce((sum, count) => sum + count, 0);
  return {
    before: evaluations[0].success.value!,
    ...(imitated != null && { imitated }),
    success: evaluations.at(-1)!.success.value!,
    ...{ realSteps, dreamtSteps, wallSeconds },
    curve: evaluations.slice(1).map(({ realSteps: real, dreamtSteps: dreamt, success: { value } }) => ({
      ...{ realSteps: real, dreamtSteps: dreamt, success: value! },
    })),
    ...(check && {
      check: {
        ...{ episodes: check.episodes, alike: check.episodes - apart },
        ...{ dreamWins: check.dreamWins, realWins: check.realWins },
      },
    }),
  };
}
