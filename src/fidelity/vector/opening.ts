// Opens all that is judged in worlds of numbers: the truth, the models, and what is measured of each.

import { basename, resolve } from 'node:path';
import type { Json } from '../../core/canonical-json.js';
import type { VectorEnvironment } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { panelOf } from '../../core/evaluation-set.js';
import { makeEnvironment } from '../../env/make-environment.js';
import { remoteEnvironment } from '../../env/remote/remote.js';
import type { RemoteVectorEnvironment } from '../../env/remote/remote-environment.js';
import { describeSpace } from '../../env/space-values.js';
import { faceOf } from '../../kinds/registry.js';
import type { Scenario } from '../../kinds/vector.js';
import { loadWorldModel } from '../../worldmodel/kinds.js';
import { vectorCalibration } from '../calibration.js';
import { driftRule, horizonFindings } from '../horizon.js';
import { unrankable } from '../rank.js';
import { vectorRewardEnd } from '../reward-end.js';
import {
  type FidelityInputs,
  type FidelityServices,
  type FidelitySetup,
  instrumentsOf,
  isUrl,
  judgedEnvironment,
  type OpenedSubjects,
  type Question,
  type Subject,
} from '../section.js';
import { groundOf, type Judged, type VectorHost, type VectorSetup, type VectorSubjectModel } from './ground.js';
import { vectorKSteps } from './k-steps.js';
import { openVectorLadder } from './ladder.js';
import { vectorOneStep } from './one-step.js';
import { policyMixture } from './policies.js';
import { hashOf, openTruth } from './truth.js';

export const VECTOR_QUESTIONS: readonly Question<Judged>[] = [
  { id: 'one-step', ask: vectorOneStep },
  { id: 'k-steps', ask: vectorKSteps },
  { id: 'reward-end', ask: vectorRewardEnd },
  { id: 'calibration', ask: vectorCalibration },
  { id: 'rank', ask: ({ rank, subject }) => rank?.(subject) ?? unrankable('No policies were opened.') },
];

/**
 * Records the truth first where there is none yet. Worker threads open the same without `services`.
 * @throws what `openTruth` and `openModel` throw, and CHECKPOINT_CORRUPT
 */
export async function openVectorSubjects(
  given: FidelitySetup<Scenario>,
  host: VectorHost,
  services?: FidelityServices,
): Promise<OpenedSubjects> {
  const setup: VectorSetup = { ...given, host };
  const { config, folder } = setup.scenario;
  const opened: { close(): Promise<void> | void }[] = [];
  const close = async () => {
    for (const one of opened.reverse()) await one.close();
  };
  try {
    const env = await makeEnvironment(config.env, { folder });
    opened.push(env);
    const mixture = await policyMixture(env, host.find(setup.inputs, 'checkpoint'), host);
    opened.push(mixture);
    const models: OpenedModel[] = [];
    for (const named of namedModels(setup)) {
      models.push(await openModel(named, setup, env));
      opened.push(models.at(-1)!);
    }
    const { truth, report, notes } = await openTruth(setup, env, mixture, services);
    const { horizon, tolerance, sections } = config.fidelity;
    const ladder = sections.includes('rank') ? await openVectorLadder(setup) : undefined;
    if (ladder !== undefined) opened.push(ladder);
    const plan = { seed: setup.seed, horizon, tolerance, propagation: config.rollout.propagation };
    const ground = groundOf(truth, plan);
    const subjects = models.map(({ model }): Subject => {
      const subject = { ...model, notes: [...notes, ...(model.notes ?? [])] };
      return {
        name: model.name,
        kind: model.kind,
        version: model.version,
        instruments: instrumentsOf(VECTOR_QUESTIONS, { ground, subject, rank: ladder?.rank }, sections),
        derive: (findings) => (sections.includes('horizon') ? horizonFindings(findings, driftRule, tolerance) : []),
      };
    });
    const panel = panelOf({
      environment: truth.version,
      tasks: [],
      seeds: [setup.seed],
      policies: { ladder: hashOf(ladder?.identity ?? null) },
      settings: { plan, fidelity: config.fidelity } as unknown as Json,
    });
    const identity = hashOf('vector fidelity 2', truth.version, plan, ladder?.identity ?? null);
    return { truth: report, identity, panel, subjects, close };
  } catch (error) {
    await close();
    throw error;
  }
}

// The models under judgement: folders of world models, and served environments.

interface OpenedModel {
  readonly model: VectorSubjectModel;
  close(): Promise<void>;
}

interface NamedModel {
  readonly name: string;
  /** Folder or URL. */
  readonly at: string;
}

/** The served one, the one of --model (or of the scenario), and those to compare; gates look at the first. @throws INPUT_NEEDED */
function namedModels({ inputs, scenario, host }: VectorSetup): NamedModel[] {
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
  if (all.length === 0) throw noModel(scenario.config.name);
  const names = all.map(({ given }) => (isUrl(given) ? given : basename(resolve(given))));
  const isOnce = (name: string) => names.filter((other) => other === name).length === 1;
  return all.map(({ at, given }, i) => ({ at, name: isOnce(names[i]) ? names[i] : given }));
}

/** @throws INPUT_NEEDED, MODEL_FILE_INVALID, INPUT_MISSING, INPUT_UNFIT, and as `remoteEnvironment` */
async function openModel(
  { at, name }: NamedModel,
  { scenario }: VectorSetup,
  env: VectorEnvironment,
): Promise<OpenedModel> {
  if (isUrl(at)) return { model: await servedModel(at, scenario.config.name, env), close: async () => {} };
  const model = await loadWorldModel(at);
  try {
    requireSpaces(model, env, at, 'model');
  } catch (error) {
    await model.close();
    throw error;
  }
  const { backend: kind, modelVersion: version } = model;
  const subject = { name, kind, version, model, forecast: model.forecast?.bind(model) };
  return { model: subject, close: () => model.close() };
}

/** A served environment: one can only act in it, from its own reset on. */
async function servedModel(url: string, scenario: string, env: VectorEnvironment): Promise<VectorSubjectModel> {
  const first = await judgedEnvironment(url, scenario);
  try {
    const { card } = first;
    if (faceOf(card).acts !== 'numbers') throw noModel(url);
    requireSpaces(first as RemoteVectorEnvironment, env, url, 'url');
    return {
      name: url,
      kind: 'served',
      version: card.version,
      notes: [
        `"${card.name}" is served as ${card.source === 'real' ? 'a real environment' : 'a simulation'}; its episodes are begun with the seeds of the real ones.`,
      ],
      environment: async () => (await remoteEnvironment(url, { environment: card.name })) as RemoteVectorEnvironment,
    };
  } finally {
    await first.close();
  }
}

function noModel(name: string): Error {
  return reverieError('INPUT_NEEDED', {
    problem: `There is no world model of "${name}" to judge.`,
    hint: 'Give --model FOLDER (a run of fit or train), --url URL of a server, or a scenario whose model is an ONNX file.',
  });
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
