// Puts what computes into worker threads: environments of family `vector`. Those of tools and text wait for others and stay
// on the event loop (their rules have a sandbox of their own).

import type { Servable } from '../../run/index.js';
import { defaultWorkers, WorkerHost, type WorkerHostOptions } from './worker-host.js';

export interface Hosting {
  readonly served: readonly Servable[];
  /** None where nothing computes, or no workers are wanted. */
  readonly host?: WorkerHost;
  /** Closes what is served, and ends the threads. */
  close(): Promise<void>;
}

/**
 * @param options  `workers` 0: everything lives in this thread
 * @throws WORKERS_INVALID; what was opened is closed then
 */
export async function hosted(opened: readonly Servable[], options: WorkerHostOptions = {}): Promise<Hosting> {
  const { workers = defaultWorkers() } = options;
  const closeAll = async () => {
    for (const one of opened) await one.close();
  };
  if (workers === 0 || !opened.some(({ blueprint }) => blueprint)) return { served: opened, close: closeAll };
  const host = await startedHost({ ...options, workers }, closeAll);
  const served = opened.map((one): Servable => {
    if (one.blueprint === undefined) return one;
    host.add(one.name, one.blueprint);
    return { ...one, make: () => host.make(one.name) };
  });
  const close = async () => {
    await host.close();
    await closeAll();
  };
  return { served, host, close };
}

async function startedHost(options: WorkerHostOptions, onFailure: () => Promise<void>): Promise<WorkerHost> {
  try {
    return new WorkerHost(options);
  } catch (error) {
    await onFailure();
    throw error;
  }
}

/** Numbers of a host, for metrics. */
export function hostGauges({ stats }: WorkerHost): Record<string, number> {
  const { workers, environments, queued, underWay, steps, restarts, batches } = stats;
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return {
    workers,
    worker_environments: sum(environments),
    worker_requests_queued: sum(queued),
    worker_requests_under_way: sum(underWay),
    worker_steps: sum(steps),
    worker_restarts: sum(restarts),
    model_batches: batches.batches,
    model_batch_rows: batches.rows,
  };
}
