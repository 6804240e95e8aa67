// Opens models of tools under judgement: the scenario's own, those it names, and those to compare.

import { join } from 'node:path';
import { reverieError } from '../../../core/errors.js';
import { ensureFolder } from '../../../core/files.js';
import type { FidelitySetup, OpenedSubjects } from '../../../fidelity/section.js';
import { toolsSubjects } from '../../../fidelity/tools/opening.js';
import { isToolsScenario } from '../../../kinds/registry.js';
import type { JobContext } from '../../job.js';
import { loadAnyScenario, type ToolsScenario } from '../../scenario.js';
import { mustFailReport, scenarioJudge } from '../tools/gates.js';
import { makeParts, type ToolsParts } from '../tools/parts.js';
import { type JudgedModel, judgedModels, ownModel } from './tools-models.js';

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
