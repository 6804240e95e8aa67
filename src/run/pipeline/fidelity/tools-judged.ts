// Opens models of tools under judgement: the scenario's own, and those that it names under `fidelity.subjects`.

import { join, resolve } from 'node:path';
import { reverieError } from '../../../core/errors.js';
import { ensureFolder } from '../../../core/files.js';
import type { Responder } from '../../../env/tools/tools-family.js';
import type { FidelitySetup, OpenedSubjects } from '../../../fidelity/section.js';
import { toolsSubjects } from '../../../fidelity/tools/opening.js';
import type { ToolsScenarioConfig } from '../../../kinds/tools.js';
import type { ExperienceIndex } from '../../../replay/experience/experience.js';
import { parseToolsModelConfig } from '../../../worldmodel/tools/tools-model-schema.js';
import type { JobContext } from '../../job.js';
import { type ConfigObject, layered, type ToolsScenario } from '../../scenario.js';
import { mustFailReport, scenarioJudge } from '../tools/gates.js';
import { ModelCast, makeParts, makeResponder, type ToolsParts } from '../tools/parts.js';

/** What only the main thread has. */
type Services = Pick<JobContext, 'signal' | 'progress' | 'log'>;

/**
 * Language models are asked from this thread alone.
 * @throws SCENARIO_INVALID, LOG_INVALID, INPUT_INVALID, FLAG_INVALID, SETTING_INVALID, SCENARIO_UNFIT, and what the domain's and
 *   models' parts throw
 */
export async function openToolsSubjects(
  setup: FidelitySetup<ToolsScenario>,
  services: Services,
): Promise<OpenedSubjects> {
  const { scenario, seed, out } = setup;
  requireOwnInputs(setup);
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
    const { domain, user } = parts;
    const models = judged.map((one, i) => answering(setup, services, parts, one, i));
    const judge = await scenarioJudge({ scenario, seed }, parts);
    const subjects = await toolsSubjects({
      ...{ setup, domain, user, judge, models, services },
      answering: [scenario],
    });
    return { ...subjects, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Inputs of other families say nothing here, and nothing is left out in silence. @throws FLAG_INVALID */
function requireOwnInputs({ inputs, scenario }: FidelitySetup<ToolsScenario>): void {
  for (const name of ['model', 'data', 'checkpoint', 'compare'] as const) {
    const value = inputs[name];
    if (value === undefined) continue;
    const expected = `nothing for "${scenario.config.name}": models of tools are named by fidelity.subjects, and records by --held-out`;
    throw reverieError('FLAG_INVALID', { flag: `--${name}`, value: String(value), expected });
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

interface JudgedModel {
  readonly name: string;
  readonly cast: ModelCast;
  /** As a job would have it. */
  readonly responder: Responder;
  /** The same without what is remembered of the task that is asked about: records of it would be the answers. */
  readonly unaided: Responder;
  close(): Promise<void>;
}

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
): Promise<JudgedModel> {
  const own = { ...config, model: parseToolsModelConfig(layered(config.model as unknown as ConfigObject, model)) };
  const cacheFolder = config.cache === null ? join(out, 'cache') : resolve(folder, config.cache);
  const speaks = llm === undefined ? cast : castOf(config, llm, { cacheFolder, folder, budget });
  const make = (index: ExperienceIndex) => makeResponder(own, domain, index, speaks, { folder });
  const responder = await make(experience);
  return {
    ...{ name, cast: speaks, responder },
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
