// Observations and actions of each family between memory and the wire, and what is refused before it is sent.

import { z } from 'zod';
import type { Info, Space, TextSpace, ToolsSpace, VectorSpace } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { describeSpace, requireAction, rowSize } from '../space-values.js';
import { messageOf } from '../tools/check-action.js';
import type { AssistantMessage, Message, ToolMessage } from '../tools/message.js';
import type { ToolsAction, ToolsObservation } from '../tools/tools-family.js';

/** Of one environment: it may keep what has been said in the episode. */
export interface Codec<Obs, Act> {
  /** The action as it is sent. @throws ACTION_OUT_OF_SPACE */
  encode(action: Act): unknown;
  /** What was seen after `action`, or first. @throws z.ZodError where it is none */
  decode(observation: unknown, action?: Act): Obs;
  /** `info` with the names that environments in this process give. */
  readonly infoOf: (info: Info) => Info;
  /** What a snapshot holds beside the server's, as JSON: its form, and what takes what has this form. */
  readonly memory?: { readonly form: z.ZodType; save(): unknown; load(saved: unknown): void };
}

export function rowCodec(observationSpace: VectorSpace, actionSpace: VectorSpace): Codec<Float32Array, Float32Array> {
  const row = z.array(z.number()).length(rowSize(observationSpace));
  return {
    encode(action) {
      requireAction(actionSpace, action);
      return Array.from(action);
    },
    decode: (observation) => Float32Array.from(row.parse(observation)),
    infoOf: (info) => info,
  };
}

export function textCodec(actionSpace: TextSpace): Codec<string, string> {
  return {
    encode(action) {
      if (typeof action === 'string' && action.length <= actionSpace.maxLength) return action;
      const shown = typeof action === 'string' ? `of ${action.length} characters` : String(action);
      throw reverieError('ACTION_OUT_OF_SPACE', {
        action: shown,
        space: describeSpace(actionSpace as Space),
        hint: 'Give a shorter text.',
      });
    },
    decode: (observation) => z.string().parse(observation),
    infoOf: withStateHash,
  };
}

const wireMessage = z.union([
  z.object({ role: z.enum(['system', 'user']), content: z.string() }),
  z
    .object({
      role: z.literal('tool'),
      tool_call_id: z.string(),
      name: z.string(),
      content: z.string(),
      is_error: z.boolean().default(false),
    })
    .transform(
      ({ tool_call_id: toolCallId, is_error: isError, ...rest }): ToolMessage =>
        isError ? { ...rest, toolCallId, isError } : { ...rest, toolCallId },
    ),
]);
const wireMessages = z.object({ messages: z.array(wireMessage) });

const conversationForm = z.array(z.looseObject({ role: z.string(), content: z.string().nullable() }));

/** Keeps the conversation, so that ids of calls are those an environment in this process would give. */
export class ConversationCodec implements Codec<ToolsObservation, ToolsAction> {
  private conversation: readonly Message[] = [];
  private asked: AssistantMessage | undefined;
  readonly infoOf = withStateHash;

  constructor(private readonly space: ToolsSpace) {}

  get messages(): readonly Message[] {
    return this.conversation;
  }

  encode(action: ToolsAction): unknown {
    const message = messageOf(action, this.conversation, this.space);
    this.asked = message;
    const { content, reasoning, toolCalls } = message;
    return {
      content,
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(toolCalls && {
        tool_calls: toolCalls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given })),
      }),
    };
  }

  decode(observation: unknown, action?: ToolsAction): ToolsObservation {
    const { messages } = wireMessages.parse(observation);
    const before = action === undefined || this.asked === undefined ? [] : [...this.conversation, this.asked];
    this.conversation = [...before, ...messages];
    return { messages };
  }

  readonly memory = {
    form: conversationForm,
    save: () => this.conversation,
    load: (saved: unknown) => {
      this.conversation = saved as readonly Message[];
    },
  };
}

function withStateHash({ state_hash: stateHash, ...info }: Info): Info {
  return stateHash === undefined ? info : { ...info, stateHash };
}
