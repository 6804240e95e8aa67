// Dreamt transitions as datasets that other tools read, in the formats the scenario asks for.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { VectorEnvironment } from '../../env/index.js';
import type { ReplayBuffer } from '../../replay/index.js';
import { exportJsonl, exportMinari, exportParquet } from '../../synth/index.js';
import type { JobContext } from '../job.js';

/** Writes the datasets below the run's folder; answers their paths. */
export async function exportTransitions(
  buffer: ReplayBuffer,
  env: VectorEnvironment,
  context: JobContext,
): Promise<string[]> {
  const { config, hash } = context.scenario;
  const written: string[] = [];
  for (const format of config.synth.export) {
    const path = join(context.out, 'datasets', format === 'minari' ? 'minari' : `transitions.${format}`);
    // What an interrupted run left there is not whole.
    rmSync(path, { recursive: true, force: true });
    if (format === 'parquet') await exportParquet(buffer, path);
    else if (format === 'jsonl') await exportJsonl(buffer, path);
    else {
      await exportMinari(buffer, {
        root: path,
        datasetId: `${config.name}/dreamt-v0`,
        observationSpace: env.observationSpace,
        actionSpace: env.actionSpace,
        metadata: { scenario_hash: hash, seed: context.seed },
      });
    }
    written.push(path);
  }
  return written;
}
