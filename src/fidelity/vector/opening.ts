// Opens all that is judged in worlds of numbers: the truth, the models, and what is measured of each.

import { basename, resolve } from 'node:path';
import type { Json } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import { evaluationSetOf } from '../../core/evaluation-set.js';
import { makeEnvironment } from '../../env/environments.js';
import type { Scenario } from '../../kinds/vector.js';
import { misfit } from '../../rl/spaces.js';
import { loadWorldModel } from '../../worldmodel/kinds.js';
import { vectorCalibration } from '../calibration.js';
import { driftRule, horizonFindings } from '../horizon.js';
import { vectorKSteps } from '../k-steps.js';
import { vectorOneStep } from '../one-step.js';
import { unrankable } from '../rank.js';
import { vectorRewardEnd } from '../reward-end.js';
import {
  type FidelityServices,
  type FidelitySetup,
  instrumentsOf,
  type OpenedSubjects,
  type Question,
  type Subject,
} from '../section.js';
import { groundOf, type Judged, type VectorHost, type VectorSetup, type VectorSubjectModel } from './ground.js';
import { openVectorLadder, policyMixture } from './ladder.js';
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
 * @throws INPUT_NEEDED, MODEL_FILE_INVALID, INPUT_MISSING, INPUT_UNFIT, CHECKPOINT_CORRUPT, and what `openTruth` throws
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
    const models: Omit<VectorSubjectModel, 'notes'>[] = [];
    for (const { name, folder: from } of namedModels(setup)) {
      const model = await loadWorldModel(from);
      opened.push(model);
      const problem = misfit(model, env, from, 'model');
      if (problem) throw problem;
      const { backend: kind, modelVersion: version } = model;
      models.push({ name, kind, version, model, forecast: model.forecast?.bind(model) });
    }
    const { truth, report, notes } = await openTruth(setup, env, mixture, services);
    const { horizon, tolerance, sections } = config.fidelity;
    const ladder = sections.includes('rank') ? await openVectorLadder(setup) : undefined;
    if (ladder !== undefined) opened.push(ladder);
    const plan = { seed: setup.seed, horizon, tolerance, propagation: config.rollout.propagation };
    const ground = groundOf(truth, plan);
    const subjects = models.map((model): Subject => {
      const judged = { ground, subject: { ...model, notes }, rank: ladder?.rank };
      return {
        ...{ name: model.name, kind: model.kind, version: model.version },
        instruments: instrumentsOf(VECTOR_QUESTIONS, judged, sections),
        derive: (findings) => (sections.includes('horizon') ? horizonFindings(findings, driftRule, tolerance) : []),
      };
    });
    const evaluationSet = evaluationSetOf({
      environment: truth.version,
      tasks: [],
      seeds: [setup.seed],
      policies: { ladder: hashOf(ladder?.identity ?? null) },
      settings: { plan, fidelity: config.fidelity } as unknown as Json,
    });
    const identity = hashOf('vector fidelity 2', truth.version, plan, ladder?.identity ?? null);
    return { truth: report, identity, evaluationSet, subjects, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The one of --model (or of the scenario), and those to compare; gates look at the first. @throws INPUT_NEEDED */
function namedModels({ inputs, scenario, host }: VectorSetup) {
  const own = host.find(inputs, 'model') ?? host.ownModel(scenario);
  if (own === undefined) {
    throw reverieError('INPUT_NEEDED', {
      problem: `There is no world model of "${scenario.config.name}" to judge.`,
      hint: 'Give --model FOLDER (a run of fit or train), or a scenario whose model is an ONNX file.',
    });
  }
  const compared = (inputs.compare ?? []).map((given) => ({ given, folder: host.find({ model: given }, 'model')! }));
  return [{ given: inputs.model ?? own, folder: own }, ...compared].map(({ given, folder }) => {
    return { name: basename(resolve(given)), folder };
  });
}
