// The models of tools that are judged: the scenario's own, those it names beside, and the router with each of its tiers off.

import { join, resolve } from 'node:path';
import { reverieError } from '../../../core/errors.js';
import type { Responder } from '../../../env/tools/tools-family.js';
import type { ToolsScenarioConfig } from '../../../kinds/tools.js';
import type { ExperienceIndex } from '../../../replay/experience/experience.js';
import { parseToolsModelConfig, type ToolsModelConfig } from '../../../worldmodel/tools/tools-model-schema.js';
import { type ConfigObject, layered, type ToolsScenario } from '../../scenario.js';
import { ModelCast, makeResponder, type ToolsParts } from '../tools/parts.js';

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

function variantsOf({ name, model, fidelity }: ToolsScenarioConfig, log: (line: string) => void): Variant[] {
  const { backends } = model;
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
