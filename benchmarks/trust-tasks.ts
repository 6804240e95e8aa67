// Detection of task defects by the audit: defects planted one at a time into sound tasks, and defects of τ²-bench's published
// tasks that others reported (trust/tasks.yaml, each with its source). `raw` has what it says of the tasks of τ-bench and helpdesk as they
// are: studies/trust-tasks.md looks at each. Needs REVERIE_SHARED_DATA, the folder of τ-bench's data.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { wilson } from '../src/core/statistics.js';
import type { ToolsTask } from '../src/env/tools/domain.js';
import { lintTask, lintTasks, type TaskFinding } from '../src/synth/tasks/lint-tasks.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { plantedDomain } from './trust-rewards.js';

interface PlantedDefect {
  readonly domain: string;
  readonly task: string;
  /** Parts of the task to replace; null removes one. */
  readonly change?: { readonly [part in keyof ToolsTask]?: unknown };
  /** The expected finding. */
  readonly finds: TaskFinding['kind'];
  readonly source?: string;
}

/** Domains whose own tasks are audited: alarms must be true. */
const AS_THEY_ARE = ['helpdesk', 'cellar', 'tau-retail', 'tau-airline'];

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const planted = parse(readFileSync(join(root, 'benchmarks/trust/tasks.yaml'), 'utf8')) as PlantedDefect[];
  const misses: unknown[] = [];
  const byKind: Record<string, { planted: number; found: number }> = {};
  const names = [...new Set(planted.map(({ domain }) => domain))].filter((name) => !quick || !name.startsWith('tau-'));
  const own: Record<string, readonly TaskFinding[]> = {};
  let [n, found] = [0, 0];
  for (const name of names) {
    const domain = await plantedDomain(name, root);
    for (const defect of planted.filter((one) => one.domain === name)) {
      const task = domain.tasks.find(({ id }) => id === defect.task);
      if (task === undefined) throw new Error(`the domain ${name} has no task "${defect.task}"`);
      const findings = await lintTask(domain, changed(task, defect.change));
      const isFound = findings.some(({ kind }) => kind === defect.finds);
      const tally = byKind[defect.finds] ?? { planted: 0, found: 0 };
      byKind[defect.finds] = tally;
      tally.planted++;
      n++;
      if (isFound) {
        found++;
        tally.found++;
      } else {
        misses.push({ ...defect, instead: findings });
        log(
          `${name} ${defect.task}: no ${defect.finds}, but ${findings.map(({ kind }) => kind).join(', ') || 'nothing'}`,
        );
      }
    }
    if (AS_THEY_ARE.includes(name)) own[name] = await lintTasks(domain, domain.tasks);
    domain.close();
    log(`${name}: ${found} of ${n} found so far`);
  }
  const alarms = Object.fromEntries(
    Object.entries(own).map(([name, findings]) => [
      name,
      { shut: findings.filter(({ shuts }) => shuts).length, findings },
    ]),
  );
  const { value, low, high } = wilson(found, n);
  return { value: value ?? 0, low, high, n, raw: { planted: n, byKind, misses, alarms } };
}

function changed(task: ToolsTask, change: PlantedDefect['change'] = {}): ToolsTask {
  const parts = Object.entries({ ...task, ...change }).filter(([, value]) => value !== null);
  return Object.fromEntries(parts) as unknown as ToolsTask;
}
