// What a run knows of folders, and who opens what lies in them, for judging models of numbers.

import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Json } from '../../core/canonical-json.js';
import { ReverieError } from '../../core/errors.js';
import { WorkerPool } from '../../core/pool.js';
import { poolTask } from '../../core/pool-task.js';
import type { ChunkAddress, MeasureOptions } from '../../fidelity/measure.js';
import type { FidelitySetup, OpenedSubjects } from '../../fidelity/section.js';
import type { VectorHost } from '../../fidelity/vector/ground.js';
import { openVectorSubjects } from '../../fidelity/vector/opening.js';
import type { Scenario } from '../../kinds/vector.js';
import { readRunRecord } from '../run-folder.js';
import { broughtModel, findInput, keptPolicies, learnerFor, plannerOf, recordsOf, resolvedSpec } from './inputs.js';

export const vectorHost: VectorHost = {
  ...{ find: findInput, ownModel: broughtModel, environment: resolvedSpec, records: recordsOf, learner: learnerFor },
  ...{ planner: plannerOf, keptLearners: keptPolicies, trainingFolders: (model: string) => trainingFolders(model) },
};

/**
 * Folders of transitions that a model was made from, as far as runs say: those that lie beside it, those its run was given,
 * and those of the model that it continues.
 *
 * @param model a world model's folder, or a run that holds one
 */
export function trainingFolders(model: string, known: ReadonlySet<string> = new Set()): string[] {
  const folder = resolve(model);
  if (known.has(folder) || !existsSync(folder)) return [];
  const seen = new Set([...known, folder]);
  // `model` of a run, or `checkpoint/model`.
  const places = [folder, dirname(folder), dirname(dirname(folder))];
  const run = places.find((place) => readRunRecord(place) !== undefined) ?? folder;
  const { data, model: earlier } = readRunRecord(run)?.inputs ?? {};
  const named = data !== undefined && existsSync(data) ? transitionsIn(data) : [];
  const before = earlier === undefined ? [] : trainingFolders(earlier, seen);
  return [...new Set([...transitionsIn(run), ...named, ...before])];
}

function transitionsIn(folder: string): string[] {
  try {
    const found = findInput({ data: folder }, 'data');
    return found === undefined ? [] : [resolve(found)];
  } catch (error) {
    // A model need not lie where transitions do.
    if (error instanceof ReverieError && error.code === 'INPUT_MISSING') return [];
    throw error;
  }
}

interface ChunkInput {
  readonly setup: FidelitySetup<Scenario>;
  readonly address: ChunkAddress;
}

/** Of the setup that this thread was first asked for: a pool has but one. */
let opened: Promise<OpenedSubjects> | undefined;

export const judgeChunkTask = poolTask(
  import.meta.url,
  'judgeChunkTask',
  async ({ setup, address }: ChunkInput, { stop }): Promise<readonly Json[]> => {
    if (Atomics.load(stop, 0) === 1) return [];
    opened ??= openVectorSubjects(setup, vectorHost);
    const { instruments } = (await opened).subjects[address.subject];
    return instruments.find(({ id }) => id === address.instrument)!.measure(address.chunk);
  },
);

/** Threads that measure chunks. The truth has to lie in the run's folder already: threads that found none would each record it. */
export function fidelityThreads(setup: FidelitySetup<Scenario>, workers: number) {
  const pool = new WorkerPool({ workers });
  /** Throws what opening or measuring threw, and the reason of `signal`. */
  const measureChunk: NonNullable<MeasureOptions['measureChunk']> = async (address, signal) => {
    const label = `chunk ${address.chunk} of ${address.instrument}`;
    const rows = await pool.run(judgeChunkTask, () => ({ setup, address }), { signal, label });
    signal?.throwIfAborted();
    return rows;
  };
  return { measureChunk, close: () => pool.close() };
}
