// A world that was carried along, opened: its domain, the dream of it, and the environment itself, by the engine's own code.

import { NO_COST } from '../../src/core/cost.js';
import { type CarriedGames, carriedDomain } from '../../src/env/pddl/games-domain.js';
import { rulesResponder } from '../../src/env/tools/rules-responder.js';
import { type TextEnvironment, textEnvironment } from '../../src/env/tools/text-environment.js';
import { ToolsEpisodeEnvironment } from '../../src/env/tools/tools-environment.js';
import type { Responder, UserSimulator } from '../../src/env/tools/tools-family.js';
import type { WorldData } from '../../src/run/world-page/carried-world.js';
import { operatorsBackend } from '../../src/worldmodel/operators/entry.js';
import { rulesBackend } from '../../src/worldmodel/rules/entry.js';
import { sequenceBackend } from '../../src/worldmodel/sequence/entry.js';
import { assembleRouter } from '../../src/worldmodel/tools/assemble-router.js';
import type { BackendEntry } from '../../src/worldmodel/tools/backend-model.js';
import { putFiles } from './node/files.js';

/** Backends that a page can hold, each a line. */
const BACKENDS: readonly BackendEntry[] = [rulesBackend, operatorsBackend, sequenceBackend];

/** A game begins with its first text, and nobody is talked to after that. */
const user: UserSimulator = {
  version: 'opening',
  open: ({ task }) => ({ content: task.user.opening ?? task.user.goal, done: false, cost: NO_COST }),
  reply: () => {
    throw new Error('There is nobody to talk to in a game.');
  },
};

export interface OpenWorld {
  readonly tasks: readonly { readonly id: string; readonly goal: string }[];
  /** A new environment of dreamt episodes. */
  readonly dream: () => TextEnvironment;
  /** And of real ones. */
  readonly real: () => TextEnvironment;
}

function entryOf(name: string): BackendEntry {
  const found = BACKENDS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`This page has no code for the backend "${name}".`);
  return found;
}

/** @param files  those that `data.model` names */
export async function openWorld(data: WorldData, files: Readonly<Record<string, Uint8Array>>): Promise<OpenWorld> {
  putFiles(files);
  const domain = carriedDomain(data.domain as unknown as CarriedGames);
  const entries = data.model.backends.map(entryOf);
  const router = await assembleRouter(entries, data.model, { domain, folder: '/' });
  const environment = (id: string, responder: Responder) =>
    textEnvironment(new ToolsEpisodeEnvironment({ id, domain, responder, user, maxSteps: data.maxSteps }));
  return {
    tasks: domain.tasks.map(({ id, user: { goal } }) => ({ id, goal })),
    dream: () => environment('dream', router),
    real: () => environment('real', rulesResponder(domain)),
  };
}
