// Worlds of numbers: observations and actions are rows, dynamics are learned, policies are networks.

import type { Kind, ScenarioOf } from '../../core/kind.js';
import { ofKind } from '../of-kind.js';
import { vectorCodec } from './codec.js';
import type { ScenarioConfig } from './scenario.js';

/** A scenario of numbers. */
export type Scenario = ScenarioOf<'vector', ScenarioConfig>;

const text = async () => (await import('../../run/vector-result-text.js')).vectorResultText;

export const vectorKind: Kind = {
  name: 'vector',
  summary: 'Rows of numbers: learned dynamics, policies as networks.',
  representation: 'numbers',
  face: { acts: 'numbers', tasks: 'seed', codec: vectorCodec },
  scenario: async () => (await import('./sections.js')).vectorSections(),
  jobs: {
    collect: {
      load: async () => (await import('../../run/pipeline/collect.js')).collectJob,
      text: async () => (await text()).collect,
    },
    fit: {
      load: async () => (await import('../../run/pipeline/fit.js')).fitJob,
      text: async () => (await text()).fit,
    },
    synth: {
      load: async () => (await import('../../run/pipeline/synth.js')).synthJob,
      text: async () => (await text()).synth,
    },
    train: {
      load: async () => (await import('../../run/pipeline/train.js')).trainJob,
      text: async () => (await text()).train,
    },
    eval: {
      load: async () => (await import('../../run/pipeline/eval.js')).evalJob,
      text: async () => (await text()).eval,
    },
    fidelity: {
      load: async () => (await import('../../run/pipeline/fidelity/fidelity-job.js')).vectorFidelityJob,
      text: async () => (await import('../../run/result-text.js')).fidelityText,
    },
    quickstart: {
      load: async () => (await import('../../run/pipeline/quickstart.js')).quickstartJob,
      text: async () => (await text()).quickstart,
    },
  },
  open: async () => (await import('../../run/serving/open-vector.js')).openVector,
  hosted: { maker: async () => (await import('../../run/serving/vector-blueprint.js')).vectorMaker, runsRules: false },
  checkEnvironment: async () => (await import('../../run/check-environment.js')).checkVectorEnvironment,
  device: async () => (await import('../../run/dream-device.js')).dreamDevice,
};

/** The scenario itself, if it is one of numbers. @throws SCENARIO_UNFIT */
export function vectorScenario(scenario: ScenarioOf): Scenario {
  return ofKind(vectorKind, scenario);
}
