// Worlds of messages and typed tool calls over a state.

import type { Kind, ScenarioOf } from '../../core/kind.js';
import { ofKind } from '../of-kind.js';
import { toolsCodec } from './codec.js';
import type { ToolsScenarioConfig } from './scenario.js';

/** A scenario of messages and tool calls. */
export type ToolsScenario = ScenarioOf<'tools', ToolsScenarioConfig>;

const text = async () => (await import('../../run/tools-result-text.js')).toolsResultText;
const realEpisodes = () => import('../../run/pipeline/tools/real-episodes.js');

export const toolsKind: Kind = {
  name: 'tools',
  summary: 'Messages and typed tool calls over a state, answered by rules, records or language models.',
  representation: 'structured',
  face: { acts: 'turn', tasks: 'id', codec: toolsCodec },
  scenario: async (layers = []) => (await import('./sections.js')).toolsSections(layers),
  jobs: {
    collect: {
      load: async () => (await realEpisodes()).collectEpisodesJob,
      text: async () => (await text()).collect,
    },
    fit: {
      load: async () => (await import('../../run/pipeline/tools/fit-backend.js')).fitBackendJob,
      text: async () => (await text()).fit,
    },
    synth: {
      load: async () => (await import('../../run/pipeline/tools/synth-episodes.js')).synthEpisodesJob,
      text: async () => (await text()).synth,
    },
    eval: {
      load: async () => (await realEpisodes()).evalEpisodesJob,
      text: async () => (await text()).eval,
    },
    train: {
      load: async () => (await import('../../run/pipeline/tools/train-policy.js')).trainPolicyJob,
      text: async () => (await text()).train,
    },
    fidelity: {
      load: async () => (await import('../../run/pipeline/fidelity/fidelity-job.js')).toolsFidelityJob,
      text: async () => (await import('../../run/result-text.js')).fidelityText,
    },
    quickstart: {
      load: async () => (await import('../../run/pipeline/tools/quickstart-text.js')).quickstartTextJob,
      text: async () => (await import('../../run/result-text.js')).quickstartText,
    },
    audit: {
      load: async () => (await import('../../run/pipeline/tools/audit.js')).auditJob,
      text: async () => (await text()).audit,
    },
    export: {
      load: async () => (await import('../../run/pipeline/tools/export-episodes.js')).exportJob,
      text: async () => (await text()).export,
    },
  },
  open: async () => (await import('../../run/serving/open-tools.js')).openTools,
  hosted: { maker: async () => (await import('../../run/serving/tools-blueprint.js')).toolsMaker, runsRules: true },
  checkEnvironment: async () => (await import('../../run/check-environment.js')).checkToolsEnvironment,
  device: async () => (await import('../../run/tools-device.js')).toolsDevice,
  queue: queueProblem,
};

export function isToolsScenario(scenario: ScenarioOf): scenario is ToolsScenario {
  return scenario.family === toolsKind.name;
}

/** The scenario itself, if it is one of tools. @throws SCENARIO_UNFIT */
export function toolsScenario(scenario: ScenarioOf): ToolsScenario {
  return ofKind(toolsKind, scenario);
}

/** Rows that are shown what earlier rows dreamt cannot be lived elsewhere. */
function queueProblem({ experience, model }: ToolsScenarioConfig): ReturnType<NonNullable<Kind['queue']>> {
  if (experience.enrich === 'never' || model.llm.retrieval.sources !== 'both') return undefined;
  return {
    setting: `model.llm.retrieval.sources=both with experience.enrich=${experience.enrich}`,
    problem: 'what earlier rows dreamt would have to be with every worker before a later row begins',
  };
}
