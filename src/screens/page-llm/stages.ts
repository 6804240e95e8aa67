// The calls of the language model that one action takes: each with a seed of its own, all added up. A reply that is none, such as one that
// is empty or was cut off, ends the action's try with a reason.

import type { z } from 'zod';
import type { Json } from '../../core/canonical-json.js';
import { addCosts, type Cost, NO_COST } from '../../core/cost.js';
import { describeIssues } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import type { ChatReply, ChatRequest, LanguageModel } from '../../llm/language-model.js';
import { failedReply } from '../../worldmodel/llm/reply-failure.js';
import { type Stage, stageMessages } from './prompts.js';
import { SCHEMAS } from './replies.js';
import type { PageLlmSettings } from './settings.js';

/** No usable reply, or none that is a page: what is wrong, and what the model wrote. */
export class StageFailed extends Error {
  constructor(
    readonly problems: readonly string[],
    readonly previous: Json = null,
  ) {
    super(problems.join(' '));
  }
}

/** A second try: what was wrong with the reply of which stage. */
export interface RefusedStage {
  readonly stage: Stage;
  readonly previous: Json;
  readonly problems: readonly string[];
}

export class Stages {
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
