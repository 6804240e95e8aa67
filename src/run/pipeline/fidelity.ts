// `reverie fidelity`: opens the models under judgement and the truth, measures, and writes what was found as a page for people, as Markdown
// and as JSON. Models of tools are the scenario's own and those that it names under `fidelity.subjects`.

import { join, resolve } from 'node:path';
import type { Json } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import { ensureFolder, writeFileAtomic } from '../../core/files.js';
import type { Phase } from '../../core/progress.js';
import type { Responder } from '../../env/tools/tools-family.js';
import { constructionOf, fidelityDocument, headlines } from '../../fidelity/document.js';
import { parseGates, reportOn, requireMeasured, uniquelyNamed } from '../../fidelity/gates.js';
import { type MeasureOptions, measureWithinBudget } from '../../fidelity/measure.js';
import { type FidelityReport, writeFidelityReport } from '../../fidelity/report.js';
import type { FidelitySetup, OpenedSubjects } from '../../fidelity/section.js';
import { toolsSubjects } from '../../fidelity/tools/opening.js';
import { openVectorSubjects } from '../../fidelity/vector/opening.js';
import type { Scenario } from '../../kinds/vector.js';
import type { ExperienceIndex } from '../../replay/experience/experience.js';
import { parseToolsModelConfig } from '../../worldmodel/tools/tools-model-schema.js';
import { formatNumber } from '../format.js';
import type { JobContext } from '../job.js';
import { markdownText } from '../report.js';
import { writeReport } from '../report-page.js';
import { type AnyScenario, type ConfigObject, layered, type ToolsScenario } from '../scenario.js';
import { provenanceOf } from '../versions.js';
import { fidelityThreads, vectorHost } from './fidelity-vector.js';
import { mustFailReport, scenarioJudge } from './tools/gates.js';
import { ModelCast, makeParts, makeResponder, spendingFacts, type ToolsParts } from './tools/rows.js';

/** What only the main thread has. */
type Services = Pick<JobContext, 'signal' | 'progress' | 'log'>;

/**
 * Language models are asked from this thread alone.
 * @throws SCENARIO_INVALID, LOG_INVALID, INPUT_INVALID, SETTING_INVALID, SCENARIO_UNFIT, and what the domain's and
 *   models' parts throw
 */
export async function openToolsSubjects(
  setup: FidelitySetup<ToolsScenario>,
  services: Services,
): Promise<OpenedSubjects> {
  const { scenario, seed, out } = setup;
  const { name, fidelity } = scenario.config;
  const variants: readonly Variant[] = [{ name, model: {} }, ...fidelity.subjects];
  requireNames(name, variants);
  const parts = await makeParts({ scenario, out, log: services.log });
  const judged: JudgedModel[] = [];
  const close = async () => {
    for (const one of judged) await one.close();
    await parts.close();
  };
  try {
    for (const variant of variants) judged.push(await judgedModel(scenario, parts, out, variant));
    const { domain, user, agent } = parts;
    const models = judged.map((one, i) => answering(setup, services, parts, one, i));
    const judge = await scenarioJudge({ scenario, seed }, parts);
    const subjects = await toolsSubjects({
      ...{ setup, domain, user, agent, judge, models, services },
      answering: [scenario],
    });
    return { ...subjects, budget: parts.budget, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Comparisons go by name. */
function requireNames(path: string, variants: readonly Variant[]): void {
  const names = variants.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice === undefined) return;
  const problem = `two of the models to judge are called "${twice}": each of "fidelity.subjects" needs a name of its own.`;
  throw reverieError('SCENARIO_INVALID', { path, problem });
}

/** With its must-fail suite, whose verdict `synth` reads too: kept beside the run's other files, one a model. */
function answering(
  { scenario, seed, out }: FidelitySetup<ToolsScenario>,
  services: Services,
  { domain }: ToolsParts,
  { name, responder, unaided, cast }: JudgedModel,
  place: number,
) {
  // The scenario's own model keeps its report where a run of it does.
  const folder = place === 0 ? out : join(out, 'subjects', String(place));
  return {
    name,
    responder,
    unaided,
    flush: () => cast.flush(),
    mustFail: async (signal = services.signal) => {
      await ensureFolder(folder);
      return mustFailReport({ ...services, scenario, seed, out: folder, signal }, { domain, responder });
    },
  };
}

type JudgedModel = Awaited<ReturnType<typeof judgedModel>>;

/** What is laid over the scenario's own sections. */
interface Variant {
  readonly name: string;
  readonly model: ConfigObject;
  readonly llm?: ConfigObject;
}

async function judgedModel(
  { config, folder }: ToolsScenario,
  { domain, experience, cast, budget }: ToolsParts,
  out: string,
  { name, model, llm }: Variant,
) {
  const own = { ...config, model: parseToolsModelConfig(layered(config.model as unknown as ConfigObject, model)) };
  const cacheFolder = config.cache === null ? join(out, 'cache') : resolve(folder, config.cache);
  const base = (config.llm ?? {}) as unknown as ConfigObject;
  const speaks =
    llm === undefined
      ? cast
      : new ModelCast({ ...config, llm: layered(base, llm) as never }, { cacheFolder, folder, budget });
  const make = (index: ExperienceIndex) => makeResponder(own, domain, index, speaks, { folder });
  /** As a job would have it. */
  const responder = await make(experience);
  return {
    ...{ name, cast: speaks, responder },
    unaided: unaidedResponder(responder.version, experience, make),
    close: async () => {
      if (speaks !== cast) await speaks.close();
    },
  };
}

/** The model without what is remembered of the task that is asked about: records of it would be the answers. Made once a task. */
function unaidedResponder(
  version: string,
  index: ExperienceIndex,
  make: (index: ExperienceIndex) => Promise<Responder>,
): Responder {
  const byTask = new Map<string, Promise<Responder>>();
  let answering: Responder | undefined;
  return {
    version,
    answer: async (query, signal) => {
      const { id: exceptTask } = query.task;
      // Exact replay too must not see the task.
      const without: ExperienceIndex = {
        get size() {
          return index.size;
        },
        retrieve: (wanted, k) => index.retrieve({ ...wanted, exceptTask }, k),
        exact: (wanted) => index.exact({ ...wanted, exceptTask }),
      };
      const made = byTask.get(exceptTask) ?? make(without);
      byTask.set(exceptTask, made);
      answering = await made;
      return answering.answer(query, signal);
    },
    // All of them have the same backends.
    trusts: (backend) => answering?.trusts?.(backend) === true,
    close: () => {},
  };
}

/** Questions under way at once where the scenario does not say: most of them wait for a language model. */
const CONCURRENT_QUESTIONS = 32;

export type FidelityResult = Awaited<ReturnType<typeof judge>>;

export async function vectorFidelityJob(context: JobContext<Scenario>): Promise<FidelityResult> {
  const { workers, scenario, seed, inputs, out } = context;
  const setup = { scenario, seed, inputs, out };
  const open = () => openVectorSubjects(setup, vectorHost, context);
  const threads = () => (workers > 0 ? fidelityThreads(setup, workers) : undefined);
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
  threads: () => ReturnType<typeof fidelityThreads> | undefined = () => undefined,
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
    const report = reportOn(found, {
      ...{ scenario: scenario.config.name, family: scenario.family, seed, gates, opened },
      provenance: provenance(context, opened),
    });
    for (const { metric } of report.gates) {
      const construction = constructionOf(report, metric);
      if (construction !== undefined) log(`The gate on ${metric} proves nothing: ${construction}`);
    }
    const page = await written(out, report);
    if (found.spent === undefined)
      return { ...resultOf(context, report, page, opened), evaluationSet: opened.evaluationSet };
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

function resultOf(
  { metrics: { wallSeconds }, show }: JobContext<AnyScenario>,
  report: FidelityReport,
  page: string,
  { budget }: OpenedSubjects,
) {
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
    ...(budget === undefined ? [] : spendingFacts(budget)),
  ];
  show({ title: '', blocks: [{ kind: 'facts', rows }] });
  const passed = gates.every((gate) => gate.passed);
  const spending = budget && { spent: budget.spent, spentBy: budget.spentBy };
  return { job: 'fidelity', family, wallSeconds, report: page, passed, gates, subjects, ...spending };
}
