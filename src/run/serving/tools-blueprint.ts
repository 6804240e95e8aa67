// A world of tools or text as data that another thread makes it from: a thread has rules, checks, records and sandbox of its
// own. Language models stay in the thread that serves, with their cache and budget, and are asked from there.

import type { Environment } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { realResponder } from '../../env/tools/real-environment.js';
import { areRulesTrusted, trustRules } from '../../env/tools/sandbox/trusted-sandbox.js';
import type { Responder } from '../../env/tools/tools-family.js';
import { toolsScenario } from '../../kinds/tools/kind.js';
import type { LlmRole } from '../../kinds/tools/scenario.js';
import { viewOf } from '../../kinds/views.js';
import type { ChatRequest, LanguageModel } from '../../llm/language-model.js';
import type { RunDevice } from '../device.js';
import { type Cast, makeEpisodeEnvironment, makeWorld, type ToolsWorld } from '../pipeline/tools/parts.js';
import { reviveScenario, type ToolsScenario } from '../scenario.js';
import type { Blueprint, EnvironmentMaker, MakerThread } from './blueprint.js';

export interface ToolsBlueprint extends Blueprint {
  readonly scenario: ToolsScenario;
  /** The rules answer, though others would in the dream. */
  readonly real: boolean;
  /** What networks of the dream are computed on; the processor unless given. */
  readonly device?: RunDevice;
  /** Rules run without a sandbox. */
  readonly trustsRules: boolean;
  /** As `versionOf` says. */
  readonly version: string;
  /** Versions of the language models that can be asked, by role. */
  readonly models: Readonly<Partial<Record<LlmRole, string>>>;
}

/** What a thread asks the one that serves. */
interface ModelQuestion {
  readonly role: LlmRole;
  readonly request: ChatRequest;
}

/** Roles that somebody within an episode plays; whoever acts is the client. */
const PLAYED = ['world', 'user'] as const satisfies readonly LlmRole[];

interface Opened {
  readonly scenario: ToolsScenario;
  readonly world: ToolsWorld;
  readonly real: boolean;
  readonly device?: RunDevice;
}

export async function toolsBlueprint(opened: Opened, cast: Cast): Promise<ToolsBlueprint> {
  const { scenario, real, device } = opened;
  const models: Partial<Record<LlmRole, string>> = {};
  for (const role of PLAYED) {
    const model = await cast.modelIfAny(role);
    if (model !== undefined) models[role] = model.version;
  }
  const asks = Object.keys(models).length > 0;
  const version = versionOf(opened);
  return { kind: scenario.family, asks, scenario, real, device, trustsRules: areRulesTrusted(), version, models };
}

/** What the thread that serves answers to those in which the environments live. */
export function modelAnswers(cast: Cast) {
  return async (question: unknown, signal?: AbortSignal): Promise<unknown> => {
    const { role, request } = question as ModelQuestion;
    return (await cast.model(role)).chat(request, { signal });
  };
}

/** @throws what the parts throw; SCENARIO_CHANGED if the scenario's files were changed since it was opened */
export async function toolsMaker(
  { scenario: saved, real, device, trustsRules, version, models }: ToolsBlueprint,
  { ask }: MakerThread,
): Promise<EnvironmentMaker> {
  if (trustsRules) trustRules();
  const path = `${saved.config.name} (of a thread)`;
  const scenario = toolsScenario(await reviveScenario(saved, path));
  const world = await makeWorld({ scenario, log: () => {}, real, device }, castOver(ask, models));
  const opened = { scenario, world, real };
  const own = versionOf(opened);
  if (own !== version) {
    await world.close();
    throw reverieError('SCENARIO_CHANGED', { path, hash: own, recorded: version });
  }
  const make = episodeMaker(opened);
  return { make: async () => make(), close: world.close };
}

/** Makes environments of a world, of the kind as which its domain is lived. */
export function episodeMaker(opened: Opened): () => Environment {
  const { scenario, world } = opened;
  const responder = responderOf(opened);
  const make = () => makeEpisodeEnvironment(world, responder, scenario.config);
  return viewOf(world.domain, make);
}

/** Changes whenever answers may. */
export function versionOf(opened: Opened): string {
  const { scenario, world } = opened;
  return [scenario.hash, world.domain.version, responderOf(opened).version, world.user.version].join(':');
}

function responderOf({ world, real }: Opened): Responder {
  return real ? realResponder(world.domain) : world.responder;
}

function castOver(ask: MakerThread['ask'], models: ToolsBlueprint['models']): Cast {
  const modelIfAny = async (role: LlmRole): Promise<LanguageModel | undefined> => {
    const version = models[role];
    if (version === undefined) return undefined;
    const chat: LanguageModel['chat'] = (request, { signal } = {}) =>
      ask({ role, request } satisfies ModelQuestion, signal) as ReturnType<LanguageModel['chat']>;
    return { version, chat, close: async () => {} };
  };
  const model = async (role: LlmRole) => {
    const found = await modelIfAny(role);
    if (found !== undefined) return found;
    const problem = `"llm" is null, but the ${role} needs a language model.`;
    throw reverieError('SCENARIO_INVALID', { path: 'llm', problem });
  };
  return { model, modelIfAny };
}
