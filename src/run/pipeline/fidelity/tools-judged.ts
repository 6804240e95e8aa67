// Opens models of tools under judgement: the scenario's own, those it names, and those to compare.

import { join, resolve } from 'node:path';
import { reverieError } from '../../../core/errors.js';
import { ensureFolder } from '../../../core/files.js';
import type { Responder } from '../../../env/tools/tools-family.js';
import type { FidelitySetup, OpenedSubjects } from '../../../fidelity/section.js';
import { toolsSubjects } from '../../../fidelity/tools/opening.js';
import { isToolsScenario } from '../../../kinds/registry.js';
import type { ToolsScenarioConfig } from '../../../kinds/tools.js';
import type { ExperienceIndex } from '../../../replay/experience/experience.js';
import { routerBackends } from '../../../worldmodel/tools/backends.js';
import { parseToolsModelConfig, type ToolsModelConfig } from '../../../worldmodel/tools/tools-model-schema.js';
import type { JobContext } from '../../job.js';
import { type ConfigObject, layered, loadAnyScenario, type ToolsScenario } from '../../scenario.js';
import { mustFailReport, scenarioJudge } from '../tools/gates.js';
import { ModelCast, makeParts, makeResponder, type ToolsParts } from '../tools/parts.js';

/** What only the main thread has. */
type Services = Pick<JobContext, 'signal' | 'progress' | 'log'>;

/**
 * Language models are asked from this thread alone.
 * @throws SCENARIO_INVALID, LOG_INVALID, INPUT_INVALID, FLAG_INVALID,
 *   MODEL_CONFIG_INVALID, MODEL_BACKENDS_MISSING, and what the domain's and models' parts throw
 */
export async function openToolsSubjects(
  setup: FidelitySetup<ToolsScenario>,
  services: Services,
): Promise<OpenedSubjects> {
  const { scenario, seed, out } = setup;
  requireOwnInputs(setup);
  const parts = await makeParts({ scenario, out, log: services.log });
  const opened: (JudgedModel | ComparedModel)[] = [];
  const close = async () => {
    for (const one of opened) await one.close();
    await parts.close();
  };
  try {
    for await (const one of openJudged(setup, services, parts)) opened.push(one);
    const compared = opened.flatMap((one) => ('scenario' in one ? [one.scenario] : []));
    const { domain, user } = parts;
    const models = opened.map((one, i) => answering(setup, services, parts, one, i));
    const judge = await scenarioJudge({ scenario, seed }, parts);
    const subjects = await toolsSubjects({
      ...{ setup, domain, user, judge, models, services },
      answering: [scenario, ...compared],
    });
    return { ...subjects, close };
  } catch (error) {
    await close();
    throw error;
  }
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

/** Inputs of other families say nothing here, and nothing is left out in silence. @throws FLAG_INVALID */
function requireOwnInputs({ inputs, scenario }: FidelitySetup<ToolsScenario>): void {
  for (const name of ['model', 'data', 'checkpoint'] as const) {
    const value = inputs[name];
    if (value === undefined) continue;
    const expected = `nothing for "${scenario.config.name}": models of tools are named by fidelity.subjects or --compare, and records by --held-out`;
    throw reverieError('FLAG_INVALID', { flag: `--${name}`, value, expected });
  }
}

/** The scenario's own, those that it names, and those to compare. */
async function* openJudged(
  { scenario, inputs, out }: FidelitySetup<ToolsScenario>,
  { log }: Services,
  parts: ToolsParts,
): AsyncGenerator<JudgedModel | ComparedModel> {
  yield* judgedModels(scenario, parts, out, log);
  for (const [i, given] of (inputs.compare ?? []).entries()) {
    const [folder, cache] = [join(out, 'compared', String(i)), join(out, 'cache')];
    yield await openCompared(given, parts, { folder, cache, log });
  }
}

// The model of another scenario of the same domain, judged beside the scenario's own.

interface ComparedOptions {
  /** Where its records are kept. */
  readonly folder: string;
  /** Where replies of its language models are kept, unless it says so itself. */
  readonly cache: string;
  readonly log: (line: string) => void;
}

interface ComparedModel extends JudgedModel {
  readonly scenario: ToolsScenario;
}

/**
 * @param given  file or folder of a scenario
 * @throws INPUT_INVALID where it is none of this domain, and what `loadAnyScenario` and `makeParts` throw
 */
async function openCompared(
  given: string,
  { domain }: ToolsParts,
  { folder, cache, log }: ComparedOptions,
): Promise<ComparedModel> {
  const scenario = await loadAnyScenario(given);
  const unfit = (problem: string) =>
    reverieError('INPUT_INVALID', {
      problem: `"${given}" cannot be judged beside this scenario: ${problem}.`,
      hint: 'All that is judged answers the same tools in the same tasks; other models of this scenario are named under fidelity.subjects.',
    });
  if (!isToolsScenario(scenario)) throw unfit(`it is a scenario of family ${scenario.family}, and not of tools`);
  const config = { ...scenario.config, cache: scenario.config.cache ?? cache };
  const own = { ...scenario, config };
  const parts = await makeParts({ scenario: own, out: folder, log });
  try {
    if (parts.domain.version !== domain.version)
      throw unfit(`its domain is "${parts.domain.id}", and not "${domain.id}" as it is here`);
    const model = await ownModel(own, parts, folder);
    return {
      ...model,
      scenario: own,
      close: async () => {
        await model.close();
        await parts.close();
      },
    };
  } catch (error) {
    await parts.close();
    throw error;
  }
}

export interface JudgedModel {
  readonly name: string;
  readonly config: ToolsModelConfig;
  readonly cast: ModelCast;
  /** As a job would have it. */
  readonly responder: Responder;
  /** The same without what is remembered of the task that is asked about: records of it would be the answers. */
  readonly unaided: Responder;
  close(): Promise<void>;
}

interface Variant {
  readonly name: string;
  readonly model: ConfigObject;
  readonly llm?: ConfigObject;
}

/**
 * The scenario's own first.
 * @throws SCENARIO_INVALID for two of one name, SETTING_INVALID, SCENARIO_UNFIT, and what language models throw
 */
export async function* judgedModels(
  scenario: ToolsScenario,
  parts: ToolsParts,
  out: string,
  log: (line: string) => void,
): AsyncGenerator<JudgedModel> {
  const variants = variantsOf(scenario.config, log);
  requireNames(scenario.config.name, variants);
  for (const variant of variants) yield await judgedModel(scenario, parts, out, variant);
}

/** Comparisons go by name. */
function requireNames(path: string, variants: readonly Variant[]): void {
  const names = variants.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice === undefined) return;
  const problem = `two of the models to judge are called "${twice}": each of "fidelity.subjects" needs a name of its own.`;
  throw reverieError('SCENARIO_INVALID', { path, problem });
}

/** The model of a scenario as it is. */
export function ownModel(scenario: ToolsScenario, parts: ToolsParts, out: string): Promise<JudgedModel> {
  return judgedModel(scenario, parts, out, { name: scenario.config.name, model: {} });
}

function variantsOf({ name, model, fidelity, llm }: ToolsScenarioConfig, log: (line: string) => void): Variant[] {
  // A tier that the scenario cannot have is none to leave out, nor one that others could do without.
  const backends = model.backends.filter(
    (one) => llm !== null || routerBackends.get(one).needs?.includes('model') !== true,
  );
  const tiers = fidelity.tiersOff && backends.length > 1 ? backends : [];
  if (fidelity.tiersOff && tiers.length === 0) log('The router has one backend: there is no tier to leave out.');
  return [
    { name, model: {} },
    ...fidelity.subjects.map((subject) => ({ name: subject.name, model: subject.model, llm: subject.llm })),
    ...tiers.map((off) => ({ name: `without ${off}`, model: { backends: backends.filter((one) => one !== off) } })),
  ];
}

async function judgedModel(
  { config, folder }: ToolsScenario,
  { domain, experience, cast, budget }: ToolsParts,
  out: string,
  { name, model, llm }: Variant,
): Promise<JudgedModel> {
  const own = { ...config, model: parseToolsModelConfig(layered(config.model as unknown as ConfigObject, model)) };
  const cacheFolder = config.cache === null ? join(out, 'cache') : resolve(folder, config.cache);
  const speaks = llm === undefined ? cast : castOf(config, llm, { cacheFolder, folder, budget });
  const make = (index: ExperienceIndex) => makeResponder(own, domain, index, speaks, { folder });
  const responder = await make(experience);
  return {
    name,
    config: own.model,
    cast: speaks,
    responder,
    unaided: unaidedResponder(responder.version, experience, make),
    close: async () => {
      if (speaks !== cast) await speaks.close();
    },
  };
}

function castOf(config: ToolsScenarioConfig, llm: ConfigObject, options: ConstructorParameters<typeof ModelCast>[1]) {
  const base = (config.llm ?? {}) as unknown as ConfigObject;
  return new ModelCast({ ...config, llm: layered(base, llm) as unknown as ToolsScenarioConfig['llm'] }, options);
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
