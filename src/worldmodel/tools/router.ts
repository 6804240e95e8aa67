// Who answers a call: the first backend that can and is sure enough. What it proposes is checked against the typed state;
// a proposal with faults is repaired once with the reasons, then the next backend is asked, and if there is none the call
// is refused with an error of the environment: never silently accepted. What was tried, why and at which cost is told.

import { contentHash, type Json } from '../../core/canonical-json.js';
import { addCosts, type Cost, NO_COST } from '../../core/cost.js';
import { describeIssues, reverieError } from '../../core/errors.js';
import { threadPlugins } from '../../core/plugins.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import { type CheckFinding, exactPrediction, type Prediction, type StateCheck } from '../../env/tools/prediction.js';
import type { CallQuery, Responder } from '../../env/tools/tools-family.js';
import type { ExperienceIndex, ExperienceStep } from '../../replay/experience/experience.js';
import { settingInvalid } from '../dynamics.js';
import type {
  BackendEntry,
  BackendModel,
  BackendParts,
  BackendSettings,
  PredictOptions,
  RawProposal,
  Trust,
} from './backend-model.js';
import { routerBackends } from './backends.js';
import { answeredBefore, checkProposal, REFUSAL, toolOf } from './checks.js';
import { DEFAULT_BACKENDS, type ToolsModelConfig } from './tools-model-schema.js';

/** Maximum number of a tool's records for checks. */
const NEAR_RECORDS = 8;

/** A backend in its place. */
interface AskedBackend {
  readonly name: string;
  readonly model: BackendModel;
  readonly trust: Trust;
  readonly minConfidence: number;
}

export class Router implements Responder {
  readonly version: string;

  /** `absent`: one line for each configured backend that this domain cannot have. */
  constructor(
    readonly domain: ToolsDomain,
    private readonly config: ToolsModelConfig,
    private readonly backends: readonly AskedBackend[],
    private readonly absent: readonly string[] = [],
    private readonly index?: ExperienceIndex,
  ) {
    this.version = `router:${contentHash(config).slice(0, 12)}(${backends.map(({ model }) => model.version).join(' | ')})`;
  }

  trusts(backend: string): boolean {
    return this.backends.some(({ name, trust }) => name === backend && trust === 'exact');
  }

  /** Errors of the network and of budgets pass through: the step did not happen and can be taken again. */
  async answer(query: CallQuery, signal?: AbortSignal): Promise<Prediction> {
    const trail = new Trail(this.absent);
    for (const backend of this.backends) {
      const before = backend.trust === 'exact' ? undefined : this.remembered(query, trail);
      if (before !== undefined) return before;
      const accepted = await this.ask(backend, query, trail, signal);
      if (accepted !== undefined) return this.finished(query, backend, accepted, trail);
    }
    return this.refusal(trail);
  }

  /** Models, records and environments are closed by their maker. */
  close(): void {}

  private async ask(
    backend: AskedBackend,
    query: CallQuery,
    trail: Trail,
    signal?: AbortSignal,
  ): Promise<Accepted | undefined> {
    const first = await this.attempt(backend, query, trail, { signal });
    if (first === undefined || !('problems' in first)) return first;
    trail.faults(backend.name, first.problems);
    if (!backend.model.repairs) return undefined;
    const repair = { previous: first.previous, problems: first.problems };
    const second = await this.attempt(backend, query, trail, { signal, repair });
    if (second === undefined) return undefined;
    if (!('problems' in second)) return { ...second, repaired: true };
    trail.faults(backend.name, second.problems, 'after repair');
    return undefined;
  }

  private async attempt(
    backend: AskedBackend,
    query: CallQuery,
    trail: Trail,
    options: PredictOptions,
  ): Promise<Accepted | Refused | undefined> {
    const proposal = await backend.model.predict(query, options);
    trail.spend(proposal.cost);
    if ('declined' in proposal) return trail.say(backend.name, proposal.declined);
    if ('problems' in proposal) return { problems: proposal.problems, previous: proposal.previous ?? null };
    const { trust } = backend;
    const records = trust === 'exact' ? [] : this.recordsNear(query);
    const checked = checkProposal({ ...query, proposal, trust, check: this.config.check, records });
    trail.found(checked.findings);
    if (checked.problems !== undefined) return { problems: checked.problems, previous: asJson(proposal) };
    const least = backend.minConfidence;
    if (proposal.confidence >= least)
      return { proposal, operations: checked.operations, observation: checked.observation };
    trail.refused.push(`${backend.name}: confidence ${proposal.confidence} is below ${least}`);
    return trail.say(backend.name, `confidence ${proposal.confidence} is below ${least}`);
  }

  /** A repeated read of the same state reuses the answer and asks no backend. */
  private remembered(query: CallQuery, trail: Trail): Prediction | undefined {
    const isSkipped = [this.config.check.skip, toolOf(query.domain, query.call.name)?.skipChecks].some((names) =>
      names?.includes('repeated'),
    );
    const answer = isSkipped ? undefined : answeredBefore(query);
    if (answer === undefined) return undefined;
    const { content: observation, isError = false, toolCallId } = answer;
    const why = [...trail.why, 'memory: the same read of an unchanged state was answered before'];
    const prediction = exactPrediction(
      { operations: [], observation, isError },
      { backend: 'memory', modelVersion: 'memory:1', why },
    );
    // No surer than it was.
    const confidence = query.doubts?.[toolCallId] ?? 1;
    const truncated = confidence < this.config.truncateBelow;
    return { ...prediction, confidence, truncated, checks: { repeated: 'held' }, cost: trail.cost };
  }

  /** Records of the same tool, nearest first; those that a model would be shown. */
  private recordsNear({ call, task }: CallQuery): ExperienceStep[] {
    const { exceptOwnTask } = this.config.llm.retrieval;
    const asked = { name: call.name, arguments: call.arguments };
    const except = exceptOwnTask ? { exceptTask: task.id } : {};
    const near = this.index?.retrieve({ call: asked, history: [], sources: 'real', ...except }, NEAR_RECORDS) ?? [];
    return near.flatMap(({ step }) => (step.call.name === call.name ? [step] : []));
  }

  private finished(query: CallQuery, backend: AskedBackend, accepted: Accepted, trail: Trail): Prediction {
    const { proposal, operations, observation, repaired } = accepted;
    const { reasoning, isError, claimed, confidence } = proposal;
    const exact = backend.trust === 'exact' ? proposal.exact : undefined;
    const ends = toolOf(query.domain, query.call.name)?.terminates === true && !isError;
    return {
      ...(reasoning === undefined ? {} : { reasoning }),
      operations,
      observation,
      isError,
      reward: exact?.reward ?? null,
      terminated: ends || exact?.terminated === true,
      truncated: confidence < this.config.truncateBelow,
      ...(claimed === undefined ? {} : { claimed }),
      confidence,
      backend: backend.name,
      modelVersion: proposal.modelVersion ?? backend.model.version,
      why: [...trail.why, `${backend.name}: answered${repaired ? ' after repair' : ''}`],
      ...(repaired ? { repaired } : {}),
      ...trail.checked,
      cost: trail.cost,
    };
  }

  private refusal(trail: Trail): Prediction {
    const last = this.backends.at(-1)!;
    return {
      operations: [],
      observation: REFUSAL,
      isError: true,
      reward: null,
      terminated: false,
      truncated: 0 < this.config.truncateBelow,
      confidence: 0,
      backend: last.name,
      modelVersion: last.model.version,
      why: [...trail.why, 'no backend could answer: refused'],
      refused: trail.refused.length > 0 ? trail.refused : trail.why,
      ...trail.checked,
      cost: trail.cost,
    };
  }
}

interface Accepted extends Pick<Prediction, 'operations' | 'observation' | 'repaired'> {
  readonly proposal: RawProposal;
}

interface Refused {
  readonly problems: readonly string[];
  readonly previous: Json;
}

/** What was tried for one call. */
class Trail {
  readonly why: string[];
  readonly refused: string[] = [];
  private readonly checks: Partial<Record<StateCheck, CheckFinding>> = {};
  cost: Cost = NO_COST;

  constructor(absent: readonly string[]) {
    this.why = [...absent];
  }

  spend(cost: Cost | undefined): void {
    if (cost !== undefined) this.cost = addCosts(this.cost, cost);
  }

  /** The worst result of all proposals: a repaired fault counts as a fault. */
  found(findings: Prediction['checks'] = {}): void {
    const rank = { held: 0, unchecked: 1, refused: 2 };
    for (const [name, finding] of Object.entries(findings) as [StateCheck, CheckFinding][]) {
      const before = this.checks[name];
      if (before === undefined || rank[finding] > rank[before]) this.checks[name] = finding;
    }
  }

  get checked(): Pick<Prediction, 'checks'> {
    return Object.keys(this.checks).length === 0 ? {} : { checks: this.checks };
  }

  say(backend: string, reason: string): undefined {
    this.why.push(`${backend}: ${reason}`);
  }

  faults(backend: string, problems: readonly string[], when = 'at first'): void {
    this.refused.push(...problems.map((problem) => `${backend}, ${when}: ${problem}`));
    this.why.push(
      `${backend}: refused ${when} (${problems.length === 1 ? problems[0] : `${problems.length} problems`})`,
    );
  }
}

function asJson({ reasoning, operations, observation, confidence }: RawProposal): Json {
  return { reasoning: reasoning ?? '', operations: operations as unknown as Json, observation, confidence };
}

/** The backend as it is asked, or why there is none. */
async function backendOf(
  { name, schema, trust = 'proposal', minConfidence = 0, make }: BackendEntry,
  config: ToolsModelConfig,
  parts: BackendParts,
): Promise<AskedBackend | string> {
  const settings = backendSettings({ name, schema }, config);
  const model = await (await make())(parts, settings);
  if (typeof model === 'string') return model;
  return {
    name,
    model,
    trust: typeof trust === 'function' ? trust(settings) : trust,
    minConfidence: typeof minConfidence === 'function' ? minConfidence(settings) : minConfidence,
  };
}

/** Its section, or what that is where the scenario has none. @throws SETTING_INVALID where it must be told something */
export function backendSettings(
  { name, schema }: Pick<BackendEntry, 'name' | 'schema'>,
  config: ToolsModelConfig,
): BackendSettings {
  const given = (config as unknown as Record<string, BackendSettings | undefined>)[name];
  if (given !== undefined || schema === undefined) return given ?? {};
  const read = schema.safeParse({});
  if (read.success) return read.data as BackendSettings;
  const problem = `backend "${name}" needs a section "${name}": ${describeIssues(read.error)}`;
  throw settingInvalid(problem);
}

/** What backends are made from; a configured backend whose part is missing is left out, and every answer says so. */
export type RouterParts = BackendParts;

/**
 * A backend may be absent where one before it answers every call, and so may those of the default list that depend on the domain.
 * @throws SCENARIO_UNFIT if none of the configured backends is there, MODEL_BACKEND_UNAVAILABLE if one that would be asked is not;
 * NAME_UNKNOWN for one that there is not
 */
export async function makeRouter(config: ToolsModelConfig, parts: RouterParts): Promise<Router> {
  await threadPlugins();
  const { domain } = parts;
  const entries = config.backends.map((name) => routerBackends.get(name));
  const made = await Promise.all(entries.map((entry) => backendOf(entry, config, parts)));
  const backends = made.filter((backend) => typeof backend !== 'string');
  const absent = made.filter((backend) => typeof backend === 'string');
  if (backends.length === 0)
    throw reverieError('SCENARIO_UNFIT', {
      problem: `No backend of the world model can answer calls of domain "${domain.id}": ${absent.join('; ')}.`,
      hint: 'Give the domain rules.yaml, records to replay or a language model (section llm), and name it in model.backends.',
    });
  const isDefault = config.backends.join() === DEFAULT_BACKENDS.join();
  for (const [i, entry] of entries.entries()) {
    const one = made[i];
    if (typeof one !== 'string') {
      if (entry.isReal?.(domain, backendSettings(entry, config))) break;
    } else if (!isDefault || entry.name === 'llm') {
      const reason = one.replace(`${entry.name}: `, '');
      throw reverieError('MODEL_BACKEND_UNAVAILABLE', { backend: entry.name, domain: domain.id, reason });
    }
  }
  return new Router(domain, config, backends, absent, parts.index);
}

/** Files that the sections of the listed backends name, relative to the scenario. */
export function backendFiles(config: ToolsModelConfig): string[] {
  return config.backends.flatMap((name) => {
    const entry = routerBackends.get(name);
    return [...(entry.files?.(backendSettings(entry, config)) ?? [])];
  });
}
