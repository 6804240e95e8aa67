// The library fixture, for tests, real environments of domains, and short ways to write actions.

import { fileURLToPath } from 'node:url';
import type { Json } from '../../../src/core/canonical-json.js';
import type { ToolsDomain } from '../../../src/env/tools/domain.js';
import { loadDomain } from '../../../src/env/tools/load-domain.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../../../src/env/tools/scripted-user.js';
import { type ToolsEnvironmentOptions, ToolsEpisodeEnvironment } from '../../../src/env/tools/tools-environment.js';
import type { ToolsAction } from '../../../src/env/tools/tools-family.js';
import type { EpisodeSettings } from '../../../src/synth/episodes/run-episode.js';

export const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));

export const loadLibrary = () => loadDomain(fixture('library'));

/** The real environment of a domain, with a scripted user, where `options` say nothing else. */
export function rulesEnvironment(domain: ToolsDomain, options: Partial<ToolsEnvironmentOptions> = {}) {
  const { responder = rulesResponder(domain), ...others } = options;
  return new ToolsEpisodeEnvironment({ id: domain.id, domain, responder, user: new ScriptedUser(), ...others });
}

/** An action of one call. */
export function call(name: string, args: Record<string, Json> = {}, id = ''): ToolsAction {
  return { content: null, toolCalls: [{ id, name, arguments: args }] };
}

export const SOLUTION: readonly ToolsAction[] = [
  call('get_member', { member_id: 'M1' }),
  call('lend_book', { member_id: 'M1', book_id: 'B1' }),
  { content: 'Dune is yours, it is due on 2030-03-22.' },
];

/** Settings of an episode in which nothing matters but that it is played. */
export const LIVED: EpisodeSettings = {
  ...{ scenario: 'test', scenarioHash: 'hash', seed: 5, source: 'real', maxSteps: 40 },
  ...{ responderVersion: 'rules', userVersion: 'scripted', weigh: () => 1 },
};
