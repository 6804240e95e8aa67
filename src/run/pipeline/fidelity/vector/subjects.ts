// Opens all that is judged in family `vector`: the truth, the models, and what is measured of each.

import { makeEnvironment, type VectorEnvironment } from '../../../../env/index.js';
import { groundOf, type Judged, type Subject, vectorInstruments } from '../../../../fidelity/index.js';
import { findInput } from '../../inputs.js';
import { vectorHorizon } from '../horizon/plan.js';
import type { FidelityServices, FidelitySetup, OpenedSubjects } from '../setup.js';
import { type OpenedModel, openModels } from './models.js';
import { type PolicyMixture, policyMixture } from './policies.js';
import { openPolicyInstruments, type PolicyInstruments } from './policy-instruments.js';
import { openTruth } from './truth.js';
import { hashOf } from './truth-rows.js';

/**
 * Records the truth first where there is none yet. Worker threads open the same without `services`.
 * @throws what `openTruth` and `openModels` throw, and CHECKPOINT_CORRUPT
 */
export async function openVectorSubjects(setup: FidelitySetup, services?: FidelityServices): Promise<OpenedSubjects> {
  const { config, folder } = setup.scenario;
  const real = (): Promise<VectorEnvironment> => makeEnvironment(config.env, { folder });
  const env = await real();
  const mixture = await mixtureFor(setup, env);
  let models: OpenedModel[] = [];
  let policies: PolicyInstruments | undefined;
  const close = async () => {
    await policies?.close();
    await Promise.all(models.map((model) => model.close()));
    await mixture.close();
    await env.close();
  };
  try {
    models = await openModels(setup, env, real);
    const { truth, report, notes } = await openTruth(setup, env, mixture, services);
    const judging = await openPolicyInstruments(setup);
    policies = judging;
    const { horizon, tolerance, sections } = config.fidelity;
    const plan = { seed: setup.seed, horizon, tolerance, propagation: config.rollout.propagation };
    const ground = groundOf(truth, plan, { ...mixture.replayed, environment: real });
    const subjects = models.map(({ model }): Subject => {
      const judged: Judged = { ground, subject: { ...model, notes: [...notes, ...(model.notes ?? [])] } };
      const instruments = [...vectorInstruments(judged), ...judging.of(judged.subject, truth)];
      return {
        name: model.name,
        kind: model.kind,
        version: model.version,
        instruments: instruments.filter(({ id }) => sections.includes(id)),
        derive: vectorHorizon(setup.scenario, env.maxEpisodeSteps ?? horizon),
        close: async () => {},
      };
    });
    const identity = hashOf(truth.version, plan, mixture.replayed.policy.version, judging.identity);
    return { truth: report, identity, subjects, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function mixtureFor({ inputs }: FidelitySetup, env: VectorEnvironment): Promise<PolicyMixture> {
  try {
    return await policyMixture(env, findInput(inputs, 'checkpoint'));
  } catch (error) {
    await env.close();
    throw error;
  }
}
