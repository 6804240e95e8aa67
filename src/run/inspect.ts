// Says what a folder that Reverie wrote holds, from its manifests alone where they suffice.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { reverieError } from '../core/errors.js';
import { openSealed, parseObject } from '../core/files.js';
import { describeBuffer } from '../replay/describe.js';
import { isSavedBuffer } from '../replay/snapshot.js';
import { readManifest } from '../rl/checkpoint.js';
import { readManifest as readModelManifest } from '../worldmodel/model-folder.js';
import { formatCount, formatNumber, wrapped } from './format.js';
import { RESULT_FILE, RUN_FILE, readRunRecord, SCENARIO_FILE } from './run-folder.js';

interface Inspection {
  readonly kind: 'run' | 'checkpoint' | 'policy' | 'replay' | 'world model';
  readonly folder: string;
  /** What is known of it; JSON. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Folders inside it that Reverie wrote. */
  readonly parts: readonly Inspection[];
}

type Facts = Record<string, unknown>;

/** What each kind is recognised by, and how its facts are read. */
const KINDS: readonly (readonly [
  kind: Inspection['kind'],
  isOne: (folder: string) => boolean,
  facts: (folder: string) => Facts | Promise<Facts>,
])[] = [
  ['run', (folder) => existsSync(join(folder, RUN_FILE)), runFacts],
  ['checkpoint', (folder) => existsSync(join(folder, 'checkpoint.json')), checkpointFacts],
  ['policy', (folder) => manifestFormat(folder) === 'reverie-learner', policyFacts],
  ['world model', (folder) => manifestFormat(folder) !== undefined, worldModelFacts],
  ['replay', isSavedBuffer, async (folder) => scalars({ ...(await describeBuffer(folder)), path: [] })],
];

/** Looks at `folder` and the folders in it. @throws INPUT_NEEDED, CHECKPOINT_CORRUPT, MODEL_FILE_INVALID, FILE_INVALID */
export async function inspectFolder(folder: string): Promise<Inspection> {
  const inspection = await inspected(resolve(folder));
  if (inspection === undefined)
    throw reverieError('INPUT_NEEDED', {
      problem: `Nothing that Reverie wrote lies in "${folder}".`,
      hint: 'Give the folder of a run, a checkpoint, a replay snapshot or a world model.',
    });
  return inspection;
}

/** The inspection as lines for a human. */
export function inspectionText(inspection: Inspection, indent = '', columns?: number): string {
  const name = indent === '' ? inspection.folder : basename(inspection.folder);
  const facts = Object.entries(inspection.facts).filter(([, value]) => value !== null && value !== undefined);
  const width = Math.max(0, ...facts.map(([key]) => key.length));
  const lines = facts.flatMap(([key, value]) =>
    wrapped(`${indent}  ${key.padEnd(width)}   ${factText(value)}`, columns, indent.length + width + 5),
  );
  const parts = inspection.parts.map((part) => `\n${inspectionText(part, `${indent}  `, columns)}`);
  return [`${indent}${inspection.kind}: ${name}`, ...lines, ...parts].join('\n');
}

function factText(value: unknown): string {
  if (typeof value === 'number') return Number.isInteger(value) ? formatCount(value) : formatNumber(value);
  return Array.isArray(value) ? value.map(factText).join(', ') : String(value);
}

async function inspected(folder: string): Promise<Inspection | undefined> {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) return undefined;
  const found = KINDS.find(([, isOne]) => isOne(folder));
  if (found === undefined) return undefined;
  const [kind, , factsOf] = found;
  const parts = await Promise.all(
    readdirSync(folder)
      .sort()
      .map((name) => inspected(join(folder, name))),
  );
  return { kind, folder, facts: await factsOf(folder), parts: parts.filter((part) => part !== undefined) };
}

function runFacts(folder: string): Facts {
  const { inputs: _, versions: __, device: ___, ...record } = readRunRecord(folder)!;
  // As it was saved, and not as it could be run today: the files it names may have changed or gone since.
  const scenario = existsSync(join(folder, SCENARIO_FILE)) ? readJson(join(folder, SCENARIO_FILE)) : undefined;
  const result = join(folder, RESULT_FILE);
  const { evaluationSet, ...figures } = existsSync(result) ? readJson(result) : {};
  return {
    ...record,
    scenario: (scenario?.config as { name?: unknown } | undefined)?.name,
    ...{ profile: scenario?.profile, scenarioHash: scenario?.hash },
    ...scalars(figures),
    evaluationSet: (evaluationSet as { hash?: unknown } | undefined)?.hash,
  };
}

function checkpointFacts(folder: string): Facts {
  const { counters, ...rest } = readJson(join(folder, 'checkpoint.json'), openSealed);
  return { ...scalars(rest), ...(counters as object) };
}

async function policyFacts(folder: string): Promise<Facts> {
  const { kind, policyVersion, learnedFrom } = await readManifest(folder);
  return { kind, policyVersion, ...scalars({ ...learnedFrom }), worldModels: learnedFrom.worldModelVersions.length };
}

/** Of any kind of world model its scalars; of an ensemble also what it was fitted to and how that went. */
async function worldModelFacts(folder: string): Promise<Facts> {
  const { description, ...manifest } = await readModelManifest(folder);
  const { config = {}, outcome = {}, report = {} } = (description ?? {}) as Record<string, Facts | undefined>;
  return { format: manifest.format, ...scalars(manifest), ...scalars({ ...config, ...outcome, ...report }) };
}

function manifestFormat(folder: string): string | undefined {
  const file = join(folder, 'manifest.json');
  return existsSync(file) ? String(readJson(file).format) : undefined;
}

function readJson(file: string, read = parseObject): Facts {
  try {
    return read(readFileSync(file, 'utf8'));
  } catch (error) {
    throw reverieError('CHECKPOINT_CORRUPT', { path: file, problem: (error as Error).message }, error);
  }
}

function scalars(record: object): Facts {
  return Object.fromEntries(
    Object.entries(record).filter(([key, value]) => typeof value !== 'object' && !key.startsWith('format')),
  );
}
