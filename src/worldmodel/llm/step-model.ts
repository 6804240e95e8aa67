// A language model as experience model: DreamGym's step (task, history, similar transitions, thoughts before the answer;
// 2511.03773) on a typed state. With several samples the most frequent outcome stands, and its share is the confidence.

import { createHash } from 'node:crypto';
import { canonicalJson } from '../../canonical-json.js';
import { addCosts, type Cost, NO_COST } from '../../cost.js';
import { applyOperations, type CallQuery, stateHash } from '../../env/index.js';
import { describeIssues } from '../../errors.js';
import type { Json } from '../../json.js';
import type { ChatMessage, LanguageModel } from '../../llm/index.js';
import type { ExperienceIndex } from '../../replay/index.js';
import { Rng } from '../../rng.js';
import type { Failed, PredictOptions, RawProposal, ToolsBackendModel } from '../tools/backend-model.js';
import { comparableObservation } from '../tools/observation-text.js';
import { toolOf } from '../tools/tool-of.js';
import {
  parseOperations,
  predictionReply,
  replySchema,
  reportsError,
  textPredictionReply,
} from './prediction-schema.js';
import { failedReply } from './reply-failure.js';
import { PROMPT_VERSION, type PromptOptions, stepMessages } from './step-prompt.js';

export interface LlmStepOptions extends PromptOptions {
  readonly temperature: number;
  readonly maxTokens: number;
  readonly consistency: number;
}

const SCHEMAS = {
  typed: replySchema('prediction', predictionReply),
  text: replySchema('text_prediction', textPredictionReply),
};

export class LlmStepModel implements ToolsBackendModel {
  readonly name = 'llm';
  readonly version: string;
  readonly trust: 'proposal' | 'text';
  readonly repairs = true;

  constructor(
    private readonly model: LanguageModel,
    private readonly options: LlmStepOptions,
    private readonly index?: ExperienceIndex,
  ) {
    const { promptTokens, ...always } = options;
    // A limit that is not set is no part of who answers: versions stay what they were before there was one.
    const decides = promptTokens == null ? always : options;
    const decided = canonicalJson({ prompt: PROMPT_VERSION, options: decides, retrieves: index !== undefined });
    this.version = `llm:${model.version}:${createHash('sha256').update(decided).digest('hex').slice(0, 12)}`;
    this.trust = options.mode === 'typed' ? 'proposal' : 'text';
  }

  async predict(query: CallQuery, { repair, signal }: PredictOptions): Promise<RawProposal | Failed> {
    const { consistency } = this.options;
    const messages = this.messages(query, repair);
    if ('problems' in messages) return messages;
    const first = repair === undefined ? 0 : consistency;
    const attempts = Array.from({ length: consistency }, (_, i) => first + i);
    const samples = await Promise.all(attempts.map((attempt) => this.sample(query, messages, attempt, signal)));
    return samples.length === 1 ? samples[0] : majority(query, samples);
  }

  private messages(query: CallQuery, repair: PredictOptions['repair']): readonly ChatMessage[] | Failed {
    try {
      return stepMessages(query, this.options, this.index, repair);
    } catch (error) {
      return failedReply(error);
    }
  }

  private async sample(
    query: CallQuery,
    messages: readonly ChatMessage[],
    attempt: number,
    signal?: AbortSignal,
  ): Promise<RawProposal | Failed> {
    const { mode, temperature, maxTokens } = this.options;
    const seed = Rng.fromSeed(query.seed).split('llm-step', query.step, attempt).uint32() >>> 1;
    const request = { messages, schema: SCHEMAS[mode], temperature, maxTokens, seed, attempt };
    try {
      const reply = await this.model.chat(request, { signal });
      return parseReply(reply.json ?? null, mode, reply.usage, this.versionOf(reply.model));
    } catch (error) {
      return failedReply(error);
    }
  }

  /** A server may answer with another model than it was asked for (an alias, a snapshot): it is part of who answered. */
  private versionOf(answered: string): string {
    return this.version.includes(answered) ? this.version : `${this.version}@${answered}`;
  }
}

function parseReply(json: Json, mode: 'typed' | 'text', cost: Cost, modelVersion: string): RawProposal | Failed {
  const read = (mode === 'typed' ? predictionReply : textPredictionReply).safeParse(json);
  if (!read.success) return { problems: [`The reply: ${describeIssues(read.error)}`], previous: json, cost };
  const { reasoning, observation, reward, terminated, confidence } = read.data;
  const parsed = parseOperations('operations' in read.data ? (read.data.operations as never) : []);
  if ('problems' in parsed) return { problems: parsed.problems, previous: json, cost };
  const isError = reportsError(observation);
  const claimed = { reward, terminated };
  const proposal = { reasoning, operations: parsed.operations, observation, isError, claimed, modelVersion, cost };
  return { ...proposal, confidence: statedConfidence(confidence) };
}

/** A claim that is no probability ("95", 1e15: small models write such) counts as none; the answer is judged by itself. */
function statedConfidence(claim: number): number {
  return claim >= 0 && claim <= 1 ? claim : 0;
}

/** The most frequent outcome; the first of it speaks for all. */
function majority(query: CallQuery, samples: readonly (RawProposal | Failed)[]): RawProposal | Failed {
  const cost = samples.reduce((sum, sample) => addCosts(sum, sample.cost), NO_COST);
  const votes = new Map<string, RawProposal[]>();
  for (const sample of samples) {
    if ('problems' in sample) continue;
    const outcome = outcomeOf(query, sample);
    votes.set(outcome, [...(votes.get(outcome) ?? []), sample]);
  }
  const [most] = [...votes.values()].sort((a, b) => b.length - a.length);
  if (most === undefined) return { ...(samples[0] as Failed), cost };
  return { ...most[0], confidence: most.length / samples.length, cost };
}

/** What samples agree about: the state that follows and whether the call failed; of a read, what it answers. */
function outcomeOf({ state, domain, call }: CallQuery, { operations, isError, observation }: RawProposal): string {
  const isRead = toolOf(domain, call.name)?.kind !== 'write';
  const said = isRead && !isError ? comparableObservation(observation) : '';
  try {
    return canonicalJson([stateHash(applyOperations(state, operations)), isError, said]);
  } catch {
    return canonicalJson([operations, isError, said]);
  }
}
