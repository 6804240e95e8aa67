// `reverie fidelity`: opens the models under judgement and the truth, measures, and writes what was found as a page for
// people, as Markdown, as a model card and as JSON.

import { join } from 'node:path';
import { reverieError } from '../../../core/errors.js';
import type { Json } from '../../../core/json.js';
import { Rng } from '../../../core/rng.js';
import {
  type ChunkAddress,
  compareSubjects,
  constructionOf,
  type FidelityReport,
  fidelityMarkdown,
  type Gate,
  headlines,
  judgeGates,
  type Measured,
  measureWithinBudget,
  metricsOf,
  modelCard,
  parseGates,
  requireMetric,
  type Section,
  type Subject,
  writeFidelityReport,
} from '../../../fidelity/index.js';
import { writeFileAtomic } from '../../../store/atomic-file.js';
import { type FidelityResult, interrupted, type JobContext, type JobInputs } from '../../job.js';
import type { Phase } from '../../progress.js';
import { fidelityPage } from '../../report/fidelity/fidelity-page.js';
import type { AnyScenario, Scenario, ToolsScenario } from '../../scenario.js';
import { machine, reportProvenance } from '../../versions.js';
import type { OpenedSubjects } from './setup.js';
import { openToolsSubjects } from './tools/subjects.js';
import { VectorFidelityPool } from './vector/pool.js';
import { openVectorSubjects } from './vector/subjects.js';

/** Questions under way at once where the scenario does not say: most of them wait for a language model. */
const CONCURRENT_QUESTIONS = 32;

type MeasureChunk = (address: ChunkAddress, signal?: AbortSignal) => Promise<readonly Json[]>;

export async function vectorFidelityJob(context: JobContext<Scenario>): Promise<FidelityResult> {
  const { workers, scenario, seed, inputs, out } = context;
  const gates = gatesOf(inputs, scenario);
  const setup = { scenario, seed, inputs, out };
  const opened = await openVectorSubjects(setup, context);
  const pool = workers > 0 ? new VectorFidelityPool(setup, workers) : undefined;
  try {
    return await judged(context, gates, 'vector', opened, Math.max(1, workers), pool?.measureChunk);
  } finally {
    await pool?.close();
    await opened.close();
  }
}

export async function toolsFidelityJob(context: JobContext<ToolsScenario>): Promise<FidelityResult> {
  const { workers, scenario, seed, inputs, out } = context;
  const gates = gatesOf(inputs, scenario);
  const opened = await openToolsSubjects({ scenario, seed, inputs, out }, context);
  try {
    return await judged(context, gates, 'tools', opened, workers === 0 ? CONCURRENT_QUESTIONS : workers);
  } finally {
    await opened.close();
  }
}

async function judged(
  context: JobContext<AnyScenario>,
  gates: readonly Gate[],
  family: FidelityReport['family'],
  opened: OpenedSubjects,
  concurrency: number,
  measureChunk?: MeasureChunk,
): Promise<FidelityResult> {
  requireMeasured(gates, opened.subjects[0]);
  const named = { ...opened, subjects: uniquelyNamed(opened.subjects) };
  const { subjects, spent } = await measured(context, named, concurrency, measureChunk);
  if (subjects.length === 0) throw spent;
  const rng = Rng.fromSeed(context.seed).split('fidelity-comparisons');
  const report: FidelityReport = {
    format: 'reverie-fidelity/1',
    scenario: context.scenario.config.name,
    family,
    truth: opened.truth,
    subjects,
    comparisons: compareSubjects(subjects, rng),
    gates: judgeGates(gates, subjects[0]),
    provenance: provenanceOf(context, opened),
    ...(spent && { incomplete: incompleteText(named.subjects.length - subjects.length, spent) }),
  };
  for (const { metric } of report.gates) {
    const construction = constructionOf(report, metric);
    if (construction !== undefined) context.log(`The gate on ${metric} proves nothing: ${construction}`);
  }
  const page = await written(context, report);
  if (spent === undefined) return resultOf(context, report, page);
  context.progress.log(`A budget is spent. What was measured until then is in ${page}.`);
  throw spent;
}

function incompleteText(missing: number, spent: Error): string {
  const unseen = missing === 0 ? '' : ` Not reached: ${missing} of the models.`;
  return `Not all was measured. ${spent.message}${unseen}`;
}

/** @throws JobInterrupted once what is measured so far is on disk */
async function measured(
  { out, signal, progress }: JobContext<AnyScenario>,
  { subjects, identity }: OpenedSubjects,
  concurrency: number,
  measureChunk?: MeasureChunk,
): Promise<Measured> {
  const phases = new Map<number, Phase>();
  // Opened when its subject's turn has come: a phase's clock runs from its opening.
  const phaseOf = (index: number, chunks: number) => {
    const phase = phases.get(index) ?? progress.phase(`judge ${subjects[index].name}`, chunks, 'chunks');
    phases.set(index, phase);
    return phase;
  };
  try {
    return await measureWithinBudget(subjects, {
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
  } catch (error) {
    if (signal.aborted) interrupted();
    throw error;
  }
}

function provenanceOf(context: JobContext<AnyScenario>, { identity }: OpenedSubjects): FidelityReport['provenance'] {
  const { scenario, seed, inputs } = context;
  const { date: _, ...rest } = reportProvenance({ scenario }, `reverie fidelity ${scenario.config.name}`, [seed]);
  return { ...rest, machine: machine(), inputs: inputs as Json, identity } as unknown as FidelityReport['provenance'];
}

/** The page's file. */
async function written({ out }: JobContext<AnyScenario>, report: FidelityReport): Promise<string> {
  const page = join(out, 'fidelity.html');
  await writeFidelityReport(join(out, 'fidelity.json'), report);
  await writeFileAtomic(page, await fidelityPage(report));
  await writeFileAtomic(join(out, 'fidelity.md'), fidelityMarkdown(report));
  await writeFileAtomic(join(out, 'MODEL_CARD.md'), modelCard(report));
  return page;
}

function resultOf({ metrics }: JobContext<AnyScenario>, report: FidelityReport, page: string): FidelityResult {
  return {
    job: 'fidelity',
    family: report.family,
    wallSeconds: metrics.wallSeconds,
    report: page,
    passed: report.gates.every(({ passed }) => passed),
    gates: report.gates,
    subjects: report.subjects.map((subject) => ({
      name: subject.name,
      version: subject.version,
      headlines: headlines(subject),
    })),
  };
}

// Comparisons and charts go by the names of models: each has its own.

/** Those of a name that was there before get a number: `model`, `model 2`. */
export function uniquelyNamed<T extends { readonly name: string }>(subjects: readonly T[]): T[] {
  const taken = new Set<string>();
  return subjects.map((subject) => {
    let name = subject.name;
    for (let number = 2; taken.has(name); number++) name = `${subject.name} ${number}`;
    taken.add(name);
    return { ...subject, name };
  });
}

// Gates are read before anything is opened, and their metrics looked for before anything is measured: who wrote one wrong
// should not wait for it.

/** @throws FIDELITY_GATE_INVALID, also for a section that is not measured */
function gatesOf({ failUnder = [] }: JobInputs, { config }: Scenario | ToolsScenario): Gate[] {
  const gates = parseGates(failUnder);
  const sections: readonly string[] = config.fidelity.sections;
  for (const [i, { metric }] of gates.entries()) {
    const [section] = metric.split('.');
    if (sections.includes(section)) continue;
    const problem = `section "${section}" is not measured: it is not among fidelity.sections`;
    throw reverieError('FIDELITY_GATE_INVALID', { gate: failUnder[i], problem });
  }
  return gates;
}

/**
 * Metrics that exist only once something was found, such as those of one backend, begin like one that is always there; they are
 * looked for when all is measured.
 *
 * @throws FIDELITY_METRIC_UNKNOWN, FIDELITY_GATE_INVALID for a metric of which neither way is better
 */
function requireMeasured(gates: readonly Gate[], { name, instruments, derive }: Subject): void {
  if (gates.length === 0) return;
  const found = new Map(instruments.map((instrument) => [instrument.id, instrument.conclude([])]));
  const sections = [...found.values(), ...(derive?.(found) ?? [])].map(({ section }) => section);
  const subject = { name, kind: '', version: '', sections };
  const known = [...metricsOf(subject).keys()];
  for (const gate of gates) {
    if (known.includes(gate.metric)) judgeGates([gate], subject);
    else if (!mayComeToBe(gate.metric, sections)) requireMetric(subject, gate.metric);
  }
}

function mayComeToBe(name: string, sections: readonly Section[]): boolean {
  const section = sections.find(({ id }) => name.startsWith(`${id}.`));
  if (section === undefined) return false;
  const { id, metrics } = section;
  return metrics.length === 0 || metrics.some(({ key }) => name.startsWith(`${id}.${key}-`));
}
