// Jobs of the product, run as users run them, for benchmarks of fidelity: a model made, then judged.

import { join } from 'node:path';
import { type FidelityReport, readFidelityReport } from '../src/fidelity/report.js';
import type { JobInputs } from '../src/run/job.js';
import type { JobName } from '../src/run/jobs.js';
import { launch } from '../src/run/launch.js';

export interface JobWish {
  readonly job: JobName;
  readonly scenario: string;
  readonly set?: readonly string[];
  readonly seed?: number;
  readonly workers?: number;
  readonly inputs?: JobInputs;
  readonly device?: 'native';
  readonly out: string;
}

/** Runs the job to its end; answers its folder. */
export async function runJob({ job, out, ...wish }: JobWish): Promise<string> {
  await launch(job, { ...wish, out, quiet: true, stream: process.stderr, command: `reverie ${job}` });
  return out;
}

/** Judges a model; answers the report. */
export async function judge(wish: Omit<JobWish, 'job'>): Promise<FidelityReport> {
  return readFidelityReport(join(await runJob({ ...wish, job: 'fidelity' }), 'fidelity.json'));
}
