// The sequence model on operations of elements: fitted to walks of chance over a few of MiniWoB++'s tasks, and asked about actions on seeds
// that it did not learn from, beside the page itself and beside lifted records of the very same walks. The value is the F1 of elements on
// other seeds, by mechanics and then the sequence model; the interval is over tasks.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Responder } from '../src/env/tools/tools-family.js';
import type { EpisodeRecord } from '../src/replay/experience/experience.js';
import { loadSequence } from '../src/worldmodel/sequence/sequence-folder.js';
import { makeRouter } from '../src/worldmodel/tools/make-router.js';
import { parseToolsModelConfig, type ToolsModelConfigInput } from '../src/worldmodel/tools/tools-model-schema.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';
import { grouped, type StepScores, type Summary, scores, summary } from './screen-scores.js';
import { openScreens, recordedDream, recordedWalks, tasksOf } from './screen-walks.js';

const TASKS = [
  ...['click-button', 'click-button-sequence', 'click-checkboxes', 'click-collapsible-2'],
  ...['click-option', 'enter-text', 'generate-number', 'login-user'],
];
const FIT = { steps: 400, rows: 8, length: 512, hidden: 64, layers: 2, heads: 4, kvHeads: 2, vocabulary: 640 };
const QUICK_FIT = { ...FIT, steps: 10, hidden: 32, layers: 1 };

interface Size {
  readonly names: readonly string[];
  readonly seeds: number;
  readonly walks: number;
  readonly judged: number;
  readonly fit: object;
}

const FULL: Size = { names: TASKS, seeds: 8, walks: 2, judged: 4, fit: FIT };
const QUICK: Size = { names: TASKS.slice(1, 2), seeds: 4, walks: 1, judged: 1, fit: QUICK_FIT };
const STEPS = 4;

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const { names, seeds, walks, judged, fit } = quick ? QUICK : FULL;
  const domain = await openScreens({ root, names, seeds, browser: 'jsdom' });
  const work = await mkdtemp(join(tmpdir(), 'reverie-screens-sequence-'));
  try {
    const records: EpisodeRecord[] = [];
    for (let seed = 0; seed < walks; seed++)
      records.push(...(await recordedWalks({ domain, tasks: tasksOf(domain), seed, maxSteps: STEPS })));
    // Seeds of a split begin at a million times its place.
    const others = tasksOf(domain, 'validation').filter(({ id }) => Number(id.split('.').at(-1)) % 1_000_000 < judged);
    const asked = await recordedWalks({ domain, tasks: others, seed: walks, maxSteps: STEPS });
    log(`${records.length} walks to learn from, ${asked.length} to be asked about`);
    const section = { minExactness: 0, minConfidence: 0, fit };
    const alone = { backends: ['sequence'], sequence: section } as ToolsModelConfigInput;
    const startedAt = process.cpuUsage();
    const sequence = await recordedDream(domain, records, alone, work);
    const { user, system } = process.cpuUsage(startedAt);
    const { report } = await loadSequence(join(work, 'sequence'));
    log(`fitted: ${JSON.stringify(report)}`);
    const lifted = await recordedDream(
      domain,
      records,
      { backends: ['lifted', 'mechanics'] } as ToolsModelConfigInput,
      work,
    );
    const mechanics = await recordedDream(domain, records, { backends: ['mechanics'] }, work);
    const fitted = { ...section, model: join(work, 'sequence') };
    const both = parseToolsModelConfig({
      kind: 'tools',
      backends: ['mechanics', 'sequence'],
      sequence: fitted,
    } as never);
    const dreams: Readonly<Record<string, Responder | undefined>> = {
      nothing: undefined,
      mechanics,
      sequence,
      [JUDGED]: await makeRouter(both, { domain, folder: work }),
      'lifted, then mechanics': lifted,
    };
    const arms: Record<string, Summary & { readonly exact: number }> = {};
    let found: StepScores[] = [];
    for (const [arm, dream] of Object.entries(dreams)) {
      const steps = await scores(domain, dream, asked);
      arms[arm] = { ...summary(steps), exact: mean(steps.map(exactly)) };
      if (arm === JUDGED) found = steps;
      log(`${arm}: ${arms[arm].exact.toFixed(3)} exactly right, F1 ${arms[arm].elements?.toFixed(3)}`);
    }
    const values = grouped(found).map((steps) => mean(steps.map(exactly)));
    const raw = { arms, report, fitCpuSeconds: (user + system) / 1e6, walks: records.length, fit };
    return { ...bootstrap(values, mean), n: values.length, raw };
  } finally {
    domain.close();
    await rm(work, { recursive: true, force: true });
  }
}

const JUDGED = 'sequence, then mechanics';

/** 1 where nothing of it is wrong. */
function exactly({ elements, transition, outcome }: StepScores): number {
  return Number(elements === 1 && transition && outcome);
}
