// Formats that transitions are exported in, by name: files or folders beside the replay buffer that a synthesis leaves. Ours are
// loaded when they are asked for, and a user's come in by the same door.

import { z } from 'zod';
import type { VectorEnvironment } from '../../core/environment.js';
import { type Entry, Registry } from '../../core/registry.js';
import type { EnvSpec } from '../../env/environments.js';
import type { SavedTransitions } from '../../replay/snapshot.js';
import type { ExportOptions } from './transitions.js';

/** What an export is told beside the rows. */
interface TransitionExportRequest extends ExportOptions {
  /** The file or folder to write; nothing is there. It is to appear whole or not at all. */
  readonly path: string;
  readonly scenario: string;
  readonly scenarioHash: string;
  readonly seed: number;
  /** The real environment, as the scenario has it. */
  readonly env: EnvSpec;
  readonly spaces: Pick<VectorEnvironment, 'observationSpace' | 'actionSpace' | 'maxEpisodeSteps'>;
}

/** Writes rows, which are read from disk as they are needed (`SavedTransitions.read`, oldest first). */
type WriteTransitions = (rows: SavedTransitions, request: TransitionExportRequest) => Promise<unknown>;

/** `name` is what `synth.export` gives. */
export interface TransitionExport extends Entry<WriteTransitions> {
  /** Name of the file or folder below `datasets/`; that of the export unless given. */
  readonly target?: string;
}

export const transitionExports = new Registry<TransitionExport>('transition export', [
  {
    name: 'parquet',
    summary: 'One table of all rows with their provenance, for pandas, DuckDB and `datasets`.',
    target: 'transitions.parquet',
    make: async () => (await import('./transitions.js')).exportParquet,
  },
  {
    name: 'minari',
    summary: "A dataset of Farama's Minari, an episode a branch.",
    make: async () => {
      const { exportMinari } = await import('./minari.js');
      return (rows, { path: root, scenario, scenarioHash: scenario_hash, seed, spaces, ...options }) => {
        const { observationSpace, actionSpace } = spaces;
        const metadata = { scenario_hash, seed };
        const datasetId = `${scenario}/simulated-v0`;
        return exportMinari(rows, { ...options, root, datasetId, observationSpace, actionSpace, metadata });
      };
    },
  },
]);

/** Names of formats that are registered now. */
export function transitionFormatSchema() {
  return z.enum(transitionExports.names() as [string, ...string[]]);
}
