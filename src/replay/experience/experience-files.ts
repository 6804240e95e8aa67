// Where steps are kept, in order of arrival and never changed: in memory, or durably in a folder that has a file for real
// steps, one for dreamt ones, and one that names the model versions in quarantine.

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unpack } from 'msgpackr';
import { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import { ensureFolder, openSealed, sealedText, writeFileAtomic } from '../../core/files.js';
import type { ExperienceStep } from './experience.js';
import { StepFile } from './step-file.js';
import type { StepLog } from './step-log.js';

/** Why a model version's steps are left out. */
export interface QuarantineRecord {
  readonly modelVersion: string;
  readonly reason: string;
}

export interface ExperienceFiles {
  readonly real: StepLog;
  readonly synthetic: StepLog;
  readonly quarantined: readonly QuarantineRecord[];
  /** Durable once the promise resolves. */
  setQuarantined(records: readonly QuarantineRecord[]): Promise<void>;
}

const quarantineSchema = z.strictObject({
  format: z.literal('reverie-quarantine/1'),
  modelVersions: z.array(z.strictObject({ modelVersion: z.string().min(1), reason: z.string() })),
});

/** Files that are gone with the process. */
export function memoryFiles(): ExperienceFiles {
  return {
    real: new MemoryLog(),
    synthetic: new MemoryLog(),
    quarantined: [],
    setQuarantined: async () => undefined,
  };
}

/** Opens or begins the files in `folder`; one writer at a time. Throws FILE_INVALID, STORAGE_FAILED. */
export async function openFiles(folder: string): Promise<ExperienceFiles> {
  await ensureFolder(folder);
  const marks = join(folder, 'quarantine.json');
  const quarantined = await readQuarantine(marks);
  const real = await StepFile.open(join(folder, 'real.steps'));
  return {
    real,
    synthetic: await StepFile.open(join(folder, 'synthetic.steps')).catch(async (error) => {
      await real.close();
      throw error;
    }),
    quarantined,
    setQuarantined: (modelVersions) =>
      writeFileAtomic(marks, sealedText({ format: 'reverie-quarantine/1', modelVersions })),
  };
}

async function readQuarantine(path: string): Promise<readonly QuarantineRecord[]> {
  if (!existsSync(path)) return [];
  try {
    return quarantineSchema.parse(openSealed(await readFile(path, 'utf8'))).modelVersions;
  } catch (error) {
    throw reverieError(
      'FILE_INVALID',
      {
        problem: `The experience in "${path}" cannot be used: ${(error as Error).message}.`,
        hint: 'Restore the file from a copy, or name another folder and read the logs anew.',
      },
      error,
    );
  }
}

class MemoryLog implements StepLog {
  bytes = 0;
  private readonly steps: Uint8Array[] = [];

  get size(): number {
    return this.steps.length;
  }

  async append(packed: readonly Uint8Array[]): Promise<void> {
    for (const step of packed) {
      this.steps.push(step);
      this.bytes += step.length;
    }
  }

  read(number: number): ExperienceStep {
    return unpack(this.steps[number]);
  }

  async close(): Promise<void> {}
}
