// A model made of records on disk: one sealed file of what was recorded, how sure its answers are, and how right it was on what was kept
// from it.

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Json } from '../../core/canonical-json.js';
import { canonicalJson, sha256 } from '../../core/canonical-json.js';
import { describeIssues, reverieError } from '../../core/errors.js';
import { ensureFolder, openSealed, sealedText, writeFileAtomic } from '../../core/files.js';
import { type Calibration, calibrationSchema } from './calibration.js';

/** What such a model is, whatever the form of its records. */
export interface RecordedContents<Walks = object> {
  /** The domain it was made in. */
  readonly domain: string;
  readonly walks: Walks;
  readonly calibration: Calibration;
  /** Share of what was kept from it that it got exactly right. */
  readonly exactness: number;
}

type Own<C> = Omit<C, Exclude<keyof RecordedContents, 'walks'>>;

export class ModelFile<C extends RecordedContents> {
  private readonly file: string;
  private readonly head: { readonly format: string; readonly formatVersion: number };
  private readonly schema: z.ZodType<object>;

  /**
   * @param backend  names the file, too
   * @param own  schemas of its records, and of what else it has
   */
  constructor(
    private readonly backend: string,
    own: { readonly [Key in keyof Own<C>]: z.ZodType<Own<C>[Key]> },
  ) {
    this.file = `${backend}.json`;
    this.head = { format: `reverie-${backend}`, formatVersion: 1 };
    this.schema = z.strictObject({
      format: z.literal(this.head.format),
      formatVersion: z.literal(1),
      domain: z.string(),
      calibration: calibrationSchema,
      exactness: z.number().min(0).max(1),
      ...own,
    });
  }

  /** Changes whenever an answer could. */
  versionOf({ domain: _domain, exactness: _exactness, ...answering }: C): string {
    return `${this.backend}:${sha256(canonicalJson(answering as unknown as Json)).slice(0, 16)}`;
  }

  /** @throws STORAGE_FULL, STORAGE_FAILED */
  async save(folder: string, contents: C): Promise<void> {
    await ensureFolder(folder);
    await writeFileAtomic(join(folder, this.file), sealedText({ ...this.head, ...contents }));
  }

  /** @param given  the model's folder, or a run that made it. @throws MODEL_FILE_INVALID for what is missing or damaged */
  async load(given: string): Promise<C> {
    const hint = `Give a run of \`reverie fit\` with the backend ${this.backend}, or restore its folder from a copy.`;
    const read = await readSealed(modelFolder(given, this.file), this.file, { schema: this.schema, hint });
    const { format: _format, formatVersion: _version, ...contents } = read as C & typeof this.head;
    return contents as unknown as C;
  }
}

/** Both places where a model's file may lie, of what a user named: the model's folder, or a run that made it. */
export function placesOf(model: string, file: string): string[] {
  return [`${model}/${file}`, `${model}/model/${file}`];
}

/** The one of the two that is there. */
export function modelFolder(given: string, file: string): string {
  const inRun = join(given, 'model');
  return existsSync(join(inRun, file)) ? inRun : given;
}

/** @throws MODEL_FILE_INVALID for a file that is missing or damaged */
export async function readSealed<T>(
  folder: string,
  file: string,
  { schema, hint }: { readonly schema: z.ZodType<T>; readonly hint: string },
): Promise<T> {
  const invalid = (problem: string, cause: unknown) =>
    reverieError(
      'MODEL_FILE_INVALID',
      { problem: `World model "${folder}" cannot be loaded: ${problem}`, hint },
      cause,
    );
  const text = await readFile(join(folder, file), 'utf8').catch((error: Error) => {
    throw invalid(`"${file}" cannot be read: ${error.message}.`, error);
  });
  try {
    return schema.parse(openSealed(text));
  } catch (error) {
    const problem = error instanceof z.ZodError ? describeIssues(error) : (error as Error).message;
    throw invalid(`${file} is damaged: ${problem}.`, error);
  }
}
