// An exact table on disk: manifest.json and tables.f64.

import { z } from 'zod';
import { describeIssues } from '../../core/errors.js';
import type { TabularDynamics } from '../../env/index.js';
import { fileHashesSchema, folderInvalid, readManifest, readModelPart, writeModelFolder } from '../model-folder.js';

export const TABULAR_FORMAT = 'reverie-tabular';
const TABLES = 'tables.f64';

const manifestSchema = z.strictObject({
  format: z.literal(TABULAR_FORMAT),
  formatVersion: z.literal(1),
  modelVersion: z.string(),
  states: z.int().min(1).max(1e6),
  actions: z.int().min(1).max(1e6),
  files: fileHashesSchema,
});

export async function saveTables(folder: string, dynamics: TabularDynamics, modelVersion: string): Promise<void> {
  const { states, actions } = dynamics;
  const manifest = { format: TABULAR_FORMAT, formatVersion: 1, modelVersion, states, actions };
  await writeModelFolder(folder, manifest, { [TABLES]: tableBytes(dynamics) });
}

/** Throws MODEL_FOLDER_INVALID unless the folder is whole. */
export async function loadTables(folder: string): Promise<TabularDynamics> {
  const parsed = manifestSchema.safeParse(await readManifest(folder));
  if (!parsed.success) throw folderInvalid(folder, `its manifest is not acceptable: ${describeIssues(parsed.error)}`);
  const { states, actions, files } = parsed.data;
  const bytes = await readModelPart(folder, TABLES, files[TABLES] ?? '');
  const cells = states * actions * states;
  const tables = new Float64Array(bytes.slice().buffer);
  if (tables.length !== 2 * cells + 2 * states) throw folderInvalid(folder, `"${TABLES}" does not fit its manifest.`);
  const [reward, terminal, start] = [cells, 2 * cells, 2 * cells + states];
  return {
    states,
    actions,
    transition: tables.slice(0, reward),
    reward: tables.slice(reward, terminal),
    terminal: Uint8Array.from(tables.subarray(terminal, start)),
    start: tables.slice(start),
  };
}

/** Transition, reward, terminal and start one after the other, float64 little-endian. */
export function tableBytes({ transition, reward, terminal, start }: TabularDynamics): Uint8Array {
  const tables = Float64Array.from([transition, reward, terminal, start].flatMap((table) => Array.from(table)));
  return new Uint8Array(tables.buffer);
}
