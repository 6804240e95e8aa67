// What a result was made with: versions, machine, command. Kept beside every run and at the foot of every report.

import { readFileSync } from 'node:fs';
import { arch, cpus, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Panel } from '../core/evaluation-set.js';
import { packageRoot } from '../core/packs.js';
import type { Block } from '../core/report.js';
import type { JobContext } from './job.js';
import type { AnyScenario } from './scenario.js';

/** Where the figures of a report come from. */
export interface ReportProvenance {
  readonly command: string;
  readonly scenario: string;
  readonly scenarioHash: string;
  readonly seeds: readonly number[];
  /** Hash of what the figures were measured on. */
  readonly panel?: string;
  readonly machine: string;
  /** ISO 8601. */
  readonly date: string;
  /** Package to version: reverie, node, onnxruntime-node, mujoco. */
  readonly versions: Readonly<Record<string, string>>;
}

/** The foot of a report. */
export function provenanceBlock(from: ReportProvenance): Block {
  const told = Object.entries(from.versions).map(([name, version]) => `${name} ${version}`);
  return {
    kind: 'facts',
    rows: [
      ['Command', from.command],
      ['Scenario', `${from.scenario} ${from.scenarioHash.slice(0, 12)}`],
      ['Seeds', from.seeds.join(', ')],
      ...(from.panel === undefined ? [] : [['Evaluation set', from.panel] as const]),
      ['Machine', from.machine],
      ['Versions', told.join(' · ')],
      ['Made', from.date],
    ],
  };
}

/** Packages whose version can move a result. */
const TOLD = ['onnxruntime-node', '@mujoco/mujoco'];

/** Package to version. */
export function versions(): Record<string, string> {
  const manifest = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
  const told = TOLD.map((name) => [name, manifest.dependencies[name]]);
  return { reverie: manifest.version, node: process.versions.node, ...Object.fromEntries(told) };
}

/** `2 × AMD EPYC 7B13, 8 GiB, linux x64`. */
export function machine(): string {
  const cores = cpus();
  return `${cores.length} × ${cores[0]?.model.trim() ?? 'unknown CPU'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${arch()}`;
}

/** Where the figures of a report on this job come from. @param otherwise what would run it, where no command line did; `from` what its figures are of */
export function reportProvenance(
  context: Pick<JobContext<AnyScenario>, 'scenario' | 'command'>,
  otherwise: string,
  from: Pick<Panel, 'seeds'> & Partial<Panel>,
): ReportProvenance {
  const { config, hash } = context.scenario;
  const { command = otherwise } = context;
  const date = new Date().toISOString();
  const about = { command, scenario: config.name, scenarioHash: hash, seeds: from.seeds };
  const panel = from.hash === undefined ? {} : { panel: from.hash };
  return { ...about, ...panel, machine: machine(), date, versions: versions() };
}
