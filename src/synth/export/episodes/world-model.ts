// Rows that train a language model to simulate the tools: each answered call with the prompt of the backend `llm`, and the
// expected reply. A model trained on them works as that backend without further code.

import type { JsonObject } from '../../../core/canonical-json.js';
import { applyOperations } from '../../../env/state/operations.js';
import { stateHash } from '../../../env/state/state.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import type { Prediction } from '../../../env/tools/prediction.js';
import { initialStateOf } from '../../../env/tools/situation.js';
import type { CallQuery } from '../../../env/tools/tools-family.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { llmSection } from '../../../worldmodel/llm/entry.js';
import type { ReplyOperation, WrittenReply } from '../../../worldmodel/llm/replies.js';
import { type LlmStepOptions, stepMessages } from '../../../worldmodel/llm/step-model.js';
import { routerBackends } from '../../../worldmodel/tools/backends.js';
import { hash53 } from '../../quality/overlap-filters.js';
import { type EpisodeFormat, type FormatContext, type FormatRow, lists } from './format.js';

const TABLES = {
  prompt_completion: { features: lists('prompt', 'completion') },
  openai: { features: lists('messages') },
};

export function worldModelFormat({ domain, taskOf, world, adapt }: FormatContext): EpisodeFormat {
  const given = llmSection.parse(world?.settings) as unknown as LlmStepOptions;
  // A record of the same task would reveal the answer.
  const settings = { ...given, retrieval: { ...given.retrieval, exceptOwnTask: true } };
  const seen = new Set<number>();

  function* rowsOf(query: CallQuery, prediction: Prediction, split: FormatRow['split']): Generator<FormatRow> {
    const reply = replyTo(prediction);
    if (reply === undefined) return adapt('calls left out: a change that the reply has no form for');
    const prompt = stepMessages(query, settings, world?.index).map(
      ({ role, content }) => ({ role, content }) as JsonObject,
    );
    const completion = [{ role: 'assistant', content: JSON.stringify(reply) }];
    const messages = [...prompt, ...completion];
    const key = hash53(JSON.stringify(messages));
    if (seen.has(key)) return adapt('calls left out: the same question and answer as before');
    seen.add(key);
    yield { table: 'prompt_completion', split, value: { prompt, completion } };
    yield { table: 'openai', split, value: { messages } };
  }

  return {
    tables: TABLES,
    *rows(record) {
      const task = taskOf(record.task);
      if (task === undefined) return adapt('left out: the task is not known');
      for (const { query, prediction } of answeredCalls(record, domain, task)) {
        const why = query === undefined ? 'the state is not known' : whyNotLearned(prediction, record);
        if (why !== undefined) adapt(`calls left out: ${why}`);
        else yield* rowsOf(query!, prediction, record.split);
      }
    },
  };
}

interface AnsweredCall {
  /** The prompt of its backend; absent if a record's state differs from the result of its operations. */
  readonly query?: CallQuery;
  readonly prediction: Prediction;
}

/** The calls of an episode, each with the state before it. */
export function* answeredCalls(record: EpisodeRecord, domain: ToolsDomain, task: ToolsTask): Generator<AnsweredCall> {
  let state: JsonObject | undefined = initialStateOf(domain, task);
  let step = 0;
  for (const { message, action, predictions, stateHash: known } of record.steps) {
    const calls: AnsweredCall[] = [];
    for (const [index, prediction] of predictions.entries()) {
      const messages = record.messages.slice(0, message + 1 + index);
      const call = action.toolCalls![index];
      const query = state && { domain, task, state, messages, call, step: step++, seed: record.seed };
      calls.push({ prediction, ...(query && { query }) });
      state &&= applyOperations(state, prediction.operations);
    }
    if (state !== undefined && stateHash(state) !== known) state = undefined;
    yield* state === undefined ? calls.map(({ prediction }) => ({ prediction })) : calls;
  }
}

/** Answers of exact code and of the real environment are true; a model's are, if exact checks passed the episode. */
function whyNotLearned({ backend, refused }: Prediction, { source, verdict }: EpisodeRecord): string | undefined {
  if (refused !== undefined) return 'an answer that was refused';
  if (backend === 'schema') return 'refused before a backend was asked';
  const isExact = source === 'real' || (routerBackends.has(backend) && routerBackends.get(backend).trust === 'exact');
  const isVerified = verdict.reward === 1 && verdict.judge === undefined;
  return isExact || isVerified ? undefined : "a model's answer in an episode that was not found right";
}

/** The reply of the backend for this answer; undefined if its form lacks such an operation. */
function replyTo({
  reasoning = '',
  operations,
  observation,
  terminated,
  confidence,
}: Prediction): WrittenReply | undefined {
  const written = operations.flatMap((operation): ReplyOperation[] => {
    const { op, path } = operation;
    if (op === 'remove') return [{ op, path, value: 'null' }];
    return op === 'add' || op === 'replace' ? [{ op, path, value: JSON.stringify(operation.value) }] : [];
  });
  if (written.length < operations.length) return undefined;
  return { reasoning, operations: written, observation, reward: null, terminated, confidence };
}
