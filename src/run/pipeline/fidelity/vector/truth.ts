// The real transitions that dreams are held against: recorded once into the run, or brought by the user.

import type { VectorEnvironment } from '../../../../env/index.js';
import type { TruthReport, VectorTruth } from '../../../../fidelity/index.js';
import { findInput } from '../../inputs.js';
import type { FidelityServices, FidelitySetup } from '../setup.js';
import { broughtTruth } from './brought-truth.js';
import { elementNames } from './elements.js';
import type { PolicyMixture } from './policies.js';
import { recordedTruth } from './recording.js';

export interface OpenedTruth {
  readonly truth: VectorTruth;
  readonly report: TruthReport;
  readonly notes: readonly string[];
}

/**
 * The truth of a run: `--held-out` or `--data` where given, else what is recorded in `<out>/truth` (recorded now, if it is
 * not there yet). @throws FIDELITY_TRUTH_UNFIT, INPUT_UNFIT, INPUT_MISSING, CHECKPOINT_CORRUPT
 */
export async function openTruth(
  setup: FidelitySetup,
  env: VectorEnvironment,
  mixture: PolicyMixture,
  services?: FidelityServices,
): Promise<OpenedTruth> {
  const { inputs, scenario } = setup;
  const brought = findInput({ data: inputs.heldOut ?? inputs.data }, 'data');
  const found =
    brought === undefined
      ? await recordedTruth(setup, env, mixture, services)
      : await broughtTruth(setup, env, brought);
  const { rows, episodes, starts, version, description, notes } = found;
  const { observationSpace, actionSpace } = env;
  const elements = elementNames(scenario.config.env, env);
  return {
    truth: { version, observationSpace, actionSpace, elements, rows, episodes, starts },
    report: {
      kind: brought === undefined ? 'environment' : 'recorded',
      description,
      version,
      transitions: rows.rows,
      episodes: episodes.length,
    },
    notes,
  };
}
