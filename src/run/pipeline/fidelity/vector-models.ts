// Opens the models under judgement: folders of world models, and served environments.

import { basename, resolve } from 'node:path';
import { describeSpace, type VectorEnvironment } from '../../../env/index.js';
import { reverieError } from '../../../errors.js';
import { forecasterOf, type VectorSubjectModel } from '../../../fidelity/index.js';
import { Dream, loadWorldModel, type StoredWorldModel } from '../../../worldmodel/index.js';
import type { JobInputs } from '../../job.js';
import { findInput } from '../inputs.js';
import type { FidelitySetup } from './setup.js';

export interface OpenedModel {
  readonly model: VectorSubjectModel;
  close(): Promise<void>;
}

/** Makes a real environment; whoever asks closes it. */
export type MakeReal = () => Promise<VectorEnvironment>;

/**
 * All models to judge, the first being the one that gates look at.
 * @throws FIDELITY_NO_MODEL, MODEL_FOLDER_INVALID, INPUT_MISSING, INPUT_UNFIT
 */
export async function openModels(setup: FidelitySetup, env: VectorEnvironment, real: MakeReal): Promise<OpenedModel[]> {
  const opened: OpenedModel[] = [];
  try {
    for (const { folder, name } of namedFolders(setup)) {
      opened.push(await openFolder(folder, name, setup, env, real));
    }
    return opened;
  } catch (error) {
    await Promise.all(opened.map((one) => one.close()));
    throw error;
  }
}

interface NamedFolder {
  readonly name: string;
  readonly folder: string;
}

function namedFolders({ inputs, scenario }: FidelitySetup): NamedFolder[] {
  const { model: config, name } = scenario.config;
  const own =
    findInput(inputs, 'model') ?? (config.kind === 'onnx' ? resolve(scenario.folder, config.folder) : undefined);
  const compared = (inputs.compare ?? []).map((given) => ({ given, folder: findInput({ model: given }, 'model')! }));
  if (own === undefined && compared.length === 0) throw reverieError('FIDELITY_NO_MODEL', { name });
  const all = [...(own === undefined ? [] : [{ given: inputs.model ?? own, folder: own }]), ...compared];
  const names = all.map(({ given }) => basename(resolve(given)));
  return all.map(({ folder, given }, i) => ({ folder, name: isOnce(names, i) ? names[i] : given }));
}

function isOnce(names: readonly string[], index: number): boolean {
  return names.filter((name) => name === names[index]).length === 1;
}

async function openFolder(
  folder: string,
  name: string,
  { scenario }: FidelitySetup,
  env: VectorEnvironment,
  real: MakeReal,
): Promise<OpenedModel> {
  const model = await loadWorldModel(folder);
  try {
    requireSpaces(model, env, folder);
  } catch (error) {
    await model.close();
    throw error;
  }
  const { propagation } = scenario.config.rollout;
  const subject: VectorSubjectModel = {
    name,
    kind: model.backend,
    version: model.modelVersion,
    model,
    forecast: forecasterOf(model),
    dream: async (seed) => dreamFrom(await firstObservation(real, seed), model, env.maxEpisodeSteps, propagation),
  };
  return { model: subject, close: () => model.close() };
}

function dreamFrom(
  start: Float32Array,
  model: StoredWorldModel,
  maxEpisodeSteps: number | undefined,
  propagation: 'ts1' | 'mean',
): Dream {
  return new Dream({ model, starts: start, maxEpisodeSteps, step: { propagation } });
}

async function firstObservation(real: MakeReal, seed: number): Promise<Float32Array> {
  const env = await real();
  try {
    return (await env.reset({ seed })).observation;
  } finally {
    await env.close();
  }
}

function requireSpaces(model: StoredWorldModel, env: VectorEnvironment, path: string): void {
  for (const space of ['observationSpace', 'actionSpace'] as const) {
    const [theirs, ours] = [describeSpace(model[space]), describeSpace(env[space])];
    if (theirs === ours) continue;
    const what = space === 'actionSpace' ? 'action space' : 'observation space';
    throw reverieError('INPUT_UNFIT', {
      path,
      input: 'model' satisfies keyof JobInputs,
      env: env.id,
      what,
      theirs,
      ours,
    });
  }
}
