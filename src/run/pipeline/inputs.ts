// Where in a folder the user named the wanted thing lies: the folder itself, or a run that holds it; and what it is, by its bytes.

import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { reverieError } from '../../core/errors.js';
import { isSavedBuffer } from '../../replay/snapshot.js';
import { dynamicsKinds } from '../../worldmodel/kinds.js';
import type { FolderInput, JobInputs } from '../job.js';
import type { Scenario } from '../scenario.js';

type FoundInput = keyof typeof KINDS;

const LEARNER_FORMAT = 'reverie-learner';

interface Kind {
  readonly file: string;
  readonly folders: readonly string[];
  readonly what: string;
  /** Whether the `format` that the file claims is of this kind; a damaged file counts, for its reader to say how. */
  readonly isFormat: (format: unknown) => boolean;
}

const KINDS: Readonly<Record<Exclude<FolderInput, 'heldOut'>, Kind>> = {
  data: {
    file: 'transitions.bin',
    folders: ['', 'data', 'checkpoint/real', 'real'],
    what: 'replay snapshot',
    isFormat: () => true,
  },
  episodes: {
    file: 'episodes.jsonl',
    folders: ['data', ''],
    what: 'file of episodes',
    isFormat: () => true,
  },
  model: {
    file: 'manifest.json',
    folders: ['model', 'checkpoint/model', ''],
    what: 'world model',
    isFormat: (format) => format !== LEARNER_FORMAT,
  },
  checkpoint: {
    file: 'manifest.json',
    folders: ['learner', 'checkpoint/learner', ''],
    what: 'learner checkpoint',
    isFormat: (format) => format === undefined || format === LEARNER_FORMAT,
  },
  fidelity: {
    file: 'fidelity.json',
    folders: [''],
    what: 'fidelity report',
    isFormat: () => true,
  },
};

/** The folder of input `name`, or undefined if the user gave none. @throws INPUT_MISSING if it holds no such thing */
export function findInput(inputs: JobInputs, name: FoundInput): string | undefined {
  const given = inputs[name];
  if (given === undefined) return undefined;
  const found = KINDS[name].folders.map((folder) => join(given, folder)).find((folder) => isOne(name, folder));
  if (found === undefined) throw reverieError('INPUT_MISSING', { what: KINDS[name].what, path: given, input: name });
  return found;
}

/** As `findInput`, where the job cannot do without. @throws INPUT_NEEDED, INPUT_MISSING */
export function requireInput(inputs: JobInputs, name: FoundInput): string {
  const found = findInput(inputs, name);
  if (found === undefined)
    throw reverieError('INPUT_NEEDED', {
      problem: `This needs ${`a ${KINDS[name].what}`}, and --${name} was not given.`,
      hint: `Give --${name} FOLDER: one that holds ${`a ${KINDS[name].what}`}, or a run that does.`,
    });
  return found;
}

/** Of the bytes of all files in a folder, whatever it is called and wherever it lies. */
export async function digestOf(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of readdirSync(folder).sort()) {
    const path = join(folder, file);
    if (!statSync(path).isFile()) continue;
    hash.update(`${basename(file)}\n`);
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  }
  return hash.digest('hex').slice(0, 12);
}

/** Folder of the world model that a scenario brings along; undefined where its kind is fitted. */
export function broughtModel({ config, folder }: Scenario): string | undefined {
  const brought = dynamicsKinds.get(config.model.kind).broughtFolder?.(config.model);
  return brought === undefined ? undefined : resolve(folder, brought);
}

function isOne(name: FoundInput, folder: string): boolean {
  if (name === 'data') return isSavedBuffer(folder);
  const { file, isFormat } = KINDS[name];
  const path = join(folder, file);
  return existsSync(path) && (!file.endsWith('.json') || isFormat(formatOf(path)));
}

function formatOf(path: string): unknown {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as { format?: unknown } | null)?.format;
  } catch {
    // Unreadable or not JSON: what the reader of that folder says of it is better than "there is none".
    return undefined;
  }
}
