// What a tools job is made of: the domain, what is remembered, who answers calls, who talks, who acts; and its rows, each an episode, durable
// when it ends. They run in this process, in threads or in workers of a queue (../../queue); what a row depends on comes with it. An episode
// comes about turn by turn, written whole by one call of a language model (Simia), or as a walk over screens made into a task that it solves.

import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { canonicalJson } from '../../../core/canonical-json.js';
import { addCosts, type Cost, NO_COST } from '../../../core/cost.js';
import { reverieError } from '../../../core/errors.js';
import type { EvaluationSet } from '../../../core/evaluation-set.js';
import type { Fact } from '../../../core/report.js';
import { service } from '../../../core/services.js';
import { type Rate, rateOf } from '../../../core/statistics.js';
import { isScreenDomain } from '../../../env/screens/screen-state.js';
import type { CallSpec, ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import { makeDomain } from '../../../env/tools/domains.js';
import { withFaults } from '../../../env/tools/faults.js';
import type { Message } from '../../../env/tools/message.js';
import { isSuccess, type OutcomeKind, settle, withAnswers } from '../../../env/tools/outcome.js';
import type { CheckFinding, StateCheck } from '../../../env/tools/prediction.js';
import { elsewhere, isReal, realResponder } from '../../../env/tools/rules-responder.js';
import { ScriptedUser } from '../../../env/tools/scripted-user.js';
import type { LineEnvironment } from '../../../env/tools/text-environment.js';
import { ToolsEpisodeEnvironment } from '../../../env/tools/tools-environment.js';
import type { Responder, ToolsPolicy, UserSimulator } from '../../../env/tools/tools-family.js';
import { verifyEpisode } from '../../../env/tools/verify-episode.js';
import { kindOfDomain, viewOf } from '../../../kinds/registry.js';
import type { LlmRole, ToolsScenarioConfig } from '../../../kinds/tools.js';
import { Budget } from '../../../llm/budget.js';
import { type LlmConfig, parseLlmConfig } from '../../../llm/config.js';
import type { LanguageModel } from '../../../llm/language-model.js';
import { makeLanguageModel, type ServedModel } from '../../../llm/served-model.js';
import { type EpisodeRecord, type ExperienceIndex, episodeSteps } from '../../../replay/experience/experience.js';
import { readEpisodeLogs } from '../../../replay/experience/logs/read-episode-logs.js';
import { ExperienceStore } from '../../../replay/experience/store.js';
import { RandomAgent, ReferenceAgent } from '../../../synth/episodes/agents/baseline-agents.js';
import { ExplorerAgent } from '../../../synth/episodes/agents/explorer-agent.js';
import { LlmAgent } from '../../../synth/episodes/agents/llm-agent.js';
import { ScriptedAgent } from '../../../synth/episodes/agents/scripted-agent.js';
import { type FailedRow, isFailed, produceRows, RowJournal } from '../../../synth/episodes/produce-rows.js';
import {
  attempted,
  type EpisodeSettings,
  episodeRecord,
  planRow,
  type RowPlan,
  runEpisode,
  settleVerdict,
} from '../../../synth/episodes/run-episode.js';
import { deficitOf, lostStep } from '../../../synth/signals/deficits.js';
import { Curriculum } from '../../../synth/tasks/curriculum.js';
import { defectOf } from '../../../synth/tasks/lint-tasks.js';
import { seedFault } from '../../../synth/tasks/seed-filter.js';
import { commandsUnknown } from '../../../training/text-play.js';
import { amplifyTrajectory } from '../../../worldmodel/llm/amplify.js';
import { LlmUser } from '../../../worldmodel/llm/llm-user.js';
import { routerBackends } from '../../../worldmodel/tools/backends.js';
import { episodeWeight } from '../../../worldmodel/tools/checks.js';
import { makeRouter, type RouterParts } from '../../../worldmodel/tools/router.js';
import { parseToolsModelConfig } from '../../../worldmodel/tools/tools-model-schema.js';
import { toolsSet } from '../../evaluation-set.js';
import { formatCount, formatCounts, formatNumber, formatPercent, formatShare } from '../../format.js';
import { closedOnFailure, type JobContext } from '../../job.js';
import { readMetrics } from '../../metrics.js';
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

interface PartsContext extends Pick<JobContext<ToolsScenario>, 'scenario' | 'out' | 'log' | 'device'> {
  /** Only the real environment is asked: where it is elsewhere, there need be no dream of it. */
  readonly real?: boolean;
  /** The dream is made later, of records that a job gathers: until then the real environment answers. */
  readonly dreamsLater?: boolean;
}

/** Throws what any of the parts throws over what it is given; nothing stays open then. */
export async function makeParts({ scenario, out, log, device, real, dreamsLater }: PartsContext): Promise<ToolsParts> {
  const { config, folder } = scenario;
  // What is opened for a job that never begins is nothing to go on with; what an earlier process left is.
  const own = ['experience', 'cache'].map((name) => join(out, name)).filter((path) => !existsSync(path));
  const limits = Object.entries(config.synth.budget).filter(([, limit]) => limit !== null);
  const budget = new Budget(Object.fromEntries(limits));
  const cacheFolder = config.cache === null ? join(out, 'cache') : resolve(folder, config.cache);
  const cast = new ModelCast(config, { cacheFolder, folder, budget });
  let world: ToolsWorld | undefined;
  // Last what may not become durable.
  const close = async () => {
    await world?.close();
    await cast.close();
  };
  try {
    world = await makeWorld({ scenario, log, device, real, dreamsLater }, cast, join(out, 'experience'));
    return { ...world, cast, budget, agent: await agentOf(config, cast, world.domain), close };
  } catch (error) {
    await close();
    for (const path of own) await rm(path, { recursive: true, force: true });
    throw error;
  }
}

/**
 * @param kept  folder of the experience; in memory unless given
 * @throws as `makeParts`
 */
export async function makeWorld(
  { scenario: { config, folder }, log, device, real = false, dreamsLater = false }: Omit<PartsContext, 'out'>,
  cast: Cast,
  kept?: string,
): Promise<ToolsWorld> {
  const domain = await makeDomain(config.domain, { folder });
  // What a job gathers it remembers from its own records: what lies there may be of after its last checkpoint.
  const store = { ...config.experience, folder: dreamsLater ? undefined : kept };
  const experience = await closedOnFailure(domain, () => ExperienceStore.open(store));
  const close = async () => {
    domain.close();
    await experience.close();
  };
  return closedOnFailure({ close }, async () => {
    await remember(experience, domain, { config, folder }, log);
    const isThere = dreamsLater || (real && elsewhere(domain) !== undefined);
    const place = { folder, device };
    const responder = isThere ? realResponder(domain) : await makeResponder(config, domain, experience, cast, place);
    return { domain, experience, responder, user: await makeUser(config, domain, cast), close };
  });
}

/** Who is talked to: what a server shows first, only the server knows. */
async function makeUser({ user }: ToolsScenarioConfig, domain: ToolsDomain, cast: Cast): Promise<UserSimulator> {
  const real = elsewhere(domain);
  if (real !== undefined) return real.user;
  const { kind, varied, friction } = user;
  return kind === 'llm'
    ? new LlmUser({ model: await cast.model('user'), friction })
    : new ScriptedUser(varied, friction);
}

/** An environment of the domain in which `responder` answers calls, with the scenario's faults. @throws SCENARIO_INVALID */
export function makeEpisodeEnvironment(
  { domain, user }: Pick<ToolsParts, 'domain' | 'user'>,
  responder: Responder,
  config: ToolsScenarioConfig,
  {
    withheld,
    ...how
  }: { readonly withheld?: (task: ToolsTask) => Promise<string | undefined> } & Parameters<typeof withFaults>[3] = {},
): ToolsEpisodeEnvironment {
  const { maxTurns, patience } = config.user;
  return new ToolsEpisodeEnvironment({
    ...{ id: config.name, domain, user, withheld, maxSteps: config.synth.maxSteps, maxTurns },
    responder: withFaults(responder, domain, config.faults, how),
    ...(patience !== null && { patience }),
  });
}

/** Who acts. */
export async function agentOf(
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
export async function remember(
  store: ExperienceStore,
  domain: ToolsDomain,
  { config: { experience, name }, folder }: Pick<ToolsScenario, 'config' | 'folder'>,
  log: (line: string) => void,
): Promise<void> {
  for (const path of experience.logs) {
    const how = { domain, scenario: name, tolerant: experience.tolerant, simulated: true };
    const { steps, episodes, skipped } = await readEpisodeLogs(resolve(folder, path), how);
    await store.add(steps);
    const left = skipped.length === 0 ? '' : `, ${skipped.length} records skipped`;
    log(`Records: ${episodes.length} episodes, ${steps.length} calls of ${path}${left}.`);
  }
}

/** Episodes of the scenario's records, in their order; simulated ones, which are remembered too, are left out. */
export async function* recordedEpisodes({ config, folder }: ToolsScenario, domain: ToolsDomain) {
  for (const path of config.experience.logs)
    yield* (await readEpisodeLogs(resolve(folder, path), { domain, tolerant: true })).episodes;
}

/** Records show the world without faults. */
export function withoutFaults(scenario: ToolsScenario): ToolsScenario {
  return { ...scenario, config: { ...scenario.config, faults: undefined } };
}

/** Episodes under way at once, where the world says no less; never changes which. */
const LANES = 64;

/**
 * How a policy of text sees a domain: by the commands that its world lists. `lineOf` writes a call as it is listed.
 * @throws DOMAIN_UNFIT where none are listed
 */
export function textViewOf(domain: ToolsDomain) {
  const { face, view } = kindOfDomain(domain);
  const isListed = domain.rules?.admissible !== undefined || Array.isArray(domain.initialState.admissible);
  if (view === undefined || !isListed) throw commandsUnknown(domain.id, domain.tasks[0]?.id ?? '');
  const lineOf = (call: CallSpec) => String(face?.lineOf?.(call) ?? '');
  return { lineOf, walkthrough: (task: ToolsTask) => task.reference?.calls.map(lineOf) ?? [] };
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

/** Whether a backend asks a language model. */
export function needsModel(backend: string): boolean {
  return routerBackends.get(backend).needs?.includes('model') === true;
}

/** Who answers calls as the scenario's section `model` says. @throws SCENARIO_UNFIT, and what its models throw */
export async function makeResponder(
  { model: config }: Pick<ToolsScenarioConfig, 'model'>,
  domain: ToolsDomain,
  index: ExperienceIndex,
  cast: Cast,
  place: Pick<RouterParts, 'folder' | 'device'>,
): Promise<Responder> {
  const model = config.backends.some(needsModel) ? await cast.modelIfAny('world') : undefined;
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
  /** Those of them that could be made. */
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
    const served = await made;
    const chat: LanguageModel['chat'] = (request, options) => served.chat({ ...request, role }, options);
    return { version: served.version, chat, close: () => served.close() };
  }

  /** How the last request to a server failed, while none has succeeded since; undefined where all is well. */
  get trouble(): string | undefined {
    const [problem] = this.made.flatMap((model) => model.stats().problem ?? []);
    return problem && `waiting for ${problem}`;
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
    for (const model of this.made) await model.flush();
  }

  async close(): Promise<void> {
    for (const model of this.made) await model.close();
  }
}

/** Everything of a row that rows before it decide, or the job's seed. */
export interface PlannedRow {
  readonly plan: RowPlan;
  readonly task: ToolsTask;
}

/** Throws what the models throw that are asked. */
type RunRow = (row: PlannedRow, signal: AbortSignal) => Promise<EpisodeRecord>;

/** Who runs rows, if not this thread. */
export interface RowRunner {
  readonly run: RunRow;
  /** Rows under way at once. */
  readonly concurrency: number;
  /** For the progress bar; may be empty. */
  readonly note?: string;
  /** Called for each row that is durable, and known to all that may depend on it. */
  known?(row: number): void;
  close(): Promise<void>;
}

export interface RowSettings extends Pick<EpisodeSettings, 'source' | 'judge' | 'keepPicture' | 'withheld'> {
  readonly responder: Responder;
}

type RowContext = Pick<JobContext<ToolsScenario>, 'scenario' | 'seed'>;

/** Runs rows in this process. */
export async function rowsHere(context: RowContext, parts: ToolsParts, settings: RowSettings): Promise<RunRow> {
  const { domain } = parts;
  const make = await rowMaker(context.scenario, parts, settings);
  const episode = episodeSettings(context, parts, settings);
  return async ({ plan, task }, signal) => {
    try {
      // The real environment is recorded with its own verdicts.
      const defect = settings.source === 'real' ? undefined : await defectOf(domain, task);
      const own = { ...episode, withheld: episode.withheld ?? defect };
      const made = await attempted((now) => make(now, task, own, signal), plan, own);
      const lost = lostStep(domain, task, made);
      const record = { ...made, ...(lost !== undefined && { lostStep: lost }) };
      const lostBy = deficitOf(domain, task, record);
      return { ...record, ...(lostBy && { lostBy }) };
    } finally {
      // Before the row is: a row that is there is never asked for again, so its replies would stay missing.
      await parts.cast.flush();
    }
  };
}

/** How episodes of a job are recorded and judged. */
export function episodeSettings(
  { scenario: { config, hash }, seed }: RowContext,
  { user }: Pick<ToolsParts, 'user'>,
  { source, responder, judge, withheld, keepPicture }: RowSettings,
): EpisodeSettings {
  return {
    ...{ scenario: config.name, scenarioHash: hash, seed, source, maxSteps: config.synth.maxSteps },
    ...{ responderVersion: responder.version, userVersion: user.version, judge, withheld },
    weigh: (predictions) => episodeWeight(predictions, config.model),
    ...(keepPicture && { keepPicture }),
  };
}

/** What figures of a job's episodes are measured on. */
export function episodesSet(
  context: RowContext,
  { domain, agent, user }: Pick<ToolsParts, 'domain' | 'agent' | 'user'>,
  responder: Responder,
  tasks: readonly ToolsTask[],
): EvaluationSet {
  const { synth, user: talks } = context.scenario.config;
  const { episodes, groupSize, branchAt, maxSteps, pick, mode } = synth;
  const policies = { agent: agent.version, user: user.version, answers: responder.version };
  const { maxTurns, patience, friction } = talks;
  const dials = { ...(patience !== null && { patience }), ...(friction > 0 && { friction }) };
  const settings = { episodes, groupSize, branchAt, maxSteps, pick, mode, maxTurns, ...dials };
  return toolsSet(context, domain, tasks, policies, settings);
}

interface RowsSettings extends RowSettings {
  readonly tasks: readonly ToolsTask[];
  /** Rows under way at once, where less than the job's own number are possible. */
  readonly concurrency?: number;
  readonly runner?: RowRunner;
  /** Called for every row in order, as soon as all before it are there. */
  readonly observe: (value: EpisodeRecord | FailedRow) => void;
  /** `trouble`: why rows may be waiting. */
  readonly onProgress: (done: number, trouble: string | undefined) => void;
}

/** Episodes wait for models most of the time. */
const DEFAULT_CONCURRENCY = 32;
const BEAT_MS = 2000;

/** Runs what the journal lacks. The caller closes the journal. Throws as `produceRows`; EPISODES_ALL_FAILED. */
export async function episodeRows(context: JobContext<ToolsScenario>, parts: ToolsParts, settings: RowsSettings) {
  const { seed, workers, device, signal, out, scenario, metrics, resume } = context;
  const { synth, experience, model, tasks: section } = scenario.config;
  const { episodes: rows, groupSize, branchAt } = synth;
  const { runner, responder, tasks } = settings;
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const entries = tasks.map(({ id, origin }) => ({ id, synthetic: origin !== undefined }));
  const curriculum =
    synth.pick === 'cycle' ? undefined : new Curriculum(entries, { ...section.curriculum, group: groupSize });
  // Of rows that an earlier process began and did not end, too.
  const picked = new Set(
    curriculum && resume ? readMetrics(metrics.file).map(({ kind, row }) => kind === 'pick' && row) : [],
  );
  const taskOf = ({ row, rng }: RowPlan) => {
    if (curriculum === undefined) return tasks[Math.floor(row / groupSize) % tasks.length];
    const pick = curriculum.pick(row, rng);
    if (!picked.has(row)) metrics.write({ kind: 'pick', ...pick });
    return byId.get(pick.task)!;
  };
  const isEnriched = experience.enrich !== 'never';
  const lags = [
    ...(curriculum === undefined ? [] : [section.curriculum.lag]),
    ...(isEnriched && model.llm.retrieval.sources === 'both' ? [model.llm.retrieval.lag] : []),
  ];
  const run = runner?.run ?? (await rowsHere(context, parts, settings));
  // What decides the rows: a journal of others is not resumed.
  const journal = await RowJournal.open<EpisodeRecord | FailedRow>(join(out, 'journal'), {
    ...{ format: 'reverie episodes 2', scenario: scenario.hash, seed, domain: parts.domain.version },
    ...{ responder: responder.version, user: parts.user.version, agent: parts.agent.version },
  });
  const own = workers === 0 || device !== undefined ? DEFAULT_CONCURRENCY : workers;
  const tell = () => settings.onProgress(journal.size, parts.cast.trouble);
  // No row ends while a server is away, which is when there is something to say.
  const beat = setInterval(() => parts.cast.trouble !== undefined && tell(), BEAT_MS);
  const failures: FailedRow[] = [];
  try {
    const outcome = await produceRows<EpisodeRecord>({
      ...{ rows, journal, signal, onProgress: tell },
      concurrency: Math.min(runner?.concurrency ?? own, settings.concurrency ?? Number.POSITIVE_INFINITY),
      lag: Math.min(...lags),
      make: (row, stop) => {
        const plan = planRow(row, { seed, groupSize, branchAt });
        return run({ plan, task: taskOf(plan) }, stop);
      },
      observe: async (row, value) => {
        if (isFailed(value)) failures.push(value);
        const { task, reward } = isFailed(value)
          ? { task: '', reward: null }
          : { task: value.task, reward: value.return };
        curriculum?.observe(row, { task, reward });
        if (isEnriched && !isFailed(value)) await parts.experience.add(episodeSteps(value));
        runner?.known?.(row);
        settings.observe(value);
      },
    });
    if (failures.length > 0 && failures.length === outcome.done) throw allFailed(failures);
    return { ...outcome, journal };
  } catch (error) {
    await journal.close();
    throw error;
  } finally {
    clearInterval(beat);
  }
}

function allFailed(failures: readonly FailedRow[]): Error {
  const reasons = [...new Set(failures.map(({ failed }) => failed.code))].map((code) => {
    const alike = failures.filter(({ failed }) => failed.code === code);
    return `${alike.length} ${code}, the first of them: ${alike[0].failed.message.replace(/\.$/, '')}`;
  });
  return reverieError('EPISODES_ALL_FAILED', { rows: failures.length, reasons: reasons.join('; ') });
}

/** How the episode of a row comes about. */
type MakeRow = (
  plan: RowPlan,
  task: ToolsTask,
  settings: EpisodeSettings,
  signal: AbortSignal,
) => Promise<EpisodeRecord>;

/** Real episodes are run turn by turn, whatever the scenario says of simulated ones. */
async function rowMaker(
  scenario: ToolsScenario,
  parts: ToolsParts,
  { source, responder }: RowSettings,
): Promise<MakeRow> {
  const { mode, wrap } = scenario.config.synth;
  if (source === 'synthetic' && mode === 'amplify') return amplifiedRows(scenario, parts);
  const byTurns: MakeRow = async (plan, task, settings, signal) =>
    runEpisode(makeEpisodeEnvironment(parts, responder, scenario.config), parts.agent, task, plan, settings, signal);
  return source === 'synthetic' && wrap !== undefined ? wrappedRows(scenario, parts, responder, byTurns) : byTurns;
}

/** Whole trajectories, checked afterwards. An exemplar is drawn for each row from the real records, where there are any. */
async function amplifiedRows(scenario: ToolsScenario, { domain, cast }: ToolsParts): Promise<MakeRow> {
  const model = await cast.model('world');
  // Of the scenario's records those that are complete and sound.
  const exemplars: (readonly Message[])[] = [];
  for await (const episode of recordedEpisodes(scenario, domain))
    if (seedFault(episode, domain) === undefined) exemplars.push(episode.messages);
  const { stateTokens } = scenario.config.model.llm;
  return async (plan, task, settings, signal) => {
    const exemplar =
      exemplars.length === 0 ? undefined : exemplars[plan.rng.split('exemplar', plan.row).int(exemplars.length)];
    const asked = { domain, task, exemplar, model, seed: plan.agentSeed, stateTokens: 8 * stateTokens, signal };
    const written = await amplifyTrajectory(asked);
    const { messages, initialState, finalState, modelVersion, problems } = written;
    const end = { initialState, finalState, messages };
    const predictions = written.steps.flatMap((step) => step.predictions);
    // The same model wrote the world: text that was cut for its faults is not the agent's.
    const facts = withAnswers(problems.length > 0 ? { doubted: problems[0] } : {}, predictions, domain.rules?.earned);
    const found = settle(verifyEpisode(domain, task, end), facts);
    const { cost, ...settled } = await settleVerdict({ task, domain, end, ...found, facts }, settings, signal);
    const policyVersion = `${modelVersion} (whole trajectory)`;
    const made = { ...written, ...settled, policyVersion, cost: addCosts(written.cost, cost) };
    return episodeRecord(made, task, plan, settings);
  };
}

/** Each asked by itself, all must agree. */
const JUDGES = 3;

/**
 * Each walk becomes a task that it solves.
 * @param run  how a walk is made
 * @throws DOMAIN_UNFIT
 */
async function wrappedRows(
  { config }: ToolsScenario,
  { domain, cast }: ToolsParts,
  responder: Responder,
  run: MakeRow,
): Promise<MakeRow> {
  const { judges = JUDGES } = config.synth.wrap!;
  if (!isScreenDomain(domain))
    throw reverieError('DOMAIN_UNFIT', {
      problem: `synth.wrap needs a domain of screens, and "${domain.id}" has none.`,
      hint: 'Take a domain of screens: miniwob, screen-graph, or an application.',
    });
  return async (plan, task, settings, signal) => {
    const record = await run(plan, task, settings, signal);
    const judge = judges > 0 ? { judge: await cast.model('judge') } : {};
    const wrapWalk = await service<(request: object) => Promise<EpisodeRecord>>('wrapped-walk');
    // Who writes.
    const model = await cast.model('tasks');
    return wrapWalk({ record, task, ...judge, domain, responder, model, judges, plan, settings, signal });
  };
}

/** What a job's rows have come to so far: for its progress while it runs, and for its result. */
export class RowStatistics {
  episodes = 0;
  steps = 0;
  judged = 0;
  succeeded = 0;
  cost: Cost = NO_COST;
  /** Rows that became no episode, by error code. */
  readonly failed: Record<string, number> = {};
  /** Why the first row of each of these codes failed. */
  readonly failedFor: Record<string, string> = {};
  /** Counts of episodes and failed rows, by outcome. */
  readonly outcomes: Partial<Record<OutcomeKind, number>> = {};
  /** Earlier attempts that were retried. */
  readonly retried: Partial<Record<OutcomeKind, number>> = {};
  /** Calls by the backend that answered them. */
  readonly answeredBy: Record<string, number> = {};
  /** Answers that were refused, so that the agent was shown an error of the environment; by backend. */
  readonly refusedOf: Record<string, number> = {};
  /** Answers that stand after they were sent back once; by backend. */
  readonly repairedOf: Record<string, number> = {};
  /** Simulated answers by state check and result. */
  readonly stateChecks: Partial<Record<StateCheck, Record<CheckFinding, number>>> = {};
  /** Injected faults by kind, with the number of recoveries. */
  readonly faults: Record<string, number> = {};
  private readonly recovered = [0, 0];
  readonly returnsByTask = new Map<string, number[]>();

  /** @param kept  the row as written, whose verdict counts: none if filters cut its end off */
  add(row: EpisodeRecord | FailedRow, kept?: EpisodeRecord): void {
    const count = (counts: Record<string, number>, key: string) => {
      counts[key] = (counts[key] ?? 0) + 1;
    };
    if (isFailed(row)) {
      const { code, message, kind } = row.failed;
      count(this.failed, code);
      count(this.outcomes, kind);
      this.failedFor[code] ??= message;
      return;
    }
    this.episodes++;
    count(this.outcomes, (kept ?? row).outcome.kind);
    for (const { kind } of row.retried ?? []) count(this.retried, kind);
    this.cost = addCosts(this.cost, row.cost);
    this.steps += row.steps.length;
    const { task, return: worth } = kept ?? row;
    if (worth !== null) {
      this.judged++;
      if (isSuccess(worth)) this.succeeded++;
      this.returnsByTask.set(task, [...(this.returnsByTask.get(task) ?? []), worth]);
    }
    for (const { name, passed } of row.verdict.checks) {
      if (!name.startsWith('fault: ')) continue;
      this.recovered[0] += passed === true ? 1 : 0;
      this.recovered[1]++;
    }
    for (const { backend, refused = [], repaired, fault, checks = {} } of row.steps.flatMap(
      ({ predictions }) => predictions,
    )) {
      if (fault !== undefined) count(this.faults, fault.kind);
      count(this.answeredBy, backend);
      if (refused.length > 0) count(this.refusedOf, backend);
      if (repaired) count(this.repairedOf, backend);
      for (const [name, finding] of Object.entries(checks) as [StateCheck, CheckFinding][]) {
        this.stateChecks[name] ??= { held: 0, unchecked: 0, refused: 0 };
        this.stateChecks[name][finding]++;
      }
    }
  }

  /** For the result of a job. `success`: of judged episodes; null if none was judged. */
  get counts() {
    const { episodes, steps, judged, failed, failedFor, outcomes, retried, cost } = this;
    const success: Rate | null = judged === 0 ? null : rateOf(this.succeeded, judged);
    const reasons = Object.keys(failedFor).length > 0 && { failedFor };
    const [right, of] = this.recovered;
    const faults = Object.keys(this.faults).length > 0 && { faults: { ...this.faults }, recovered: rateOf(right, of) };
    const ended = { outcomes: { ...outcomes }, retried: { ...retried }, ...faults };
    return { episodes, steps, success, abstained: episodes - judged, failed, ...reasons, ...ended, cost };
  }

  /** `83 % succeeded · 12 calls, 1.2 M tokens, cost 4.1` */
  get note(): string {
    const parts = this.judged === 0 ? [] : [`${formatPercent(this.succeeded / this.judged)} succeeded`];
    if (this.cost.calls > 0) parts.push(costText(this.cost));
    const lost = Object.values(this.failed).reduce((a, b) => a + b, 0);
    if (lost > 0) parts.push(`${lost} failed`);
    return parts.join(' · ');
  }
}

/** What is shown of the episodes of any job. */
export function episodeFacts(statistics: RowStatistics, budget: Budget, stoppedBy: string | null): Fact[] {
  const { episodes, steps, success, abstained, failed, outcomes, retried, faults, recovered, cost } = statistics.counts;
  const facts: (Fact | false)[] = [
    ['episodes', `${formatCount(episodes)}, ${formatCount(steps)} turns of the agent`],
    ['success', success === null ? 'no episode was judged' : formatShare(success)],
    ['outcomes', outcomesText(outcomes)],
    abstained > 0 && ['without a reward', formatCount(abstained)],
    Object.keys(retried).length > 0 && ['tried again', outcomesText(retried)],
    Object.keys(failed).length > 0 && ['failed', formatCounts(failed)],
    faults !== undefined && ['faults', formatCounts(faults)],
    recovered !== undefined && [
      'recovered rightly',
      recovered.of === 0 ? 'nothing to recover from' : formatShare(recovered),
    ],
    ...Object.entries(statistics.failedFor).map(([code, message]): Fact => [`  ${code}`, message]),
    cost.calls > 0 && ['cost of episodes', costText(cost)],
    ...spendingFacts(budget),
    stoppedBy !== null && ['stopped by', `the budget of ${stoppedBy}`],
  ];
  return facts.filter((fact) => fact !== false);
}

/** `1.2 k calls, 3.4 M tokens, cost 0.257` */
export function costText({ calls, promptTokens, completionTokens, money }: Cost): string {
  const tokens = formatCount(promptTokens + completionTokens);
  return `${formatCount(calls)} calls, ${tokens} tokens${money > 0 ? `, cost ${formatNumber(money)}` : ''}`;
}

/** All that language models were asked now, and for whom, the dearest first; nothing where none was. */
export function spendingFacts({ spent, spentBy }: Pick<Budget, 'spent' | 'spentBy'>): Fact[] {
  if (spent.calls === 0) return [];
  const size = ({ money, promptTokens, completionTokens }: Cost) => money * 1e9 + promptTokens + completionTokens;
  const sorted = Object.entries(spentBy).sort(([, a], [, b]) => size(b) - size(a));
  return [['spent in this run', costText(spent)], ...sorted.map(([name, cost]): Fact => [`  ${name}`, costText(cost)])];
}

/** `12 judged, 3 failed by the agent, 1 failed by the user` */
function outcomesText(counts: Partial<Record<OutcomeKind, number>>): string {
  const named = Object.entries(counts).map(([kind, count]) => [
    kind.replace(/_by_(?!infra)/, ' by the ').replaceAll('_', ' '),
    count,
  ]);
  return formatCounts(Object.fromEntries(named)) || 'none';
}
