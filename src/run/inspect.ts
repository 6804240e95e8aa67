// Says what a folder that Reverie wrote holds, from its manifests alone where they suffice.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { reverieError } from '../core/errors.js';
import { openSealed, parseObject } from '../core/files.js';
import { describeBuffer } from '../replay/describe.js';
import { isSavedBuffer } from '../replay/snapshot.js';
import { formatCount, formatNumber, wrapped } from './format.js';
import { RESULT_FILE, RUN_FILE, readRunRecord, SCENARIO_FILE } from './run-folder.js';
import { isConfigObject } from './scenario.js';

interface Inspection {
  readonly kind: 'run' | 'checkpoint' | 'policy' | 'replay' | 'world model';
  readonly folder: string;
  /** What is known of it; JSON. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Folders inside it that Reverie wrote. */
  readonly parts: readonly Inspection[];
}

type Facts = Record<string, unknown>;

/** Looks at `folder` and the folders in it. @throws INPUT_NEEDED, CHECKPOINT_CORRUPT */
export async function inspectFolder(folder: string): Promise<Inspection> {
  await (await import('./pipeline/inputs.js')).recoverCheckpoint(folder);
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
  const found = await lookAt(folder);
  if (found === undefined) return undefined;
  const names = readdirSync(folder).sort();
  const parts = await Promise.all(names.map((name) => inspected(join(folder, name))));
  return { ...found, folder, parts: parts.filter((part) => part !== undefined) };
}

async function lookAt(folder: string): Promise<Pick<Inspection, 'kind' | 'facts'> | undefined> {
  const has = (name: string) => existsSync(join(folder, name));
  const read = (name: string, how = parseObject) => (has(name) ? readJson(join(folder, name), how) : {});
  if (has(RUN_FILE)) {
    // As it was saved, and not as it could be run today: the files it names may have changed or gone since.
    const { config, profile, hash } = read(SCENARIO_FILE);
    const { evaluationSet, ...figures } = read(RESULT_FILE);
    const scenario = { scenario: part(config)['name'], profile, scenarioHash: hash };
    const facts = { ...scalars(readRunRecord(folder)!), ...scenario, ...scalars(figures) };
    return { kind: 'run', facts: { ...facts, evaluationSet: part(evaluationSet)['hash'] } };
  }
  const checkpoint = ['checkpoint.json', 'text-policy.json'].find(has);
  if (checkpoint !== undefined) {
    const { counters, progress, ...rest } = read(checkpoint, openSealed);
    return { kind: 'checkpoint', facts: { ...scalars(rest), ...scalars(part(progress)), ...part(counters) } };
  }
  if (has('manifest.json')) {
    // Of a policy what it learned from; of an ensemble what it was fitted to and how that went.
    const { format, learnedFrom, description, ...manifest } = read('manifest.json');
    const { observationSpace: _, actionSpace: __, ...fitted } = part(description);
    const parts = [manifest, learnedFrom, ...Object.values(fitted)].map((one) => scalars(part(one)));
    return {
      kind: format === 'reverie-learner' ? 'policy' : 'world model',
      facts: Object.assign({ format }, ...parts),
    };
  }
  if (!isSavedBuffer(folder)) return undefined;
  return { kind: 'replay', facts: await describeBuffer(folder) };
}

/** What is no object with keys has nothing in it. */
function part(value: unknown): Facts {
  return isConfigObject(value) ? value : {};
}

function readJson(file: string, read: (text: string) => Facts): Facts {
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
