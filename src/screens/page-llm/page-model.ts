// A language model that writes what pages become, as a backend of the router. In stages, as UI-Simulator has them (arXiv 2510.14969,
// section 3.1): an overview of what follows; then, of another page, a draft in free text and its tree, of a change the operations.
// What the overview claims is checked with the rest.

import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { canonicalJson, type Json, type JsonObject } from '../../core/canonical-json.js';
import { addCosts, type Cost, NO_COST } from '../../core/cost.js';
import { describeIssues, ReverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { actionLine } from '../../env/screens/screen-actions.js';
import {
  memoryOf,
  type ScreenElement,
  type ScreenState,
  type ScreenView,
  screenText,
  tabsOf,
} from '../../env/screens/screen-state.js';
import { applyOperations } from '../../env/state/operations.js';
import type { Operation } from '../../env/tools/prediction.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import type { ChatReply, ChatRequest, LanguageModel } from '../../llm/language-model.js';
import { clipped } from '../../worldmodel/llm/prompt.js';
import { failedReply, parseOperations, statedConfidence } from '../../worldmodel/llm/replies.js';
import type { BackendModel, Failed, PredictOptions, RawProposal } from '../../worldmodel/tools/backend-model.js';
import { KnownIds } from '../lifted/lifted-model.js';
import { screenChanges } from '../mechanics.js';
import {
  type OverviewReply,
  operationsReply,
  overviewReply,
  type PageLlmSettings,
  PROMPT_VERSION,
  SCHEMAS,
  type Stage,
  stageMessages,
  type TreeElement,
  treeReply,
} from './replies.js';

/** What is done of a call, so that a repair begins at the stage that failed. */
interface Progress {
  overview?: OverviewReply;
  draft?: string;
  /** The stage that answered last, and its reply. */
  last?: { readonly stage: Stage; readonly reply: Json };
}

const MAX_DRAFT_CHARS = 12_000;
const MAX_MEMORY_CHARS = 300;
/** Of what later pages must agree with, the newest last. */
const MEMORY_LINES = 12;

export class PageModel implements BackendModel {
  readonly version: string;
  readonly repairs = true;
  private readonly ids = new KnownIds();
  private readonly begun = new WeakMap<CallQuery, Progress>();

  constructor(
    private readonly model: LanguageModel,
    private readonly settings: PageLlmSettings,
  ) {
    const decided = canonicalJson({ prompt: PROMPT_VERSION, settings } as unknown as Json);
    this.version = `page-llm:${model.version}:${createHash('sha256').update(decided).digest('hex').slice(0, 12)}`;
  }

  async predict(query: CallQuery, { repair, signal }: PredictOptions): Promise<RawProposal | Failed> {
    // What cannot be done here takes no model to say.
    const reasons = query.domain.rules?.preconditions(query.state, query.call) ?? [];
    if (reasons.length > 0) return refusal(reasons);
    const progress = (repair && this.begun.get(query)) ?? {};
    this.begun.set(query, progress);
    const { stage, reply } = progress.last ?? { stage: 'overview' as const, reply: null };
    const refused = repair && { stage, previous: reply, problems: repair.problems };
    const stages = new Stages(this.model, this.settings, query, refused, signal);
    try {
      return await this.proposed(query, stages, progress);
    } catch (error) {
      if (!(error instanceof StageFailed)) throw error;
      progress.last = { stage: stages.last, reply: error.previous };
      return { problems: error.problems, previous: error.previous, cost: stages.cost };
    }
  }

  private async proposed(query: CallQuery, stages: Stages, progress: Progress): Promise<RawProposal> {
    const before = query.state as ScreenState;
    const told = situationOf(query);
    // Where a repair is about the overview, what followed from it is done anew.
    if (stages.repairs('overview')) progress.overview = undefined;
    progress.overview ??= await stages.read('overview', overviewReply, told);
    const { overview } = progress;
    progress.last = { stage: 'overview', reply: overview as unknown as Json };
    if (overview.outcome === 'nothing') return this.finished(query, stages, overview, before, 1);
    const taken = this.ids.last(query);
    const sections = { ...told, Overview: overviewTold(overview) };
    const asked = { before, stages, sections, progress, taken };
    const { written, confidence, reply } = await (overview.outcome === 'page'
      ? this.asTree(asked)
      : this.asChanges(asked));
    progress.last = { stage: stages.last, reply };
    if ('problems' in written) throw new StageFailed(written.problems, reply);
    return this.finished(query, stages, overview, written.after, confidence);
  }

  private async asTree({ before, stages, sections, progress, taken }: Asked): Promise<Answer> {
    const { Acted: _, ...drafted } = sections;
    progress.draft ??= clipped(await stages.write('draft', drafted), MAX_DRAFT_CHARS);
    const known = { Overview: sections.Overview, Draft: progress.draft };
    const reply = await stages.read('tree', treeReply, known);
    const written = pageOfTree(before, progress.overview!, reply.elements, taken);
    return { written, confidence: reply.confidence, reply: reply as unknown as Json };
  }

  private async asChanges({ before, stages, sections, taken }: Asked): Promise<Answer> {
    const { Memory: _, ...others } = sections;
    const reply = await stages.read('operations', operationsReply, { ...others, Next: String(taken + 1) });
    const parsed = parseOperations(reply.operations);
    const written: Written = 'problems' in parsed ? parsed : pageOfChanges(before, parsed.operations);
    return { written, confidence: reply.confidence, reply: reply as unknown as Json };
  }

  private finished(
    query: CallQuery,
    stages: Stages,
    overview: OverviewReply,
    after: ScreenState,
    confidence: number,
  ): RawProposal {
    const before = query.state as ScreenState;
    const { outcome, title, shows, overview: said, thought } = overview;
    const history: Operation = { op: 'add', path: '/history/-', value: actionLine(query.call) };
    return {
      reasoning: `${thought}\n${said}`,
      operations: [...screenChanges(before, after), ...this.remembered(before, overview), history],
      // Drawn from the state by the domain.
      observation: '',
      isError: false,
      confidence: statedConfidence(overview.confidence) * statedConfidence(confidence),
      claim: { outcome, ...(outcome === 'page' ? { title: titleOf(title) } : { shows }) },
      claimed: { reward: null, terminated: false },
      modelVersion: stages.answered === undefined ? this.version : this.versionOf(stages.answered),
      cost: stages.cost,
    };
  }

  private remembered(before: ScreenState, { memory }: OverviewReply): Operation[] {
    const line = clipped(memory.replace(/\s+/g, ' ').trim(), MAX_MEMORY_CHARS);
    const kept = memoryOf(before);
    if (line === '' || kept.includes(line)) return [];
    return [{ op: 'add', path: '/memory', value: [...kept, line].slice(-MEMORY_LINES) }];
  }

  /** A server may answer with another model than it was asked for: it is part of who answered. */
  private versionOf(answered: string): string {
    return this.version.includes(answered) ? this.version : `${this.version}@${answered}`;
  }
}

interface Asked {
  readonly before: ScreenState;
  readonly stages: Stages;
  readonly sections: Readonly<Record<string, Json>>;
  readonly progress: Progress;
  /** Ids up to this one are or were somebody's. */
  readonly taken: number;
}

interface Answer {
  readonly written: Written;
  readonly confidence: number;
  /** What the model wrote. */
  readonly reply: Json;
}

function overviewTold({ overview, outcome, title, shows }: OverviewReply): Json {
  return { overview, outcome, ...(outcome === 'page' ? { title } : { shows }) };
}

function refusal(reasons: readonly string[]): RawProposal {
  const observation = `Error: ${reasons.join('; ')}`;
  return { operations: [], observation, isError: true, confidence: 1, cost: NO_COST };
}

/** No usable reply, or none that is a page: what is wrong, and what the model wrote. */
class StageFailed extends Error {
  constructor(
    readonly problems: readonly string[],
    readonly previous: Json = null,
  ) {
    super(problems.join(' '));
  }
}

/** A second try: what was wrong with the reply of which stage. */
interface RefusedStage {
  readonly stage: Stage;
  readonly previous: Json;
  readonly problems: readonly string[];
}

class Stages {
  cost: Cost = NO_COST;
  /** The model that answered last, as the server names it; the stage it was asked last. */
  answered: string | undefined;
  last: Stage = 'overview';

  constructor(
    private readonly model: LanguageModel,
    private readonly settings: Pick<PageLlmSettings, 'temperature' | 'maxTokens'>,
    private readonly query: CallQuery,
    private readonly refused: RefusedStage | undefined,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Whether this is a second try at that stage. */
  repairs(stage: Stage): boolean {
    return this.refused?.stage === stage;
  }

  /** @throws StageFailed; what is no fault of the model passes through */
  async read<T>(
    stage: Exclude<Stage, 'draft'>,
    schema: z.ZodType<T>,
    sections: Readonly<Record<string, Json>>,
  ): Promise<T> {
    const { json = null } = await this.ask(stage, sections, SCHEMAS[stage]);
    const read = schema.safeParse(json);
    if (read.success) return read.data;
    throw new StageFailed([`The ${stage}: ${describeIssues(read.error)}`], json);
  }

  /** Free text. @throws as `read` */
  async write(stage: 'draft', sections: Readonly<Record<string, Json>>): Promise<string> {
    const { text, finishReason } = await this.ask(stage, sections);
    if (finishReason === 'length')
      throw new StageFailed([`The ${stage} was cut off at its longest length (maxTokens).`]);
    if (text.trim() === '') throw new StageFailed([`The ${stage} is empty.`]);
    return text.trim();
  }

  private async ask(
    stage: Stage,
    sections: Readonly<Record<string, Json>>,
    schema?: ChatRequest['schema'],
  ): Promise<ChatReply> {
    const { query, refused, settings } = this;
    const attempt = refused === undefined ? 0 : 1;
    this.last = stage;
    const seed = Rng.fromSeed(query.seed).split('page-llm', stage, query.step, attempt).uint32() >>> 1;
    const { temperature, maxTokens } = settings;
    const { previous, problems } = refused ?? { previous: null, problems: [] };
    const messages = stageMessages(
      stage,
      this.repairs(stage) ? { ...sections, Refused: { previous, problems } } : sections,
    );
    try {
      const reply = await this.model.chat(
        { messages, ...(schema && { schema }), temperature, maxTokens, seed, attempt },
        { signal: this.signal },
      );
      this.cost = addCosts(this.cost, reply.usage);
      this.answered = reply.model;
      return reply;
    } catch (error) {
      const { problems, cost } = failedReply(error);
      this.cost = addCosts(this.cost, cost);
      throw new StageFailed(problems.map((problem) => `The ${stage}: ${problem}`));
    }
  }
}

/** Earlier actions of the episode that are shown, and characters of what became of the screen after each. */
const EARLIER = 6;
const EPISODE_CHARS = 400;
/** Characters of the screen. */
const SCREEN_CHARS = 32_000;

/** The sections, those first that change least. */
function situationOf(query: CallQuery): Record<string, Json> {
  const state = query.state as ScreenState;
  return {
    Memory: memoryOf(state).slice(-MEMORY_LINES),
    Episode: episodeOf(query),
    Screen: screenAround(state, actedOn(query)),
    Acted: Object.fromEntries(actedOn(query).flatMap((id) => lineage(state, id))),
    Action: actionOf(query),
  };
}

/** Ids that the call names. */
function actedOn({ state, call }: Pick<CallQuery, 'state' | 'call'>): string[] {
  const { elements } = state as ScreenState;
  return ['bid', 'from_bid', 'to_bid']
    .map((key) => String(call.arguments[key]))
    .filter((id) => elements[id] !== undefined);
}

function actionOf({ domain, state, call }: CallQuery): JsonObject {
  const line = actionLine(call);
  const [words = line] = domain.rules?.readings?.(state, [line]) ?? [];
  return { line, words };
}

/** An element and all that hold it, itself first. */
function lineage({ elements }: ScreenState, id: string): [string, Json][] {
  const parents = new Map(
    Object.entries(elements).flatMap(([parent, { children }]) => children.map((c) => [c, parent])),
  );
  const found: [string, Json][] = [];
  for (let at: string | undefined = id; at !== undefined && found.length < 32; at = parents.get(at))
    found.push([at, elements[at]]);
  return found;
}

/** The screen as agents see it; of a long one the lines around what is acted on. */
function screenAround(state: ScreenState, ids: readonly string[]): string {
  const lines = screenText(state).split('\n');
  const isActedOn = (line: string) => ids.some((id) => line.trimStart().startsWith(`[${id}]`));
  const at = Math.max(0, lines.findIndex(isActedOn));
  for (let reach = lines.length; ; reach = Math.floor(reach * 0.8)) {
    const [from, to] = [Math.max(0, at - reach), at + reach + 1];
    const shown = lines.slice(from, to);
    if (reach > 0 && shown.join('\n').length > SCREEN_CHARS) continue;
    const cut = (count: number, where: string) => (count > 0 ? [`(${count} lines ${where} are left out)`] : []);
    return [...cut(from, 'above'), ...shown, ...cut(lines.length - to, 'below')].join('\n');
  }
}

/** Earlier actions of this episode, oldest first. */
function episodeOf({ messages, call }: CallQuery): Json[] {
  const calls = new Map(
    messages
      .flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
      .map((one) => [one.id, one]),
  );
  const answered = messages.flatMap((message): Json[] => {
    const made = message.role === 'tool' && message.toolCallId !== call.id ? calls.get(message.toolCallId) : undefined;
    if (made === undefined || message.role !== 'tool') return [];
    return [{ action: actionLine(made), became: clipped(message.content, EPISODE_CHARS) }];
  });
  return answered.slice(-EARLIER);
}

/** The screen after, or what is wrong with it, a sentence each. */
type Written = { readonly after: ScreenState } | { readonly problems: readonly string[] };

const MAX_ELEMENTS = 800;
const TEXTS = new Set(['value']);

/** A tree that is told flat. New elements get the next ids in the order of the page, as in a browser. */
function pageOfTree(
  before: ScreenState,
  { title }: Pick<OverviewReply, 'title'>,
  told: readonly TreeElement[],
  taken: number,
): Written {
  const problems = faultsOf(told);
  if (problems.length > 0) return { problems };
  const root = String(taken + 1);
  const name = titleOf(title);
  const elements: Record<string, ScreenElement> = {};
  const children = new Map<string, string[]>([[root, []]]);
  const open = [root];
  told.forEach(({ depth, role, name, states }, i) => {
    const id = String(taken + 2 + i);
    children.get(open[depth])!.push(id);
    children.set(id, []);
    open[depth + 1] = id;
    const own = states.map(({ property, value }) => [property, TEXTS.has(property) ? value : value === 'true']);
    elements[id] = { role, name, ...Object.fromEntries(own), children: children.get(id)! } as ScreenElement;
  });
  const page = { role: 'RootWebArea', name, children: children.get(root)! } as ScreenElement;
  return { after: shownNext(before, { root, focused: '', elements: { [root]: page, ...elements } }, name) };
}

/** As browsers have it. */
function titleOf(title: string): string {
  return title.replace(/\s+/g, ' ').trim();
}

function faultsOf(told: readonly TreeElement[]): string[] {
  if (told.length === 0) return ['The page has no elements.'];
  if (told.length > MAX_ELEMENTS) return [`The page has ${told.length} elements; at most ${MAX_ELEMENTS} are drawn.`];
  return told.flatMap(({ depth, role, states }, i) => {
    const before = told[i - 1];
    const called = `Element ${i + 1} (${role || 'without a role'})`;
    const deepest = before === undefined ? 0 : before.depth + 1;
    const faults: string[] = [];
    if (role.trim() === '') faults.push(`Element ${i + 1} has no role.`);
    if (depth > deepest)
      faults.push(`${called} has depth ${depth}; after the one before it can have at most ${deepest}.`);
    else if (before?.role === 'StaticText' && depth === deepest && i > 0)
      faults.push(`${called} stands within a StaticText.`);
    const flags = states.filter(({ property, value }) => !TEXTS.has(property) && value !== 'true' && value !== 'false');
    return [
      ...faults,
      ...flags.map(({ property, value }) => `${called}: ${property} is "${value}"; it is "true" or "false".`),
    ];
  });
}

/** Changes of elements and of what has the keyboard, of nothing else. */
function pageOfChanges(before: ScreenState, operations: readonly Operation[]): Written {
  const others = operations.filter(({ path }) => !/^\/(focused$|elements\/[^/]+(\/|$))/.test(path));
  if (others.length > 0) {
    const paths = others.map(({ path }) => `"${path}"`).join(', ');
    return { problems: [`The operations change ${paths}; a page changes "/elements/ID" and "/focused" alone.`] };
  }
  try {
    return { after: applyOperations(before, operations) as ScreenState };
  } catch (error) {
    if (error instanceof ReverieError && error.code === 'OPERATION_INVALID') return { problems: [error.message] };
    throw error;
  }
}

/** Another page in the same tab: where there are tabs, its title is told there. Its address is not asked for. */
function shownNext(before: ScreenState, view: ScreenView, title: string): ScreenState {
  const { tabs, tab } = tabsOf(before);
  const told = tabs.map((one, i) => (i === tab ? `${one.split(' ')[0]} ${title}`.trim() : one));
  return { ...before, ...view, ...(tabs.length > 0 && { tabs: told as Json }) } as ScreenState;
}
