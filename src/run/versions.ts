// What a result was made with: versions, machine, command. Kept beside every run and at the foot of every report.

import { readFileSync } from 'node:fs';
import { arch, cpus, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import type { EvaluationSet } from '../core/evaluation-set.js';
import { packageRoot } from '../core/packs.js';
import type { Block } from '../core/report.js';
import type { JobContext } from './job.js';
import type { AnyScenario } from './scenario.js';

/** Packages whose version can move a result. */
const NAMED = ['onnxruntime-node', '@mujoco/mujoco'];

/** Package to version. */
export function versions(): Record<string, string> {
  const manifest = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
  const named = NAMED.map((name) => [name, manifest.dependencies[name]]);
  return { reverie: manifest.version, node: process.versions.node, ...Object.fromEntries(named) };
}

/** `2 × AMD EPYC 7B13, 8 GiB, linux x64`. */
function machine(): string {
  const cores = cpus();
  return `${cores.length} × ${cores[0]?.model.trim() ?? 'unknown CPU'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${arch()}`;
}

/** Where the figures of a report on this job come from. */
export function provenanceOf({ scenario: { config, hash }, seed, command }: Made, evaluationSet?: EvaluationSet) {
  return {
    ...{ command, scenario: config.name, scenarioHash: hash, seeds: evaluationSet?.seeds ?? [seed] },
    ...{ evaluationSet: evaluationSet?.hash, machine: machine(), versions: versions() },
  };
}

type Made = Pick<JobContext<AnyScenario>, 'scenario' | 'seed' | 'command'>;

/** The foot of a report. */
export function provenanceBlock(context: Made, evaluationSet?: EvaluationSet): Block {
  const from = provenanceOf(context, evaluationSet);
  const packages = Object.entries(from.versions).map(([name, version]) => `${name} ${version}`);
  return {
    kind: 'facts',
    rows: [
      ...(from.command === undefined ? [] : [['Command', from.command] as const]),
      ['Scenario', `${from.scenario} ${from.scenarioHash.slice(0, 12)}`],
      ['Seeds', from.seeds.join(', ')],
      ...(from.evaluationSet === undefined ? [] : [['Evaluation set', from.evaluationSet] as const]),
      ['Machine', from.machine],
      ['Versions', packages.join(' · ')],
      ['Made', new Date().toISOString()],
    ],
  };
}
