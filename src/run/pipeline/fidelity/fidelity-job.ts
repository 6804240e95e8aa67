// `reverie fidelity`: opens the models under judgement and the truth, measures, and writes what was found as a page for
// people, as Markdown and as JSON.

import { join } from 'node:path';
import type { Json } from '../../../core/canonical-json.js';
import { writeFileAtomic } from '../../../core/files.js';
import { constructionOf, fidelityDocument, headlines } from '../../../fidelity/document.js';
import type { Gate } from '../../../fidelity/gates.js';
import { parseGates, reportOn, requireMeasured, uniquelyNamed } from '../../../fidelity/gates.js';
import { type Measured, type MeasureOptions, measureWithinBudget } from '../../../fidelity/measure.js';
import type { FidelityReport } from '../../../fidelity/report.js';
import { writeFidelityReport } from '../../../fidelity/report.js';
import type { FidelityServices, OpenedSubjects } from '../../../fidelity/section.js';
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

/** How the models of a kind are opened, and where their chunks are measured. */
interface Opening {
  readonly open: (services: FidelityServices) => Promise<OpenedSubjects>;
  /** Chunks under way at once. */
  readonly concurrency: number;
  /** Started once all is open. */
  readonly threads?: () => { readonly measureChunk: MeasureOptions['measureChunk']; close(): Promise<void> };
}

export function vectorFidelityJob(context: JobContext<Scenario>): Promise<FidelityResult> {
  const { workers, scenario, seed, inputs, out } = context;
  const setup = { scenario, seed, inputs, out };
  return judge(context, {
    open: (services) => openVectorSubjects(setup, vectorHost, services),
    concurrency: Math.max(1, workers),
    ...(workers > 0 && { threads: () => new VectorFidelityPool(setup, workers) }),
  });
}

export function toolsFidelityJob(context: JobContext<ToolsScenario>): Promise<FidelityResult> {
  const { workers, scenario, seed, inputs, out } = context;
  const setup = { scenario, seed, inputs, out };
  return judge(context, {
    open: () => openToolsSubjects(setup, context),
    concurrency: workers === 0 ? CONCURRENT_QUESTIONS : workers,
  });
}

async function judge(context: JobContext<Scenario | ToolsScenario>, opening: Opening): Promise<FidelityResult> {
  const { inputs, scenario } = context;
  const gates = parseGates(inputs.failUnder, scenario.config.fidelity.sections);
  const opened = await opening.open(context);
  const threads = opening.threads?.();
  try {
    return await judged(context, gates, opened, opening.concurrency, threads?.measureChunk);
  } finally {
    await threads?.close();
    await opened.close();
  }
}

async function judged(
  context: JobContext<AnyScenario>,
  gates: readonly Gate[],
  opened: OpenedSubjects,
  concurrency: number,
  measureChunk?: MeasureOptions['measureChunk'],
): Promise<FidelityResult> {
  const { scenario, seed, progress } = context;
  requireMeasured(gates, opened.subjects[0]);
  const named = { ...opened, subjects: uniquelyNamed(opened.subjects) };
  const found = await measured(context, named, concurrency, measureChunk);
  if (found.subjects.length === 0) throw found.spent;
  const report = reportOn(found, {
    scenario: scenario.config.name,
    family: scenario.family,
    seed,
    gates,
    opened,
    provenance: provenance(context, opened),
  });
  for (const { metric } of report.gates) {
    const construction = constructionOf(report, metric);
    if (construction !== undefined) context.log(`The gate on ${metric} proves nothing: ${construction}`);
  }
  const page = await written(context, report);
  if (found.spent === undefined) return { ...resultOf(context, report, page), evaluationSet: opened.evaluationSet };
  progress.log(`A budget is spent. What was measured until then is in ${page}.`);
  throw found.spent;
}

function measured(
  { out, signal, progress }: JobContext<AnyScenario>,
  { subjects, identity }: OpenedSubjects,
  concurrency: number,
  measureChunk?: MeasureOptions['measureChunk'],
): Promise<Measured> {
  const phases = new Map<number, Phase>();
  // Opened when its subject's turn has come: a phase's clock runs from its opening.
  const phaseOf = (index: number, chunks: number) => {
    const phase = phases.get(index) ?? progress.phase(`judge ${subjects[index].name}`, chunks, 'chunks');
    phases.set(index, phase);
    return phase;
  };
  return measureWithinBudget(subjects, {
    folder: join(out, 'chunks'),
    identity,
    concurrency,
    signal,
    measureChunk,
    onChunk: ({ subject, instrument }, done, total) => {
      const phase = phaseOf(subject, total);
      phase.set(done, instrument);
      if (done === total) phase.end();
    },
  });
}

function provenance(
  context: JobContext<AnyScenario>,
  { identity, evaluationSet }: OpenedSubjects,
): FidelityReport['provenance'] {
  const { scenario, seed, inputs } = context;
  // Without folders, so that the same seed gives the same bytes wherever they are written.
  const command = `reverie fidelity ${scenario.config.name}`;
  return {
    ...provenanceOf(context),
    command,
    seeds: [seed],
    inputs: inputs as Json,
    identity,
    evaluationSet: evaluationSet as unknown as Json,
  };
}

/** The page's file. */
async function written({ out }: JobContext<AnyScenario>, report: FidelityReport): Promise<string> {
  const page = join(out, 'fidelity.html');
  await writeFidelityReport(join(out, 'fidelity.json'), report);
  const document = fidelityDocument(report);
  await writeReport(page, document);
  await writeFileAtomic(join(out, 'fidelity.md'), markdownText(document));
  return page;
}

export type FidelityResult = ReturnType<typeof resultOf> & { readonly evaluationSet: OpenedSubjects['evaluationSet'] };

function resultOf(
  { metrics, show }: JobContext<AnyScenario>,
  { family, gates, subjects: judgedModels }: FidelityReport,
  page: string,
) {
  const subjects = judgedModels.map((subject) => {
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
