// Opens the models under judgement: folders of world models, and served environments.

import { basename, resolve } from 'node:path';
import type { VectorEnvironment } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { remoteEnvironment } from '../../env/remote/remote.js';
import type { RemoteVectorEnvironment } from '../../env/remote/remote-environment.js';
import { describeSpace } from '../../env/space-values.js';
import { faceOf } from '../../kinds/registry.js';
import { Dream } from '../../worldmodel/dream.js';
import { loadWorldModel } from '../../worldmodel/kinds.js';
import { judgedEnvironment } from '../remote.js';
import { type FidelityInputs, isUrl } from '../setup.js';
import type { VectorSubjectModel } from './ground.js';
import type { VectorSetup } from './setup.js';

export interface OpenedModel {
  readonly model: VectorSubjectModel;
  close(): Promise<void>;
}

/** Makes a real environment; whoever asks closes it. */
export type MakeReal = () => Promise<VectorEnvironment>;

/**
 * All models to judge, the first being the one that gates look at.
 * @throws INPUT_NEEDED, MODEL_FILE_INVALID, INPUT_MISSING, INPUT_UNFIT
 */
export async function openModels(setup: VectorSetup, env: VectorEnvironment, real: MakeReal): Promise<OpenedModel[]> {
  const opened: OpenedModel[] = [];
  try {
    for (const { at, name } of namedModels(setup)) {
      const one = isUrl(at) ? await openUrl(at, setup, env) : await openFolder(at, name, setup, env, real);
      opened.push(one);
    }
    return opened;
  } catch (error) {
    await Promise.all(opened.map((one) => one.close()));
    throw error;
  }
}

interface NamedModel {
  readonly name: string;
  /** Folder or URL. */
  readonly at: string;
}

/** The served one, the one of --model (or of the scenario), and those to compare. */
function namedModels({ inputs, scenario, host }: VectorSetup): NamedModel[] {
  const { name } = scenario.config;
  const own = host.find(inputs, 'model') ?? host.ownModel(scenario);
  const compared = (inputs.compare ?? []).map((given) => ({
    given,
    at: isUrl(given) ? given : host.find({ model: given }, 'model')!,
  }));
  const all = [
    ...(inputs.url === undefined ? [] : [{ given: inputs.url, at: inputs.url }]),
    ...(own === undefined ? [] : [{ given: inputs.model ?? own, at: own }]),
    ...compared,
  ];
  if (all.length === 0)
    throw reverieError('INPUT_NEEDED', {
      problem: `There is no world model of "${name}" to judge.`,
      hint: 'Give --model FOLDER (a run of fit or train), --url URL of a server, or a scenario whose model is an ONNX file.',
    });
  const names = all.map(({ given }) => (isUrl(given) ? given : basename(resolve(given))));
  return all.map(({ at, given }, i) => ({ at, name: isOnce(names, i) ? names[i] : given }));
}

function isOnce(names: readonly string[], index: number): boolean {
  return names.filter((name) => name === names[index]).length === 1;
}

async function openUrl(url: string, { scenario }: VectorSetup, env: VectorEnvironment): Promise<OpenedModel> {
  const { subject, spaces } = await openServed(url, scenario.config.name);
  requireSpaces(spaces, env, url, 'url');
  return { model: subject, close: async () => {} };
}

async function openFolder(
  folder: string,
  name: string,
  { scenario }: VectorSetup,
  env: VectorEnvironment,
  real: MakeReal,
): Promise<OpenedModel> {
  const model = await loadWorldModel(folder);
  try {
    requireSpaces(model, env, folder, 'model');
  } catch (error) {
    await model.close();
    throw error;
  }
  const { propagation, range } = scenario.config.rollout;
  const subject: VectorSubjectModel = {
    name,
    kind: model.backend,
    version: model.modelVersion,
    model,
    forecast: model.forecast?.bind(model),
    dream: async (seed) => {
      const starts = await firstObservation(real, seed);
      return new Dream({ model, starts, maxEpisodeSteps: env.maxEpisodeSteps, range, step: { propagation } });
    },
  };
  return { model: subject, close: () => model.close() };
}

async function firstObservation(real: MakeReal, seed: number): Promise<Float32Array> {
  const env = await real();
  try {
    return (await env.reset({ seed })).observation;
  } finally {
    await env.close();
  }
}

function requireSpaces(
  model: Pick<VectorEnvironment, 'observationSpace' | 'actionSpace'>,
  env: VectorEnvironment,
  path: string,
  input: keyof FidelityInputs,
): void {
  for (const space of ['observationSpace', 'actionSpace'] as const) {
    const [theirs, ours] = [describeSpace(model[space]), describeSpace(env[space])];
    if (theirs === ours) continue;
    const what = space === 'actionSpace' ? 'action space' : 'observation space';
    throw reverieError('INPUT_UNFIT', { path, input, env: env.id, what, theirs, ours });
  }
}

// A served environment under judgement: one can only live in it, from its own reset on.

/** Spaces of the served environment, and itself as a subject. */
interface Served {
  readonly subject: VectorSubjectModel;
  readonly spaces: Pick<RemoteVectorEnvironment, 'observationSpace' | 'actionSpace'>;
}

/** The environment called as the scenario is, else the server's default one. @throws INPUT_NEEDED, and as `remoteEnvironment` */
async function openServed(url: string, scenario: string): Promise<Served> {
  const first = await judgedEnvironment(url, scenario);
  try {
    const { card, observationSpace, actionSpace } = first;
    if (faceOf(card).acts !== 'numbers')
      throw reverieError('INPUT_NEEDED', {
        problem: `There is no world model of "${url}" to judge.`,
        hint: 'Give --model FOLDER (a run of fit or train), --url URL of a server, or a scenario whose model is an ONNX file.',
      });
    const subject: VectorSubjectModel = {
      name: url,
      kind: 'served',
      version: card.version,
      notes: [
        `"${card.name}" is served as ${card.source === 'real' ? 'a real environment' : 'a dream'}; its episodes are begun with the seeds of the real ones.`,
      ],
      dream: async () => (await remoteEnvironment(url, { environment: card.name })) as RemoteVectorEnvironment,
    };
    return { subject, spaces: { observationSpace, actionSpace } as Served['spaces'] };
  } finally {
    await first.close();
  }
}
