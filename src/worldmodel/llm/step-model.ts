// A language model as experience model: DreamGym's step (task, history, similar transitions, thoughts before the answer;
// 2511.03773) on a typed state.

import { contentHash, type Json, type JsonObject } from '../../core/canonical-json.js';
import type { Cost } from '../../core/cost.js';
import { describeIssues } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import type { ToolCall } from '../../env/tools/message.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import type { ChatMessage, LanguageModel } from '../../llm/language-model.js';
import type { ExperienceIndex, ExperienceStep } from '../../replay/experience/experience.js';
import { callText, MAX_HISTORY } from '../../replay/experience/terms.js';
import type { BackendModel, Failed, PredictOptions, RawProposal } from '../tools/backend-model.js';
import {
  callEntry,
  clipped,
  type EpisodeLimits,
  type EpisodeTexts,
  episodeText,
  oneLine,
  type Refused,
  systemText,
} from './prompt.js';
import {
  failedReply,
  normalisedReply,
  parseOperations,
  predictionReply,
  replySchema,
  reportsError,
  statedConfidence,
} from './replies.js';

export interface LlmStepOptions extends PromptOptions {
  readonly temperature: number;
  readonly maxTokens: number;
  /** Below this confidence the next backend is asked. */
  readonly minConfidence?: number;
}

const SCHEMA = { ...replySchema('prediction', predictionReply), mend: normalisedReply };

export class LlmStepModel implements BackendModel {
  readonly version: string;
  readonly repairs = true;
  private readonly texts: EpisodeTexts = new WeakMap();

  constructor(
    private readonly model: LanguageModel,
    private readonly options: LlmStepOptions,
    private readonly index?: ExperienceIndex,
  ) {
    const decided = contentHash({ prompt: PROMPT_VERSION, options, retrieves: index !== undefined });
    this.version = `llm:${model.version}:${decided.slice(0, 12)}`;
  }

  async predict(query: CallQuery, { repair, signal }: PredictOptions): Promise<RawProposal | Failed> {
    const messages = stepMessages(query, this.options, this.index, repair, this.texts);
    const { temperature, maxTokens } = this.options;
    const attempt = repair === undefined ? 0 : 1;
    const seed = Rng.fromSeed(query.seed).split('llm-step', query.step, attempt).uint32() >>> 1;
    const session = `${query.task.id} ${query.seed}`;
    const request = { messages, schema: SCHEMA, temperature, maxTokens, seed, attempt, session };
    try {
      const reply = await this.model.chat(request, { signal });
      return unearned(query, parseReply(reply.json ?? null, reply.usage, this.versionOf(reply.model)));
    } catch (error) {
      return failedReply(error);
    }
  }

  /** A server may answer with another model than it was asked for (an alias, a snapshot): it is part of who answered. */
  private versionOf(answered: string): string {
    return this.version.includes(answered) ? this.version : `${this.version}@${answered}`;
  }
}

function parseReply(json: Json, cost: Cost, modelVersion: string): RawProposal | Failed {
  const read = predictionReply.safeParse(normalisedReply(json));
  if (!read.success) return { problems: [`The reply: ${describeIssues(read.error)}`], previous: json, cost };
  const { reasoning, observation, reward, terminated, confidence } = read.data;
  const parsed = parseOperations(read.data.operations);
  if ('problems' in parsed) return { problems: parsed.problems, previous: json, cost };
  const isError = reportsError(observation);
  const claimed = { reward, terminated };
  const proposal = { reasoning, operations: parsed.operations, observation, isError, claimed, modelVersion, cost };
  return { ...proposal, confidence: statedConfidence(confidence) };
}

/** What was earned is nothing that a model decides, wherever a domain keeps it. */
function unearned({ domain }: CallQuery, proposal: RawProposal | Failed): RawProposal | Failed {
  const { earned = [] } = domain.rules ?? {};
  if ('problems' in proposal || earned.length === 0) return proposal;
  const minted = proposal.operations.filter(({ path }) => path === '' || earned.includes(path.split('/')[1]));
  if (minted.length === 0) return proposal;
  const paths = minted.map(({ path }) => `"${path}"`).join(', ');
  const problem = `The operations change ${paths}: what is earned, and when the task is over, is not decided here.`;
  return { problems: [problem], previous: proposal.operations as unknown as Json, cost: proposal.cost };
}

/** Counts changes of the prompt that can change answers. */
const PROMPT_VERSION = 3;

interface PromptOptions extends EpisodeLimits {
  readonly instructions?: 'full' | 'short';
  readonly retrieval: RetrievalOptions;
}

export function stepMessages(
  query: CallQuery,
  options: PromptOptions,
  index: ExperienceIndex | undefined,
  refused?: Refused,
  texts: EpisodeTexts = new WeakMap(),
): ChatMessage[] {
  const { retrieval } = options;
  const recordsOf = (call: ToolCall, before: readonly ToolCall[]) =>
    index === undefined || retrieval.k === 0 ? [] : similarRecords(query, call, before, index, retrieval);
  return [
    { role: 'system', content: systemText(query.domain, options.instructions === 'short') },
    { role: 'user', content: episodeText(query, options, recordsOf, texts, refused) },
  ];
}

interface RetrievalOptions {
  readonly k: number;
  readonly sources: 'real' | 'both';
  readonly lag: number;
  readonly maxChars: number;
  readonly exceptOwnTask: boolean;
}

/** Similar transitions of other episodes, nearest first (DreamGym's retrieval). */
function similarRecords(
  { row, task }: CallQuery,
  { name, arguments: given }: ToolCall,
  before: readonly ToolCall[],
  index: ExperienceIndex,
  options: RetrievalOptions,
): JsonObject[] {
  const found = index.retrieve(
    {
      call: { name, arguments: given },
      history: before.slice(-MAX_HISTORY).map(callText),
      sources: options.sources,
      ...(row === undefined ? {} : { beforeRow: row - options.lag }),
      ...(options.exceptOwnTask ? { exceptTask: task.id } : {}),
    },
    options.k,
  );
  return found.map(({ step }) => asRecord(step, options.maxChars));
}

function asRecord({ call, isError, operations, observation }: ExperienceStep, maxChars: number): JsonObject {
  const changes: JsonObject = operations?.length ? { operations: operations as unknown as Json } : {};
  const record = (answer: string) => ({ ...callEntry({ ...call, answer, isError }), ...changes });
  const excess = oneLine(record(observation)).length - maxChars;
  if (excess <= 0) return record(observation);
  const cut = record(clipped(observation, Math.max(200, observation.length - excess)));
  if (oneLine(cut).length <= maxChars) return cut;
  return callEntry({ ...call, answer: clipped(observation, maxChars / 4), isError });
}
