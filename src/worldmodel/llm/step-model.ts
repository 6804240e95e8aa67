// A language model as experience model: DreamGym's step (task, history, similar transitions, thoughts before the answer;
// 2511.03773) on a typed state.

import { contentHash, type Json, type JsonObject } from '../../core/canonical-json.js';
import type { Cost } from '../../core/cost.js';
import { describeIssues } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { stateHash } from '../../env/state/state.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import type { ChatMessage, LanguageModel } from '../../llm/language-model.js';
import type { ExperienceIndex, ExperienceStep } from '../../replay/experience/experience.js';
import type { BackendModel, Failed, PredictOptions, RawProposal } from '../tools/backend-model.js';
import { callsBefore } from '../tools/checks.js';
import { clipped, historyOf, oneLine, type Refused, renderPrompt, sliceState } from './prompt.js';
import {
  failedReply,
  normalisedReply,
  parseOperations,
  predictionReply,
  replySchema,
  reportsError,
} from './replies.js';

export interface LlmStepOptions extends PromptOptions {
  readonly temperature: number;
  readonly maxTokens: number;
  /** Below this confidence the next backend is asked. */
  readonly minConfidence?: number;
}

const SCHEMA = replySchema('prediction', predictionReply);

export class LlmStepModel implements BackendModel {
  readonly version: string;
  readonly repairs = true;

  constructor(
    private readonly model: LanguageModel,
    private readonly options: LlmStepOptions,
    private readonly index?: ExperienceIndex,
  ) {
    const decided = contentHash({ prompt: PROMPT_VERSION, options, retrieves: index !== undefined });
    this.version = `llm:${model.version}:${decided.slice(0, 12)}`;
  }

  async predict(query: CallQuery, { repair, signal }: PredictOptions): Promise<RawProposal | Failed> {
    const messages = stepMessages(query, this.options, this.index, repair);
    const { temperature, maxTokens } = this.options;
    const attempt = repair === undefined ? 0 : 1;
    const seed = Rng.fromSeed(query.seed).split('llm-step', query.step, attempt).uint32() >>> 1;
    const request = { messages, schema: SCHEMA, temperature, maxTokens, seed, attempt };
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

/** A claim that is no probability ("95", 1e15: small models write such) counts as none; the answer is judged by itself. */
function statedConfidence(claim: number): number {
  return claim >= 0 && claim <= 1 ? claim : 0;
}

// What a language model is told to be the tools of a domain: a system prompt that stays the same for all its calls (so that
// servers keep it in their prefix caches), and one user message of sections for the call at hand.

/** Counts changes of the prompt that can change answers. */
const PROMPT_VERSION = 2;

interface PromptOptions {
  readonly instructions?: 'full' | 'short';
  readonly retrieval: RetrievalOptions;
  readonly historyTokens: number;
  readonly stateTokens: number;
}

export function stepMessages(
  query: CallQuery,
  options: PromptOptions,
  index: ExperienceIndex | undefined,
  refused?: Refused,
): ChatMessage[] {
  const { state, call, domain } = query;
  const history = historyOf(query, options.historyTokens);
  const references = index === undefined ? [] : otherReferences(query, stateHash(state), index, options.retrieval);
  const texts = [...references, ...history].map((entry) => JSON.stringify(entry));
  return renderPrompt({
    ...{ policy: domain.policy, tools: domain.tools, schema: domain.stateSchema, references, history, refused },
    state: sliceState({ state, given: call.arguments, texts, tokens: options.stateTokens }),
    call: { name: call.name, arguments: call.arguments },
    isShort: options.instructions === 'short',
  });
}

// Similar records (DreamGym's retrieval) are shown beside the call asked for.

interface RetrievalOptions {
  readonly k: number;
  readonly sources: 'real' | 'both';
  readonly lag: number;
  readonly maxChars: number;
  readonly exceptOwnTask: boolean;
}

/** Similar transitions of other episodes, nearest first. */
function otherReferences(
  query: CallQuery,
  hash: string,
  index: ExperienceIndex,
  options: RetrievalOptions,
): JsonObject[] {
  if (options.k === 0) return [];
  const found = index.retrieve(
    {
      call: { name: query.call.name, arguments: query.call.arguments },
      history: callsBefore(query),
      stateHash: hash,
      sources: options.sources,
      ...(query.row === undefined ? {} : { beforeRow: query.row - options.lag }),
      ...(options.exceptOwnTask ? { exceptTask: query.task.id } : {}),
    },
    options.k,
  );
  return found.map(({ step }) => asReference(step, options.maxChars));
}

function asReference(step: ExperienceStep, maxChars: number): JsonObject {
  const { call, isError, operations } = step;
  const head: JsonObject = { episode: 'other', call: { name: call.name, arguments: call.arguments } };
  const changes: JsonObject = operations === undefined ? {} : { operations: operations as unknown as Json };
  const whole = { ...head, ...changes, observation: step.observation, isError };
  const excess = oneLine(whole).length - maxChars;
  if (excess <= 0) return whole;
  const observation = clipped(step.observation, Math.max(200, step.observation.length - excess));
  const cut = { ...head, ...changes, observation, isError };
  return oneLine(cut).length <= maxChars ? cut : { ...head, observation: clipped(observation, maxChars / 4), isError };
}
