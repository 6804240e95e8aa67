// What a tools job is made of: the domain, what is remembered, who answers calls, who talks, who acts.

import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { canonicalJson } from '../../../core/canonical-json.js';
import { reverieError } from '../../../core/errors.js';
import { service } from '../../../core/services.js';
import type { CallSpec, ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import { makeDomain } from '../../../env/tools/domains.js';
import { elsewhere, isReal, realResponder } from '../../../env/tools/rules-responder.js';
import { ScriptedUser } from '../../../env/tools/scripted-user.js';
import type { LineEnvironment } from '../../../env/tools/text-environment.js';
import { ToolsEpisodeEnvironment } from '../../../env/tools/tools-environment.js';
import type { Responder, ToolsPolicy, UserSimulator } from '../../../env/tools/tools-family.js';
import { kindOfDomain, viewOf } from '../../../kinds/registry.js';
import type { LlmRole, ToolsScenarioConfig } from '../../../kinds/tools.js';
import { Budget } from '../../../llm/budget.js';
import { type LlmConfig, parseLlmConfig } from '../../../llm/config.js';
import type { LanguageModel } from '../../../llm/language-model.js';
import { makeLanguageModel, type ServedModel } from '../../../llm/served-model.js';
import type { ExperienceIndex } from '../../../replay/experience/experience.js';
import { readEpisodeLogs } from '../../../replay/experience/logs/read-episode-logs.js';
import { ExperienceStore } from '../../../replay/experience/store.js';
import { RandomAgent, ReferenceAgent } from '../../../synth/episodes/agents/baseline-agents.js';
import { ExplorerAgent } from '../../../synth/episodes/agents/explorer-agent.js';
import { LlmAgent } from '../../../synth/episodes/agents/llm-agent.js';
import { ScriptedAgent } from '../../../synth/episodes/agents/scripted-agent.js';
import { agentOfRecipe } from '../../../synth/episodes/recipes.js';
import { LlmUser } from '../../../worldmodel/llm/llm-user.js';
import { routerBackends } from '../../../worldmodel/tools/backends.js';
import { makeRouter, type RouterParts } from '../../../worldmodel/tools/router.js';
import { parseToolsModelConfig } from '../../../worldmodel/tools/tools-model-schema.js';
import type { JobContext } from '../../job.js';
import { type ConfigObject, layered, type ToolsScenario } from '../../scenario.js';

/** What episodes happen in. */
export interface ToolsWorld {
  readonly domain: ToolsDomain;
  readonly experience: ExperienceStore;
  /** Who answers calls in the dream. */
  readonly responder: Responder;
  readonly user: UserSimulator;
  close(): Promise<void>;
}

export interface ToolsParts extends ToolsWorld {
  readonly cast: ModelCast;
  readonly budget: Budget;
  readonly agent: ToolsPolicy;
}

/** Where the language models of roles come from. */
export type Cast = Pick<ModelCast, 'model' | 'modelIfAny'>;

interface Context extends Pick<JobContext<ToolsScenario>, 'scenario' | 'out' | 'log' | 'device'> {
  /** Only the real environment is asked: where it is elsewhere, there need be no dream of it. */
  readonly real?: boolean;
  /** The dream is made later, of records that a job gathers: until then the real environment answers. */
  readonly dreamsLater?: boolean;
}

/** What a run's folder holds once it has rows, or measured chunks. */
const BEGUN = ['journal', 'chunks'];

/** Throws what any of the parts throws over what it is given; nothing stays open then. */
export async function makeParts({ scenario, out, log, device, real, dreamsLater }: Context): Promise<ToolsParts> {
  const { config, folder } = scenario;
  const limits = Object.entries(config.synth.budget).filter(([, limit]) => limit !== null);
  const budget = new Budget(Object.fromEntries(limits));
  const cacheFolder = config.cache === null ? join(out, 'cache') : resolve(folder, config.cache);
  const cast = new ModelCast(config, { cacheFolder, folder, budget });
  try {
    const world = await makeWorld({ scenario, log, device, real, dreamsLater }, cast, join(out, 'experience'));
    const close = async () => {
      await cast.close();
      await world.close();
    };
    try {
      const agent = agentOfRecipe(await bareAgent(config, cast, world.domain), config.synth.recipe, world.domain);
      return { ...world, cast, budget, agent, close };
    } catch (error) {
      await world.close();
      throw error;
    }
  } catch (error) {
    await cast.close();
    // What was opened for a job that never began is nothing to go on with.
    if (!BEGUN.some((name) => existsSync(join(out, name)))) {
      for (const folder of ['experience', 'cache']) await rm(join(out, folder), { recursive: true, force: true });
    }
    throw error;
  }
}

/**
 * @param kept  folder of the experience; in memory unless given
 * @throws as `makeParts`
 */
export async function makeWorld(
  { scenario: { config, folder }, log, device, real = false, dreamsLater = false }: Omit<Context, 'out'>,
  cast: Cast,
  kept?: string,
): Promise<ToolsWorld> {
  const domain = await makeDomain(config.domain, { folder });
  const experience = await ExperienceStore.open({ ...config.experience, folder: kept });
  const close = async () => {
    await experience.close();
    domain.close();
  };
  try {
    await remember(experience, domain, config, folder, log);
    const isThere = dreamsLater || (real && elsewhere(domain) !== undefined);
    const place = { folder, device };
    const responder = isThere ? realResponder(domain) : await makeResponder(config, domain, experience, cast, place);
    return { domain, experience, responder, user: await makeUser(config, domain, cast), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Who is talked to: what a server shows first, only the server knows. */
async function makeUser({ user }: ToolsScenarioConfig, domain: ToolsDomain, cast: Cast): Promise<UserSimulator> {
  const real = elsewhere(domain);
  if (real !== undefined) return real.user;
  return user.kind === 'llm' ? new LlmUser({ model: await cast.model('user') }) : new ScriptedUser(user.varied);
}

/** An environment of the domain in which `responder` answers calls. */
export function makeEpisodeEnvironment(
  { domain, user }: Pick<ToolsParts, 'domain' | 'user'>,
  responder: Responder,
  config: ToolsScenarioConfig,
): ToolsEpisodeEnvironment {
  const { maxSteps } = config.synth;
  return new ToolsEpisodeEnvironment({
    id: config.name,
    domain,
    responder,
    user,
    maxSteps,
    maxTurns: config.user.maxTurns,
  });
}

/** Who acts, without a recipe. */
export async function bareAgent(
  { agent }: Pick<ToolsScenarioConfig, 'agent'>,
  cast: Cast,
  domain: ToolsDomain,
): Promise<ToolsPolicy> {
  switch (agent.kind) {
    case 'scripted':
      return new ScriptedAgent({ domain, ...agent });
    case 'reference':
      return new ReferenceAgent(agent.error);
    case 'random':
      return new RandomAgent(agent.steps, agent.offered);
    case 'explorer':
      return new ExplorerAgent(domain, agent);
    case 'guided': {
      const guided = await service<(options: object) => ToolsPolicy>('guided-agent');
      return guided({ ...agent, domain, model: await cast.model('agent') });
    }
    case 'llm':
      return new LlmAgent({ ...agent, model: await cast.model('agent') });
  }
}

/** Records of the real environment, as the scenario names them, into an empty store. */
async function remember(
  store: ExperienceStore,
  domain: ToolsDomain,
  { experience, name }: ToolsScenarioConfig,
  folder: string,
  log: (line: string) => void,
): Promise<void> {
  for (const path of experience.logs) {
    const { steps, episodes, skipped } = await readEpisodeLogs(resolve(folder, path), {
      domain,
      scenario: name,
      tolerant: experience.tolerant,
    });
    await store.add(steps);
    const left = skipped.length === 0 ? '' : `, ${skipped.length} records skipped`;
    log(`Records: ${episodes.length} episodes, ${steps.length} calls of ${path}${left}.`);
  }
}

/** Episodes under way at once, where the world says no less; never changes which. */
const LANES = 64;

/** How a policy of text sees a domain: by the commands that its world lists. */
export interface TextView {
  /** How a call is written among those that are listed. */
  readonly lineOf: (call: CallSpec) => string;
  /** Commands of a task's solution. */
  readonly walkthrough: (task: ToolsTask) => readonly string[];
}

/** @throws DOMAIN_UNFIT where none are listed */
export function textViewOf(domain: ToolsDomain): TextView {
  const { face, view } = kindOfDomain(domain);
  const isListed = domain.rules?.admissible !== undefined || Array.isArray(domain.initialState.admissible);
  if (view === undefined || !isListed) {
    throw reverieError('DOMAIN_UNFIT', {
      problem: `A policy of text chooses among commands, and "${domain.id}" does not say which do something (task "${domain.tasks[0]?.id ?? ''}").`,
      hint: "Train in a domain of the one tool act whose rules have admissible(state), or whose state lists texts as admissible: ALFWorld's games and games of PDDL do.",
    });
  }
  const lineOf = (call: CallSpec) => String(face?.lineOf?.(call) ?? '');
  return { lineOf, walkthrough: (task) => task.reference?.calls.map(lineOf) ?? [] };
}

/** Environments of lines in which `responder` answers. @throws as `textViewOf` */
export function lanes(
  parts: Pick<ToolsParts, 'domain' | 'user'>,
  responder: Responder,
  config: ToolsScenarioConfig,
): LineEnvironment[] {
  textViewOf(parts.domain);
  const make = viewOf(parts.domain, () => makeEpisodeEnvironment(parts, responder, config)) as () => LineEnvironment;
  return Array.from({ length: Math.min(LANES, responder.atOnce ?? LANES) }, make);
}

/** What is to be said beside a policy's figures. */
export function remarkOn(who: string): string {
  return `${who} chooses among admissible commands: its success is not that of an agent that writes its own.`;
}

/** Who answers calls as the scenario's section `model` says. @throws SCENARIO_UNFIT, and what its models throw */
export async function makeResponder(
  { model: config }: Pick<ToolsScenarioConfig, 'model'>,
  domain: ToolsDomain,
  index: ExperienceIndex,
  cast: Cast,
  place: Pick<RouterParts, 'folder' | 'device'>,
): Promise<Responder> {
  const needsModel = config.backends.some((name) => routerBackends.get(name).needs?.includes('model') === true);
  const model = needsModel ? await cast.modelIfAny('world') : undefined;
  const real = isReal(domain) ? realResponder(domain) : undefined;
  // Records of which no state is known can be shown to a model, and never be replayed.
  const hasStates = domain.rules !== undefined && index.size > 0;
  return makeRouter(config, { domain, index, hasStates, model, real, ...place });
}

/** With the domain of a training, and where it dreams with the model of its dream. @throws SETTING_INVALID */
export function ofTraining(scenario: ToolsScenario): ToolsScenario {
  const { config } = scenario;
  const { mode, domain: otherDomain, model: otherModel = {} } = config.train;
  const domain = { ...config.domain, ...otherDomain };
  if (mode === 'real' || mode === 'value') return { ...scenario, config: { ...config, domain } };
  const model = parseToolsModelConfig(layered({ ...config.model }, otherModel));
  return { ...scenario, config: { ...config, domain, model } };
}

/** Who is played by which language model: one for each role, shared where their settings are the same, paid from one budget. */
export class ModelCast {
  private readonly models = new Map<string, Promise<ServedModel>>();
  private readonly made: ServedModel[] = [];

  /** @param options  `folder`: relative paths start from it */
  constructor(
    private readonly config: Pick<ToolsScenarioConfig, 'llm' | 'roles' | 'name'>,
    private readonly options: { readonly cacheFolder: string; readonly folder: string; readonly budget: Budget },
  ) {}

  /** The model of a role. @throws SCENARIO_INVALID if there is none, SETTING_INVALID */
  async model(role: LlmRole): Promise<LanguageModel> {
    const { llm, roles, name } = this.config;
    if (llm === null) {
      const problem = `"llm" is null, but the ${role} needs a language model.`;
      throw reverieError('SCENARIO_INVALID', { path: name, problem });
    }
    const config = parseLlmConfig(layered(llm as unknown as ConfigObject, roles[role] ?? {}) as never);
    const key = canonicalJson(config);
    const made = this.models.get(key) ?? this.make(config);
    this.models.set(key, made);
    return made;
  }

  /** How the last request to a server failed, while none has succeeded since; undefined where all is well. */
  get trouble(): string | undefined {
    for (const model of this.made) {
      const { problem } = model.stats();
      if (problem !== undefined) return `waiting for ${model.url}: ${problem}`;
    }
    return undefined;
  }

  private async make(config: LlmConfig): Promise<ServedModel> {
    const model = await makeLanguageModel(config, this.options);
    this.made.push(model);
    return model;
  }

  /** The model of a role, or undefined in a scenario without language models. */
  async modelIfAny(role: LlmRole): Promise<LanguageModel | undefined> {
    return this.config.llm === null ? undefined : this.model(role);
  }

  /** Makes durable the replies that were kept so far. Throws STORAGE_FULL, STORAGE_FAILED. */
  async flush(): Promise<void> {
    for (const made of this.models.values()) await (await made).flush();
  }

  async close(): Promise<void> {
    for (const made of this.models.values()) await (await made).close();
  }
}
