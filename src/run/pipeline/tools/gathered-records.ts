// Real episodes that a training gathers for its dream, a file for each time, so that a run that goes on has them all.
//
//   records/000.jsonl      EpisodeRecord, a line each

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { reverieError } from '../../../core/errors.js';
import { Rng } from '../../../core/rng.js';
import {
  initialStateOf,
  realResponder,
  stateHash,
  type ToolsDomain,
  type ToolsPolicy,
  type ToolsTask,
} from '../../../env/index.js';
import { type EpisodeRecord, type ExperienceStep, livedSteps, statesOf } from '../../../replay/index.js';
import { ensureFolder, writeFileAtomic } from '../../../store/atomic-file.js';
import { planRow } from '../../../synth/index.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import { liveRowHere } from './live-row.js';
import type { ToolsParts } from './parts.js';

export interface GatherRequest {
  readonly context: JobContext<ToolsScenario>;
  readonly parts: ToolsParts;
  readonly agent: ToolsPolicy;
  readonly tasks: readonly ToolsTask[];
  readonly episodes: number;
  /** Counts from 0. */
  readonly time: number;
}

/** Lives and keeps the episodes of one time; tasks come in an order of their own, all of them before any comes again. */
export async function gatherRecords(request: GatherRequest): Promise<EpisodeRecord[]> {
  const { context, parts, agent, tasks, episodes, time } = request;
  const { scenario, signal } = context;
  const root = Rng.fromSeed(context.seed).split('gather');
  const order = root.permutation(tasks.length);
  const live = liveRowHere(context, { ...parts, agent }, { source: 'real', responder: realResponder(parts.domain) });
  const phase = context.progress.phase('gather', episodes, 'real episodes');
  const records: EpisodeRecord[] = [];
  for (let row = time * episodes; row < (time + 1) * episodes; row++) {
    signal.throwIfAborted();
    const plan = planRow(row, { seed: root.split('rows').uint32(), groupSize: 1, branchAt: 0 });
    const task = tasks[order[row % tasks.length]];
    records.push(await live({ plan, task, maxSteps: scenario.config.synth.maxSteps }, signal));
    phase.advance(1);
  }
  phase.end();
  await ensureFolder(join(context.out, 'records'));
  await writeFileAtomic(fileOf(context.out, time), records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  return records;
}

/** @throws CHECKPOINT_CORRUPT where the run's own file is gone or damaged */
export async function keptRecords(out: string, time: number): Promise<EpisodeRecord[]> {
  const path = fileOf(out, time);
  if (!existsSync(path)) throw reverieError('CHECKPOINT_CORRUPT', { path, problem: 'records of the run are missing' });
  try {
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
    return lines.map((line) => JSON.parse(line) as EpisodeRecord);
  } catch (error) {
    throw reverieError('CHECKPOINT_CORRUPT', { path, problem: (error as Error).message }, error);
  }
}

/** Steps as the store of experience has real ones: of no row of a job, and by no model. */
export function realSteps(domain: ToolsDomain, records: readonly EpisodeRecord[]): ExperienceStep[] {
  return records.flatMap((record) => {
    const task = domain.tasks.find(({ id }) => id === record.task)!;
    const states = statesOf(record, stateHash(initialStateOf(domain, task)));
    return livedSteps(record, states).map((step) => ({ ...step, row: -1, modelVersion: '' }));
  });
}

function fileOf(out: string, time: number): string {
  return join(out, 'records', `${String(time).padStart(3, '0')}.jsonl`);
}
