// A language model that writes what pages become, as a backend of the router. In stages, as UI-Simulator has them (arXiv 2510.14969,
// section 3.1): an overview of what follows; then, of another page, a draft in free text and its tree, of a change the operations. Or as
// code that is drawn (gWorld, Code2World): the page after the action as HTML. What the overview claims is checked with the rest.

import { createHash } from 'node:crypto';
import type { Json } from '../../core/canonical-json.js';
import { canonicalJson } from '../../core/canonical-json.js';
import { NO_COST } from '../../core/cost.js';
import { actionLine } from '../../env/screens/screen-actions.js';
import { memoryOf, type ScreenState } from '../../env/screens/screen-state.js';
import type { Operation } from '../../env/tools/prediction.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import type { LanguageModel } from '../../llm/language-model.js';
import type { ExperienceIndex } from '../../replay/experience/experience.js';
import { parseOperations } from '../../worldmodel/llm/prediction-schema.js';
import { clipped } from '../../worldmodel/llm/sections.js';
import type { BackendModel, Failed, PredictOptions, RawProposal } from '../../worldmodel/tools/backend-model.js';
import { KnownIds } from '../lifted/known-ids.js';
import { PageDrawer } from '../page-drawer.js';
import { screenChanges } from '../screen-changes.js';
import { screenMarkup } from '../screen-markup.js';
import { PROMPT_VERSION, type Stage } from './prompts.js';
import { htmlReply, type OverviewReply, operationsReply, overviewReply, treeReply } from './replies.js';
import type { PageLlmSettings } from './settings.js';
import { situationOf } from './situation.js';
import { StageFailed, Stages } from './stages.js';
import { pageOfChanges, pageOfDrawn, pageOfTree, titleOf, type Written } from './written-page.js';

/** What is done of a call, so that a repair begins at the stage that failed. */
interface Progress {
  overview?: OverviewReply;
  draft?: string;
  /** The stage that answered last, and its reply. */
  last?: { readonly stage: Stage; readonly reply: Json };
}

const MAX_DRAFT_CHARS = 12_000;
const MAX_MEMORY_CHARS = 300;

export class PageModel implements BackendModel {
  readonly version: string;
  readonly repairs = true;
  private readonly ids = new KnownIds();
  private readonly drawer = new PageDrawer();
  private readonly begun = new WeakMap<CallQuery, Progress>();

  constructor(
    private readonly model: LanguageModel,
    private readonly settings: PageLlmSettings,
    private readonly index?: ExperienceIndex,
  ) {
    const decided = canonicalJson({
      prompt: PROMPT_VERSION,
      settings,
      retrieves: index !== undefined,
    } as unknown as Json);
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
    const told = await situationOf(query, this.settings, this.index);
    // Where a repair is about the overview, what followed from it is done anew.
    if (stages.repairs('overview')) progress.overview = undefined;
    progress.overview ??= await stages.read('overview', overviewReply, told);
    const { overview } = progress;
    progress.last = { stage: 'overview', reply: overview as unknown as Json };
    if (overview.outcome === 'nothing') return this.finished(query, stages, overview, before, 1);
    const taken = this.ids.last(query);
    const sections = { ...told, Overview: overviewTold(overview) };
    const { written, confidence, reply } = await this.written({ before, stages, sections, progress, taken });
    progress.last = { stage: stages.last, reply };
    if ('problems' in written) throw new StageFailed(written.problems, reply);
    return this.finished(query, stages, overview, written.after, confidence);
  }

  private written(asked: Asked): Promise<Answer> {
    if (this.settings.mode === 'html') return this.asHtml(asked);
    return asked.progress.overview!.outcome === 'page' ? this.asTree(asked) : this.asChanges(asked);
  }

  private async asHtml({ before, stages, sections, progress, taken }: Asked): Promise<Answer> {
    // The screen is in the page.
    const { Screen: _, Acted: __, ...others } = sections;
    const reply = await stages.read('html', htmlReply, { ...others, Page: screenMarkup(before) });
    const drawn = await this.drawer.draw(reply.html);
    const isAnother = progress.overview!.outcome === 'page';
    return { written: pageOfDrawn(before, drawn, { isAnother, taken }), confidence: reply.confidence, reply };
  }

  private async asTree({ before, stages, sections, progress, taken }: Asked): Promise<Answer> {
    const { Acted: _, ...drafted } = sections;
    const { draft } = this.settings;
    if (draft) progress.draft ??= clipped(await stages.write('draft', drafted), MAX_DRAFT_CHARS);
    const known = draft ? { Overview: sections.Overview } : drafted;
    const Draft = progress.draft ?? progress.overview!.overview;
    const reply = await stages.read('tree', treeReply, { ...known, Draft });
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
      modelVersion: stages.answered === undefined ? this.version : this.versionOf(stages.answered),
      cost: stages.cost,
    };
  }

  private remembered(before: ScreenState, { memory }: OverviewReply): Operation[] {
    const line = clipped(memory.replace(/\s+/g, ' ').trim(), MAX_MEMORY_CHARS);
    const kept = memoryOf(before);
    if (this.settings.memory === 0 || line === '' || kept.includes(line)) return [];
    return [{ op: 'add', path: '/memory', value: [...kept, line].slice(-this.settings.memory) }];
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

/** A claim that is no probability counts as none. */
function statedConfidence(claim: number): number {
  return claim >= 0 && claim <= 1 ? claim : 0;
}

function refusal(reasons: readonly string[]): RawProposal {
  const observation = `Error: ${reasons.join('; ')}`;
  return { operations: [], observation, isError: true, confidence: 1, cost: NO_COST };
}
