// `reverie fidelity`: opens the models under judgement and the truth, measures, and writes what was found as a page for
// people, as Markdown and as JSON.

import { join } from 'node:path';
import type { Json } from '../../../core/canonical-json.js';
import { writeFileAtomic } from '../../../core/files.js';
import { constructionOf, fidelityDocument, headlines } from '../../../fidelity/document.js';
import { parseGates, reportOn, requireMeasured, uniquelyNamed } from '../../../fidelity/gates.js';
import { type MeasureOptions, measureWithinBudget } from '../../../fidelity/measure.js';
import { type FidelityReport, writeFidelityReport } from '../../../fidelity/report.js';
import type { OpenedSubjects } from '../../../fidelity/section.js';
import { openVectorSubjects } from '../../../fidelity/vector/opening.js';
import type { ToolsScenario } from '../../../kinds/tools.js';
import type { Scenario } from '../../../kinds/vector.js';
import { formatNumber } from '../../format.js';
import type { JobContext } from '../../job.js';
import type { Phase } from '../../progress.js';
import { markdownText } from '../../report.js';
import { writeReport } from '../../report-page.js';
import type { AnyScenario } from '../../scenario.js';
import { provenanceOf } from '../../versions.js';
import { openToolsSubjects } from './tools-judged.js';
import { VectorFidelityPool, vectorHost } from './vector.js';

/** Questions under way at once where the scenario does not say: most of them wait for a language model. */
const CONCURRENT_QUESTIONS = 32;

export type FidelityResult = Awaited<ReturnType<typeof judge>>;

export async function vectorFidelityJob(context: JobContext<Scenario>): Promise<FidelityResult> {
  const { workers, scenario, seed, inputs, out } = context;
  const setup = { scenario, seed, inputs, out };
  const open = () => openVectorSubjects(setup, vectorHost, context);
  const threads = () => (workers > 0 ? new VectorFidelityPool(setup, workers) : undefined);
  return judge(context, open, Math.max(1, workers), threads);
}

export async function toolsFidelityJob(context: JobContext<ToolsScenario>): Promise<FidelityResult> {
  const { workers, scenario, seed, inputs, out } = context;
  const open = () => openToolsSubjects({ scenario, seed, inputs, out }, context);
  return judge(context, open, workers === 0 ? CONCURRENT_QUESTIONS : workers);
}

/**
 * @param concurrency  chunks under way at once
 * @param threads  where chunks are measured, started once all is open; by default here
 */
async function judge(
  context: JobContext<Scenario | ToolsScenario>,
  open: () => Promise<OpenedSubjects>,
  concurrency: number,
  threads: () => VectorFidelityPool | undefined = () => undefined,
) {
  const { inputs, scenario, seed, out, signal, progress, log } = context;
  const gates = parseGates(inputs.failUnder, scenario.config.fidelity.sections);
  const opened = await open();
  const pool = threads();
  try {
    requireMeasured(gates, opened.subjects[0]);
    const subjects = uniquelyNamed(opened.subjects);
    const found = await measureWithinBudget(subjects, {
      ...{ folder: join(out, 'chunks'), identity: opened.identity, concurrency, signal },
      measureChunk: pool?.measureChunk,
      onChunk: onChunk(progress, (subject) => `judge ${subjects[subject].name}`),
    });
    if (found.subjects.length === 0) throw found.spent;
    const { name } = scenario.config;
    const report = reportOn(found, {
      ...{ scenario: name, family: scenario.family, seed, gates, opened },
      provenance: provenance(context, opened),
    });
    for (const { metric } of report.gates) {
      const construction = constructionOf(report, metric);
      if (construction !== undefined) log(`The gate on ${metric} proves nothing: ${construction}`);
    }
    const page = await written(out, report);
    if (found.spent === undefined) return { ...resultOf(context, report, page), evaluationSet: opened.evaluationSet };
    progress.log(`A budget is spent. What was measured until then is in ${page}.`);
    throw found.spent;
  } finally {
    await pool?.close();
    await opened.close();
  }
}

/** A bar a subject, opened when its turn has come: its clock runs from then. */
function onChunk(
  progress: JobContext['progress'],
  label: (subject: number) => string,
): NonNullable<MeasureOptions['onChunk']> {
  const phases = new Map<number, Phase>();
  return ({ subject, instrument }, done, total) => {
    const phase = phases.get(subject) ?? progress.phase(label(subject), total, 'chunks');
    phases.set(subject, phase);
    phase.set(done, instrument);
    if (done === total) phase.end();
  };
}

function provenance(
  context: JobContext<AnyScenario>,
  { identity, evaluationSet }: OpenedSubjects,
): FidelityReport['provenance'] {
  const { scenario, seed, inputs } = context;
  return {
    ...provenanceOf(context),
    // Without folders, so that the same seed gives the same bytes wherever they are written.
    command: `reverie fidelity ${scenario.config.name}`,
    ...{ seeds: [seed], inputs: inputs as Json, identity, evaluationSet: evaluationSet as unknown as Json },
  };
}

/** The page's file. */
async function written(out: string, report: FidelityReport): Promise<string> {
  const page = join(out, 'fidelity.html');
  await writeFidelityReport(join(out, 'fidelity.json'), report);
  const document = fidelityDocument(report);
  await writeReport(page, document);
  await writeFileAtomic(join(out, 'fidelity.md'), markdownText(document));
  return page;
}

function resultOf({ metrics, show }: JobContext<AnyScenario>, report: FidelityReport, page: string) {
  const { family, gates } = report;
  const subjects = report.subjects.map((subject) => {
    return { name: subject.name, version: subject.version, headlines: headlines(subject) };
  });
  const rows = [
    ...subjects.flatMap(({ name, headlines: told }) => [
      ['model', name] as const,
      ...told.map(({ label, text }) => [`  ${label}`, text] as const),
    ]),
    ...gates.map(({ metric, limit, value, passed }) => {
      const found = value === null ? 'was not measured' : formatNumber(value);
      return [passed ? 'gate passed' : 'GATE FAILED', `${metric} ${found}, limit ${formatNumber(limit)}`] as const;
    }),
  ];
  show({ title: '', blocks: [{ kind: 'facts', rows }] });
  const passed = gates.every((gate) => gate.passed);
  return { job: 'fidelity', family, wallSeconds: metrics.wallSeconds, report: page, passed, gates, subjects };
}
