// Cases of a study that takes many sittings: each is a line of a file that the repository keeps, written as soon as it is
// measured. A case of the same name and settings is not measured again, by whatever commit.

import { existsSync, readFileSync } from 'node:fs';
import { appendFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** One finished training run. */
export interface StudyCase {
  readonly body: string;
  readonly arm: string;
  readonly seed: number;
  /** Of the scenario with the arm's settings: a case of another is measured anew. */
  readonly hash: string;
  /** Null where the threshold was not reached. */
  readonly realStepsToThreshold: number | null;
  readonly realSteps: number;
  /** Mean of the last evaluation. */
  readonly lastReturn: number | null;
  readonly wallSeconds: number;
  readonly shutRounds: number;
}

export type CaseName = Pick<StudyCase, 'body' | 'arm' | 'seed' | 'hash'>;

export class Study {
  private readonly path: string;
  private readonly cases: StudyCase[];

  constructor(root: string, id: string) {
    this.path = join(root, 'benchmarks', 'studies', `${id}.jsonl`);
    const text = existsSync(this.path) ? readFileSync(this.path, 'utf8') : '';
    // The last line may have been cut off by a kill.
    this.cases = text.split('\n').flatMap(parsed);
  }

  find({ body, arm, seed, hash }: CaseName): StudyCase | undefined {
    return this.cases.find((one) => one.body === body && one.arm === arm && one.seed === seed && one.hash === hash);
  }

  async keep(found: StudyCase): Promise<void> {
    this.cases.push(found);
    await mkdir(dirname(this.path), { recursive: true });
    await appendFile(this.path, `${JSON.stringify(found)}\n`);
  }
}

function parsed(line: string): StudyCase[] {
  try {
    return line === '' ? [] : [JSON.parse(line) as StudyCase];
  } catch {
    return [];
  }
}

/** What a sitting is to measure: names and seeds from the environment, all unless given. */
export function chosen(all: readonly string[], variable: string): readonly string[] {
  const asked = process.env[variable];
  if (!asked) return all;
  const names = asked.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !all.includes(name));
  if (unknown.length > 0) throw new Error(`${variable} names ${unknown.join(', ')}; there are: ${all.join(', ')}.`);
  return names;
}
