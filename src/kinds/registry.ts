// The kinds of world there are: what a scenario of each may say, and how it looks from outside. Games and screens come in through the
// door of plugins, with all they have beside a kind. What jobs do in each is in src/run/jobs.ts.

import type { Environment } from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import type { Face, Kind, ScenarioOf } from '../core/kind.js';
import { bringPlugin } from '../core/plugins.js';
import { Registry } from '../core/registry.js';
import type { ToolsDomain } from '../env/tools/domain.js';
import { isTextDomain, textEnvironment } from '../env/tools/text-environment.js';
import type { ToolsEpisodeEnvironment } from '../env/tools/tools-environment.js';
import { games } from '../games/plugin.js';
import { screens } from '../screens/plugin.js';
import { textCodec, toolsCodec, vectorCodec } from './codecs.js';
import type { ToolsScenario } from './tools.js';
import type { Scenario } from './vector.js';

const vectorKind: Kind = {
  name: 'vector',
  summary: 'Rows of numbers: learned dynamics, policies as networks.',
  representation: 'numbers',
  face: { acts: 'numbers', tasks: 'seed', codec: vectorCodec },
  scenario: async () => (await import('./vector.js')).vectorSections(),
};

const toolsKind: Kind = {
  name: 'tools',
  summary: 'Messages and typed tool calls over a state, answered by rules, records or language models.',
  representation: 'structured',
  face: { acts: 'turn', tasks: 'id', codec: toolsCodec },
  scenario: async (layers = []) => (await import('./tools.js')).toolsSections(layers),
};

const textKind: Kind = {
  name: 'text',
  summary: 'One line of text in, one out: how a domain of a single tool "act" is played.',
  representation: 'structured',
  face: { acts: 'line', tasks: 'id', codec: textCodec, lineOf: ({ arguments: given }) => given['text'] },
  view: { of: isTextDomain, make: (environment: ToolsEpisodeEnvironment) => textEnvironment(environment) },
};

export const kinds = new Registry<Kind>('kind of world', [vectorKind, toolsKind, textKind]);
for (const plugin of [games, screens]) bringPlugin(plugin);

/** What a scenario is of that does not say. */
export const DEFAULT_KIND = vectorKind.name;

/** How worlds of a kind look from outside. @throws NAME_UNKNOWN, SCENARIO_UNFIT for a kind that cannot be served */
export function faceOf({ family, name }: { readonly family: string; readonly name?: string }): Face {
  const { face } = kinds.get(family);
  if (face !== undefined) return face;
  const able = kinds.list().filter((kind) => kind.face !== undefined);
  throw wrongFamily(name ?? family, family, able.map((kind) => kind.name).join(' or '));
}

/** What is said of a scenario for which something cannot be done. */
export function wrongFamily(name: string, family: string, wanted: string): Error {
  return reverieError('SCENARIO_UNFIT', {
    problem: `Scenario "${name}" is of family ${family}; this is for scenarios of family ${wanted}.`,
    hint: 'reverie scenarios lists the built-in ones; docs/tools.md says what can be done with which family.',
  });
}

export function isToolsScenario(scenario: ScenarioOf): scenario is ToolsScenario {
  return scenario.family === toolsKind.name;
}

/** The scenario itself, if it is one of numbers. @throws SCENARIO_UNFIT */
export function vectorScenario(scenario: ScenarioOf): Scenario {
  return ofKind(vectorKind, scenario);
}

/** The scenario itself, if it is one of tools. @throws SCENARIO_UNFIT */
export function toolsScenario(scenario: ScenarioOf): ToolsScenario {
  return ofKind(toolsKind, scenario);
}

function ofKind<S extends ScenarioOf>({ name: wanted }: Kind, scenario: ScenarioOf): S {
  const { family, config } = scenario;
  if (family === wanted) return scenario as S;
  throw wrongFamily(config.name, family, wanted);
}

/** The kind as which episodes of a domain of tools are played: its own, or one that is a view of it. */
export function kindOfDomain(domain: ToolsDomain): Kind {
  return kinds.list().find(({ view }) => view?.of(domain as never)) ?? toolsKind;
}

/** Environments of the domain, made of those of its tools. */
export function viewOf(domain: ToolsDomain, make: () => ToolsEpisodeEnvironment): () => Environment {
  const { view } = kindOfDomain(domain);
  return view === undefined ? make : () => view.make(make() as never);
}
