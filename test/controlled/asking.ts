// Requests to a controlled model as the product's own prompts make them, and what is true of each: shared by its tests.

import type { JsonObject } from '../../src/core/canonical-json.js';
import { applyOperations } from '../../src/env/state/operations.js';
import type { CallSpec, ToolsDomain, ToolsTask } from '../../src/env/tools/domain.js';
import type { Message } from '../../src/env/tools/message.js';
import type { Operation } from '../../src/env/tools/prediction.js';
import { initialStateOf } from '../../src/env/tools/situation.js';
import type { LlmServerRequestBody } from '../llm-server/llm-server.js';
import { openingOf } from './truth.js';

export interface Question {
  readonly task: ToolsTask;
  readonly call: CallSpec;
  readonly state: JsonObject;
  readonly messages: readonly Message[];
  readonly operations: readonly Operation[];
  readonly observation: string;
  readonly isError: boolean;
}

/** Every call of every reference solution, in the state it is made in, with the exact answer. */
export function questionsOf(domain: ToolsDomain): Question[] {
  return domain.tasks.flatMap((task) => {
    let state = initialStateOf(domain, task);
    let messages: Message[] = [{ role: 'user', content: openingOf(task.user) }];
    return (task.reference?.calls ?? []).map((call, i) => {
      const toolCall = { id: `call_${i}`, ...call };
      const { operations, observation, isError } = domain.rules!.execute(state, toolCall);
      const asked: Message[] = [...messages, { role: 'assistant', content: null, toolCalls: [toolCall] }];
      const question = { task, call, state, messages: asked, operations, observation, isError };
      state = applyOperations(state, operations);
      messages = [...asked, { role: 'tool', toolCallId: toolCall.id, name: call.name, content: observation, isError }];
      return question;
    });
  });
}

export function bodyOf(
  schemaName: string,
  messages: LlmServerRequestBody['messages'],
  seed: number,
  schema: unknown = { type: 'object' },
): LlmServerRequestBody {
  return {
    model: 'controlled',
    messages,
    seed,
    response_format: { type: 'json_schema', json_schema: { name: schemaName, schema } },
  };
}
