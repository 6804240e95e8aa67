// A model of analogies on disk: what it was made of, how sure its answers are, and how right it was on what was kept from it.
//
//   analogy.json   sealed

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { canonicalJson } from '../../core/canonical-json.js';
import { describeIssues, reverieError } from '../../core/errors.js';
import { sha256 } from '../../core/hash.js';
import type { Json } from '../../core/json.js';
import { ensureFolder, writeFileAtomic } from '../../store/atomic-file.js';
import { openSealed, sealedText } from '../../store/sealed-json.js';
import { calibrationSchema } from '../sequence/calibration.js';
import { walksSchema } from './recorded-walks.js';

const FILE = 'analogy.json';

const count = z.int().min(0);

const contentsSchema = z.strictObject({
  format: z.literal('reverie-analogy'),
  formatVersion: z.literal(1),
  /** The domain it was made in. */
  domain: z.string(),
  walks: walksSchema,
  calibration: calibrationSchema,
  /** Of what was kept from it: how often it said that the game was won, and how often it was. */
  wins: z.strictObject({ said: count, right: count }),
  /** Share of what was kept from it that it got exactly right. */
  exactness: z.number().min(0).max(1),
});

export type AnalogyContents = Omit<z.infer<typeof contentsSchema>, 'format' | 'formatVersion'>;

export function versionOf({ walks, calibration, wins }: AnalogyContents): string {
  return `analogy:${sha256(canonicalJson({ walks, calibration, wins } as unknown as Json)).slice(0, 16)}`;
}

/** @throws STORAGE_FULL, STORAGE_FAILED */
export async function saveAnalogy(folder: string, contents: AnalogyContents): Promise<void> {
  await ensureFolder(folder);
  await writeFileAtomic(join(folder, FILE), sealedText({ format: 'reverie-analogy', formatVersion: 1, ...contents }));
}

/** @throws MODEL_FOLDER_INVALID for what is missing or damaged */
export async function loadAnalogy(given: string): Promise<AnalogyContents> {
  const folder = existsSync(join(given, 'model', FILE)) ? join(given, 'model') : given;
  const invalid = (problem: string, cause: unknown) => {
    const hint = 'Give a run of `reverie fit` with the backend analogy, or restore its folder from a copy.';
    return reverieError('MODEL_FOLDER_INVALID', { path: folder, problem, hint }, cause);
  };
  const text = await readFile(join(folder, FILE), 'utf8').catch((error: Error) => {
    throw invalid(`"${FILE}" cannot be read: ${error.message}.`, error);
  });
  try {
    const { format: _format, formatVersion: _version, ...contents } = contentsSchema.parse(openSealed(text));
    return contents;
  } catch (error) {
    const problem = error instanceof z.ZodError ? describeIssues(error) : (error as Error).message;
    throw invalid(`${FILE} is damaged: ${problem}.`, error);
  }
}
