// Says what a folder that we wrote holds, from its manifests alone where they suffice.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { reverieError } from '../core/errors.js';
import { type Panel, panelDifferences, type WantedPanel } from '../core/evaluation-set.js';
import { openSealed, parseObject } from '../core/files.js';
import { headlines } from '../fidelity/document.js';
import { FIDELITY_FILE, openFidelityReport } from '../fidelity/report.js';
import { describeBuffer } from '../replay/describe.js';
import { isSavedBuffer } from '../replay/snapshot.js';
import { readManifest } from '../rl/checkpoint.js';
import { readManifest as readModelManifest } from '../worldmodel/model-folder.js';
import { givenSet } from './evaluation-set.js';
import { formatCount, formatNumber, wrapped } from './format.js';
import { readMetrics } from './metrics.js';
import { METRICS_FILE, RESULT_FILE, RUN_FILE, readRunRecord, SCENARIO_FILE } from './run-folder.js';

export interface Inspection {
  readonly kind: 'run' | 'fidelity report' | 'checkpoint' | 'policy' | 'replay' | 'world model';
  readonly folder: string;
  /** What is known of it; JSON. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Folders inside it that hold something of ours. */
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
  ['fidelity report', (folder) => existsSync(join(folder, FIDELITY_FILE)), fidelityFacts],
  ['checkpoint', (folder) => existsSync(join(folder, 'checkpoint.json')), checkpointFacts],
  ['policy', (folder) => manifestFormat(folder) === 'reverie-learner', policyFacts],
  ['world model', (folder) => manifestFormat(folder) !== undefined, worldModelFacts],
  ['replay', isSavedBuffer, replayFacts],
];

/** Looks at `folder` and the folders in it. @throws NOTHING_TO_INSPECT if nothing of ours is there, or CHECKPOINT_CORRUPT, MODEL_FILE_INVALID, FILE_INVALID */
export async function inspectFolder(folder: string, { panel }: { readonly panel?: string } = {}): Promise<Inspection> {
  const inspection = await inspected(resolve(folder));
  if (inspection === undefined) throw reverieError('NOTHING_TO_INSPECT', { path: folder });
  if (panel === undefined) return inspection;
  return { ...inspection, facts: { ...inspection.facts, comparable: comparable(givenSet(folder), panel) } };
}

/** Whether figures of the run and of another may be held against each other, and what differs where they may not. */
function comparable(own: WantedPanel, given: string): string {
  const other = givenSet(given);
  if (own.hash === other.hash) return `yes, with ${given}: one panel`;
  const differs = 'seeds' in own ? panelDifferences(own as Panel, other) : [];
  return `no, not with ${given}: ${differs.join('; ') || 'another panel; a hash alone does not say what differs'}`;
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

async function inspected(folder: string): Promise<Inspection | undefined> {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) return undefined;
  const found = KINDS.find(([, isOne]) => isOne(folder));
  if (found === undefined) return undefined;
  const [kind, , factsOf] = found;
  const parts: Inspection[] = [];
  for (const name of readdirSync(folder).sort()) {
    const part = await inspected(join(folder, name));
    if (part !== undefined) parts.push(part);
  }
  return { kind, folder, facts: await factsOf(folder), parts };
}

function runFacts(folder: string): Facts {
  const record = readRunRecord(folder)!;
  // As it was saved, and not as it could be run today: the files it names may have changed or gone since.
  const scenario = existsSync(join(folder, SCENARIO_FILE)) ? readJson(join(folder, SCENARIO_FILE)) : undefined;
  const metrics = join(folder, METRICS_FILE);
  const { kind: _, ...last } = (existsSync(metrics) ? readMetrics(metrics).at(-1) : undefined) ?? { kind: '' };
  const result = join(folder, RESULT_FILE);
  return {
    job: record.job,
    status: record.status,
    scenario: (scenario?.config as { name?: unknown } | undefined)?.name,
    profile: scenario?.profile,
    scenarioHash: scenario?.hash,
    seed: record.seed,
    command: record.command,
    startedAt: record.startedAt,
    endedAt: record.endedAt,
    ...(existsSync(result) ? resultFacts(readJson(result)) : { lastEvent: last }),
    ...(existsSync(join(folder, FIDELITY_FILE)) && fidelityFacts(folder)),
  };
}

function resultFacts(result: Record<string, unknown>): Facts {
  const { panel, ...rest } = result as { panel?: Panel };
  return panel === undefined ? scalars(rest) : { ...scalars(rest), panel: panel.hash };
}

/** Headline numbers of each model, and the gates. */
function fidelityFacts(folder: string): Facts {
  const file = join(folder, FIDELITY_FILE);
  const { subjects, gates, truth } = openFidelityReport(readFileSync(file, 'utf8'), file);
  const found = subjects.flatMap((subject) =>
    headlines(subject).map(({ label, text }) => [subjects.length === 1 ? label : `${subject.name}: ${label}`, text]),
  );
  const shut = gates.filter(({ passed }) => !passed).map(({ metric }) => metric);
  return {
    models: subjects.map(({ name, kind, version }) => `${name} (${kind} ${version})`),
    truth: truth.description,
    ...Object.fromEntries(found),
    ...(gates.length > 0 && { gates: shut.length === 0 ? 'all passed' : `failed: ${shut.join(', ')}` }),
  };
}

function checkpointFacts(folder: string): Facts {
  const { counters, evaluations, ...rest } = readJson(join(folder, 'checkpoint.json'), openSealed);
  const last = Array.isArray(evaluations) ? evaluations.at(-1) : undefined;
  return { ...scalars(rest), ...(counters as object), lastReturn: last?.meanReturn };
}

async function policyFacts(folder: string): Promise<Facts> {
  const { kind, policyVersion, learnedFrom } = await readManifest(folder);
  const { worldModelVersions, ...from } = learnedFrom;
  return {
    kind,
    policyVersion,
    ...from,
    worldModels: worldModelVersions.length,
    lastWorldModel: worldModelVersions.at(-1),
  };
}

async function replayFacts(folder: string): Promise<Facts> {
  const { path: _, rowsBy, ...facts } = await describeBuffer(folder);
  const origins = Object.entries(rowsBy).map(([part, rows]) => [`rows by ${part}`, rows]);
  return { ...facts, ...Object.fromEntries(origins) };
}

/** Of any kind of world model its scalars; of an ensemble also what it was fitted to and how that went. */
async function worldModelFacts(folder: string): Promise<Facts> {
  const { description, ...manifest } = await readModelManifest(folder);
  const { config, outcome, report } = (description ?? {}) as Record<string, Record<string, unknown> | undefined>;
  const shape = config && { members: config.members, answering: config.elites, hidden: config.hidden };
  return { format: manifest.format, ...scalars(manifest), ...shape, ...outcome, ...(report && scalars(report)) };
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

function scalars(record: Record<string, unknown>): Facts {
  return Object.fromEntries(
    Object.entries(record).filter(([key, value]) => typeof value !== 'object' && !key.startsWith('format')),
  );
}

const SHOWN = 3;

/** Long lists are cut; `--json` has all. */
function factText(value: unknown): string {
  if (typeof value === 'number') return Number.isInteger(value) ? formatCount(value) : formatNumber(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return value.map(factText).join(', ');
  const parts = Object.entries(value).map(([key, part]) => `${key} ${factText(part)}`);
  const more = parts.length > SHOWN + 1 ? [`and ${parts.length - SHOWN} more`] : [];
  return [...(more.length > 0 ? parts.slice(0, SHOWN) : parts), ...more].join(', ');
}
