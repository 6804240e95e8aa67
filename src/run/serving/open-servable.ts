// From a scenario to what can be served of it.

import { join } from 'node:path';
import { reverieError } from '../../core/errors.js';
import {
  makeEnvironment,
  rowSize,
  rulesResponder,
  type ToolsDomain,
  type ToolsTask,
  textEnvironment,
} from '../../env/index.js';
import { loadWorldModel } from '../../worldmodel/index.js';
import { settleModelDevice } from '../device-choice.js';
import type { DeviceFlags } from '../device-flags.js';
import type { JobInputs } from '../job.js';
import { resolvedSpec } from '../pipeline/given-parts.js';
import { findInput } from '../pipeline/inputs.js';
import { makeEpisodeEnvironment, makeParts } from '../pipeline/tools/parts.js';
import type { AnyScenario, Scenario, ToolsScenario } from '../scenario.js';
import type { Servable, TaskCard } from './servable.js';
import { type VectorBlueprint, vectorMaker } from './vector-blueprint.js';

export interface ServableOptions {
  /** Serve the real environment even where there is a dream of it. */
  readonly real?: boolean;
  /** A world model, or a run that holds one: serves the dream of it. Family `vector`. */
  readonly model?: string;
  /** What the model's dream is computed on; `auto` unless given. */
  readonly device?: DeviceFlags;
  /** Folder for what is kept while serving: replies of language models, experience. Exists. */
  readonly folder: string;
  readonly log: (line: string) => void;
}

/** First observations that dreams begin from: as many resets of the real environment. */
const STARTS = 1024;

/**
 * Opens what `scenario` describes.
 * @throws as its parts do; TOOL_WITHOUT_RULE for the real environment of a domain without rules; INPUT_MISSING
 */
export function openServable(scenario: AnyScenario, options: ServableOptions): Promise<Servable> {
  return scenario.family === 'tools' ? openTools(scenario, options) : openVector(scenario, options);
}

async function openVector(scenario: Scenario, options: ServableOptions): Promise<Servable> {
  const { model, real = false } = options;
  const { name, description } = scenario.config;
  const blueprint =
    model === undefined || real ? realBlueprint(scenario) : await dreamBlueprint(scenario, { model }, options);
  const maker = await vectorMaker(blueprint);
  const probe = await maker.make();
  const { observationSpace, actionSpace, maxEpisodeSteps } = probe;
  await probe.close();
  return {
    name,
    family: 'vector',
    description,
    source: blueprint.source,
    version: versionOf(scenario, blueprint),
    tools: [],
    policy: '',
    tasks: seedTasks(),
    observationSpace,
    actionSpace,
    maxEpisodeSteps,
    blueprint,
    make: () => maker.make(),
    close: () => maker.close(),
  };
}

function realBlueprint(scenario: Scenario): VectorBlueprint {
  return { source: 'real', env: resolvedSpec(scenario) };
}

/** Two devices round in two ways, which may show in a rounded answer. */
function versionOf({ hash }: Scenario, blueprint: VectorBlueprint): string {
  if (blueprint.source === 'real') return hash;
  const { model, device } = blueprint;
  return [hash, model.modelVersion, ...(device ? [device.kind, device.precision] : [])].join(':');
}

async function dreamBlueprint(
  scenario: Scenario,
  inputs: JobInputs,
  { device: asked = {}, log }: ServableOptions,
): Promise<VectorBlueprint> {
  const { device, remark } = await settleModelDevice(asked, findInput(inputs, 'model')!);
  if (remark !== undefined) log(remark);
  const model = await loadWorldModel(findInput(inputs, 'model')!);
  const env = await makeEnvironment(resolvedSpec(scenario));
  const obsDim = rowSize(env.observationSpace);
  try {
    const isSame =
      obsDim === rowSize(model.observationSpace) && rowSize(env.actionSpace) === rowSize(model.actionSpace);
    if (!isSame) {
      const problem = `the world model in "${inputs.model}" is of another environment than ${scenario.config.name}.`;
      throw reverieError('SCENARIO_INVALID', { path: scenario.config.name, problem });
    }
    const starts = new Float32Array(STARTS * obsDim);
    for (let row = 0; row < STARTS; row++) {
      starts.set(env.reset(row === 0 ? { seed: scenario.config.seed } : {}).observation, row * obsDim);
    }
    const { maxEpisodeSteps } = env;
    const of = resolvedSpec(scenario);
    return { source: 'dream', of, id: scenario.config.name, model: model.snapshot(), device, starts, maxEpisodeSteps };
  } finally {
    env.close();
    await model.close();
  }
}

async function openTools(scenario: ToolsScenario, options: ServableOptions): Promise<Servable> {
  const { config, hash } = scenario;
  const { real = false, folder, log } = options;
  const parts = await makeParts({ scenario, out: join(folder, config.name), log });
  const { domain, user } = parts;
  const responder = real ? rulesResponder(domain) : parts.responder;
  const isText = domain.tools.length === 1 && domain.tools[0].name === 'act';
  const makeTools = () => makeEpisodeEnvironment({ domain, user }, responder, config);
  const make = () => (isText ? textEnvironment(makeTools()) : makeTools());
  const { observationSpace, actionSpace } = make();
  return {
    name: config.name,
    family: isText ? 'text' : 'tools',
    description: config.description,
    source: real || isExact(config.model.backends, domain) ? 'real' : 'dream',
    version: [hash, domain.version, responder.version, user.version].join(':'),
    tools: domain.tools,
    policy: domain.policy,
    tasks: domain.tasks.map(cardOf),
    domain,
    observationSpace,
    actionSpace,
    maxEpisodeSteps: config.synth.maxSteps,
    make: async () => make(),
    close: () => parts.close(),
  };
}

/** The first to be asked knows everything: nobody else ever answers. */
function isExact([first]: readonly string[], { rules, tools }: ToolsDomain): boolean {
  return (first === 'rules' || first === 'real') && tools.every(({ name }) => rules?.tools.has(name));
}

function cardOf({ id, split = 'train', family, tags }: ToolsTask): TaskCard {
  return { id, split, family, ...(tags === undefined ? {} : { tags }) };
}

// Environments of numbers have no tasks, protocols of tasks have nothing else: there seeds are the tasks.

/** Seeds that are offered: [split, first, how many]. Any other may still be asked for by itself. */
const OFFERED = [
  ['train', 0, 1000],
  ['test', 1_000_000, 100],
] as const;

/** `seed-0` to `seed-999` in split train, `seed-1000000` to `seed-1000099` in split test. */
function seedTasks(): readonly TaskCard[] {
  return OFFERED.flatMap(([split, first, count]) =>
    Array.from({ length: count }, (_, i) => ({ id: `seed-${first + i}`, split, seed: first + i })),
  );
}
