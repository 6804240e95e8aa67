// A world as it is taken along to a page: some of its tasks, and those of its backends that can answer there. Of a run it is what the run
// made: the model of a fit, or the dream that a training ended with.

import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { reverieError } from '../../core/errors.js';
import type { Json } from '../../core/json.js';
import { makeDomain, type ToolsDomain } from '../../env/index.js';
import { toolsScenario } from '../../kinds/index.js';
import {
  backendSettings,
  parseToolsModelConfig,
  routerBackends,
  type ToolsModelConfig,
} from '../../worldmodel/index.js';
import { layered } from '../overrides.js';
import { ofTraining } from '../pipeline/tools/parts.js';
import { readRunRecord, readRunResult, savedScenario } from '../run-folder.js';
import { adjustScenario, loadToolsScenario, type ScenarioOptions, type ToolsScenario } from '../scenario.js';

/** What a page holds as JSON; its files lie beside it. */
export interface WorldData {
  readonly format: 'reverie-world';
  readonly formatVersion: 1;
  readonly name: string;
  /** What `ToolsDomain.carry` answered. */
  readonly domain: Json;
  /** Of those backends that are here; files are named as they are in the page. */
  readonly model: ToolsModelConfig;
  /** Backends of the scenario that are not here: a line each, with the reason. */
  readonly absent: readonly string[];
  readonly maxSteps: number;
  readonly seed: number;
}

export interface CarriedWorld {
  readonly data: WorldData;
  /** Ids of the tasks that were taken along. */
  readonly tasks: readonly string[];
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** Whether any of its backends answers by a network. */
  readonly hasNetwork: boolean;
}

export interface CarryOptions extends ScenarioOptions {
  /** Most tasks, evenly spaced over those that there are. */
  readonly tasks: number;
  /** These and no others, by id. */
  readonly task?: readonly string[];
}

/**
 * @param reference  a run of `fit` or `train`, or a scenario
 * @throws WORLD_NOT_CARRIED, TASK_UNKNOWN, FLAG_INVALID, what loading a scenario throws, and what making its backends throws
 */
export async function carriedWorld(reference: string, options: CarryOptions): Promise<CarriedWorld> {
  const scenario = await scenarioOf(reference, options);
  const domain = await makeDomain(scenario.config.domain, { folder: scenario.folder });
  try {
    return await carriedFrom(domain, scenario, options);
  } finally {
    domain.close();
  }
}

/**
 * The last dream of a training that runs: `scenario` is the one it trains by, `run` its folder.
 * @throws what `carriedWorld` throws
 */
export function carriedDream(
  domain: ToolsDomain,
  scenario: ToolsScenario,
  run: string,
  options: CarryOptions,
): Promise<CarriedWorld> {
  return carriedFrom(domain, madeOf(scenario, dreamOf(run)), options);
}

async function carriedFrom(
  domain: ToolsDomain,
  { config, folder }: ToolsScenario,
  options: CarryOptions,
): Promise<CarriedWorld> {
  if (domain.carry === undefined) {
    const problem = 'its tasks cannot be lived without the files, processes or services that it has here';
    throw reverieError('WORLD_NOT_CARRIED', { name: config.name, problem });
  }
  const { backends, absent, files } = await carriedBackends(config.model, folder);
  if (backends.size === 0) throw reverieError('WORLD_NOT_CARRIED', { name: config.name, problem: absent.join('; ') });
  const names = [...backends.keys()];
  const tasks = tasksOf(domain, options);
  const data: WorldData = {
    ...{ format: 'reverie-world', formatVersion: 1, name: config.name, domain: domain.carry(tasks) },
    model: { ...config.model, ...Object.fromEntries(backends), backends: names } as ToolsModelConfig,
    ...{ absent, maxSteps: config.synth.maxSteps, seed: options.seed ?? 0 },
  };
  return { data, tasks, files, hasNetwork: names.some((name) => routerBackends.get(name).deviceFit !== undefined) };
}

async function scenarioOf(reference: string, options: ScenarioOptions): Promise<ToolsScenario> {
  const record = existsSync(reference) ? readRunRecord(reference) : undefined;
  if (record === undefined) return loadToolsScenario(reference, options);
  const saved = toolsScenario(await adjustScenario((await savedScenario(reference))!, options));
  const scenario = record.job === 'train' ? withModel(saved, ofTraining(saved).config.model) : saved;
  return madeOf(scenario, record.job === 'train' ? dreamOf(reference) : fittedOf(reference));
}

/** A scenario whose backends are those that a run made, where it made any. */
function madeOf(scenario: ToolsScenario, made: Made): ToolsScenario {
  const known = scenario.config.model.backends.filter((name) => name in made);
  const backends =
    known.length > 0 || Object.keys(made).length === 0 ? scenario.config.model.backends : Object.keys(made);
  return withModel(scenario, parseToolsModelConfig(layered({ ...scenario.config.model, backends }, made)));
}

function withModel(scenario: ToolsScenario, model: ToolsModelConfig): ToolsScenario {
  return { ...scenario, config: { ...scenario.config, model } };
}

type Made = Record<string, { readonly file: string } | { readonly model: string }>;

/** What the last dream of a training was made of: a folder for each backend, in a folder for each time. */
function dreamOf(run: string): Made {
  const all = resolve(run, 'dream');
  const last = existsSync(all) ? readdirSync(all).sort().at(-1) : undefined;
  if (last === undefined) return {};
  const folder = join(all, last);
  return Object.fromEntries(
    readdirSync(folder).map((name) => {
      const file = join(folder, name, 'operators.json');
      return [name, existsSync(file) ? { file } : { model: join(folder, name, 'model') }];
    }),
  );
}

function fittedOf(run: string): Made {
  const { backend } = readRunResult(run) ?? {};
  return typeof backend === 'string' ? { [backend]: { model: resolve(run) } } : {};
}

async function carriedBackends(model: ToolsModelConfig, folder: string) {
  const backends = new Map<string, unknown>();
  const absent: string[] = [];
  const files: Record<string, Uint8Array> = {};
  for (const entry of model.backends.map((name) => routerBackends.get(name))) {
    const carry = await entry.carry?.();
    const carried = (await carry?.(backendSettings(entry, model), folder)) ?? `${entry.name}: answers only where it is`;
    if (typeof carried === 'string') absent.push(carried);
    else {
      backends.set(entry.name, carried.settings);
      Object.assign(files, carried.files);
    }
  }
  return { backends, absent, files };
}

function tasksOf({ tasks }: ToolsDomain, { tasks: most, task: named }: CarryOptions): string[] {
  if (named !== undefined) return [...new Set(named)];
  if (most < 1) throw reverieError('FLAG_INVALID', { flag: '--tasks', value: most, expected: '1 or more' });
  const count = Math.min(most, tasks.length);
  return Array.from({ length: count }, (_, i) => tasks[Math.floor((i * tasks.length) / count)].id);
}
