// `reverie export`: the episodes of an earlier run in more formats.

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openSealed } from '../../../core/files.js';
import type { ToolsTask } from '../../../env/tools/domain.js';
import { makeDomain } from '../../../env/tools/domains.js';
import { withTasks } from '../../../env/tools/load-domain.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import type { ExportResult } from '../../tools-results.js';
import { requireInput } from '../inputs.js';
import { exportDataset } from './datasets.js';
import { TASKS_FILE } from './task-stage.js';

export async function exportJob(context: JobContext<ToolsScenario>): Promise<ExportResult> {
  const { config, folder } = context.scenario;
  const data = requireInput(context.inputs, 'episodes');
  const own = await makeDomain(config.domain, { folder });
  const made = join(dirname(data), TASKS_FILE);
  const more = existsSync(made) ? (openSealed(readFileSync(made, 'utf8')).tasks as unknown as ToolsTask[]) : [];
  const domain = more.length === 0 ? own : withTasks(own, [...own.tasks, ...more]);
  try {
    const datasets: string[] = [];
    for (const format of config.synth.export) datasets.push(await exportDataset(context, domain, { format, data }));
    return { job: 'export', family: 'tools', wallSeconds: context.metrics.wallSeconds, data, datasets };
  } finally {
    own.close();
  }
}
