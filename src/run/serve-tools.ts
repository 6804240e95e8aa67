// A scenario of tools as environments, played as the kind its domain is; here, or in another thread from a blueprint: a thread has rules,
// checks, records and sandbox of its own. Language models stay in the thread that serves, with their cache and budget, and are asked from
// there.

import { join } from 'node:path';
import type { Environment } from '../core/environment.js';
import { reverieError } from '../core/errors.js';
import { checkEnvironment, type EnvironmentReport } from '../env/check-environment.js';
import type { ToolsTask } from '../env/tools/domain.js';
import { makeDomain } from '../env/tools/domains.js';
import { elsewhere, realResponder } from '../env/tools/rules-responder.js';
import { areRulesTrusted, trustRules } from '../env/tools/sandbox/sandbox.js';
import { ScriptedUser } from '../env/tools/scripted-user.js';
import { ToolsEpisodeEnvironment } from '../env/tools/tools-environment.js';
import type { Responder } from '../env/tools/tools-family.js';
import { kindOfDomain, toolsScenario, viewOf } from '../kinds/registry.js';
import type { LlmRole } from '../kinds/tools.js';
import type { ChatRequest, LanguageModel } from '../llm/language-model.js';
import { defectOf, lintTasks } from '../synth/tasks/lint-tasks.js';
import { normalisedReply } from '../worldmodel/llm/replies.js';
import { routerBackends } from '../worldmodel/tools/backends.js';
import { makeRouter } from '../worldmodel/tools/router.js';
import { closedOnFailure } from './job.js';
import { type Cast, makeEpisodeEnvironment, makeParts, makeWorld, type ToolsWorld } from './pipeline/tools/rows.js';
import { reviveScenario, type ToolsScenario } from './scenario.js';
import type { Blueprint, EnvironmentMaker, MakerThread, Servable, ServableOptions } from './servable.js';

interface ToolsBlueprint extends Blueprint {
  readonly scenario: ToolsScenario;
  /** The rules answer, though others would in the dream. */
  readonly real: boolean;
  /** Rules run without a sandbox. */
  readonly trustsRules: boolean;
  readonly version: string;
  /** Versions of the language models that can be asked, by role. */
  readonly models: Readonly<Partial<Record<LlmRole, string>>>;
}

/** What a thread asks the one that serves. */
interface ModelQuestion {
  readonly role: LlmRole;
  /** Without the function that normalizes replies, which cannot cross threads. */
  readonly request: ChatRequest;
  readonly mends: boolean;
}

/** Roles within an episode; the client acts. */
const PLAYED = ['world', 'user'] as const satisfies readonly LlmRole[];

export async function open(scenario: ToolsScenario, options: ServableOptions): Promise<Servable> {
  const { config } = scenario;
  const { real = false, folder, log } = options;
  const { device: asked = 'auto' } = options.device ?? {};
  if (!real && asked !== 'auto' && asked !== 'cpu') log(`${config.name}: nothing in it that ${asked} could compute.`);
  const parts = await makeParts({ scenario, out: join(folder, config.name), log, real });
  const { domain, cast } = parts;
  const models: Partial<Record<LlmRole, string>> = {};
  const { make, version, observationSpace, actionSpace } = await closedOnFailure(parts, async () => {
    for (const role of PLAYED) {
      const model = await cast.modelIfAny(role);
      if (model !== undefined) models[role] = model.version;
    }
    const made = environmentsOf(scenario, parts, real);
    const { observationSpace, actionSpace } = made.make();
    return { ...made, observationSpace, actionSpace };
  });
  const asks = Object.keys(models).length > 0;
  const blueprint: ToolsBlueprint = {
    ...{ kind: scenario.family, asks, runsRules: true, scenario, real, version, models },
    trustsRules: areRulesTrusted(),
  };
  // The first to be asked knows everything: no other backend ever answers.
  const isReal = real || routerBackends.get(config.model.backends[0]).isReal?.(domain) === true;
  return {
    ...{ name: config.name, family: kindOfDomain(domain).name as Servable['family'], description: config.description },
    ...{ source: isReal ? 'real' : 'dream', version, tools: domain.tools, policy: domain.policy },
    tasks: domain.tasks.map(({ id, split = 'train', family, tags }) => ({ id, split, family, ...(tags && { tags }) })),
    ...{ domain, observationSpace, actionSpace, maxEpisodeSteps: config.synth.maxSteps, blueprint },
    make: async () => make(),
    answer: async (question, signal) => {
      const { role, request, mends } = question as ModelQuestion;
      const schema = mends && request.schema && { ...request.schema, mend: normalisedReply };
      return (await cast.model(role)).chat(schema ? { ...request, schema } : request, { signal });
    },
    close: () => parts.close(),
  };
}

/** @throws what the parts throw; SCENARIO_CHANGED if the scenario's files were changed since it was opened */
export async function maker(
  { scenario: saved, real, trustsRules, version, models }: ToolsBlueprint,
  { ask }: MakerThread,
): Promise<EnvironmentMaker> {
  if (trustsRules) trustRules();
  const path = `${saved.config.name} (of a thread)`;
  const scenario = toolsScenario(await reviveScenario(saved, path));
  const world = await makeWorld({ scenario, log: () => {}, real }, castOver(ask, models));
  return closedOnFailure(world, () => {
    const { make, version: own } = environmentsOf(scenario, world, real);
    if (own !== version) throw reverieError('SCENARIO_CHANGED', { path, hash: own, recorded: version });
    return { make: async () => make(), close: world.close };
  });
}

/** What makes environments of a world, as the kind its domain is, and a version that changes whenever answers may. */
function environmentsOf(
  { config, hash }: ToolsScenario,
  world: ToolsWorld,
  real: boolean,
): { make: () => Environment; version: string } {
  const responder = real ? realResponder(world.domain) : world.responder;
  const withheld = real ? undefined : (task: ToolsTask) => defectOf(world.domain, task);
  return {
    make: viewOf(world.domain, () => makeEpisodeEnvironment(world, responder, config, { withheld, waits: true })),
    version: [hash, world.domain.version, responder.version, world.user.version].join(':'),
  };
}

function castOver(ask: MakerThread['ask'], models: ToolsBlueprint['models']): Cast {
  const modelIfAny = async (role: LlmRole): Promise<LanguageModel | undefined> => {
    const version = models[role];
    if (version === undefined) return undefined;
    const chat: LanguageModel['chat'] = ({ schema, ...request }, { signal } = {}) => {
      const { mend, ...plain } = schema ?? {};
      const sent = schema === undefined ? request : { ...request, schema: plain as typeof schema };
      const question: ModelQuestion = { role, request: sent, mends: mend !== undefined };
      return ask({ ...question }, signal) as ReturnType<LanguageModel['chat']>;
    };
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

/**
 * Of the real environment: the server it is on, or the domain's exact rules; where it has neither, what rules.yaml declares of some tools.
 * @throws TOOL_WITHOUT_RULE if it has none
 */
export async function check({ config, folder }: ToolsScenario): Promise<EnvironmentReport> {
  const domain = await makeDomain(config.domain, { folder });
  const isPartial = domain.rules === undefined && domain.declared !== undefined;
  const responder: Responder = isPartial
    ? await makeRouter({ ...config.model, backends: ['rules'] }, { domain })
    : realResponder(domain);
  const user = elsewhere(domain)?.user ?? new ScriptedUser();
  const make = () => new ToolsEpisodeEnvironment({ id: config.name, domain, responder, user });
  try {
    const { checks, passed, ...report } = await checkEnvironment(viewOf(domain, make), { seed: config.seed });
    const defects = (await lintTasks(domain, domain.tasks)).filter(({ shuts }) => shuts);
    const problems = defects.map(({ task, problem }) => `task "${task}": ${problem}`);
    const tasks = { name: 'tasks' as const, passed: problems.length === 0, problems };
    return { ...report, passed: passed && tasks.passed, checks: [...checks, tasks] };
  } finally {
    domain.close();
  }
}
