// Observations and actions of each family between memory and the wire, and what is refused before it is sent.

import { z } from 'zod';
import {
  ENV_FAMILIES,
  type Info,
  type Space,
  type TextSpace,
  type ToolsSpace,
  type VectorSpace,
} from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { describeSpace, requireAction, rowSize, spacesOf } from '../space-values.js';
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
  /** The conversation so far, where there is one. */
  readonly messages?: readonly Message[];
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

const bound = z.number().nullable();

const boxSchema = z
  .object({ type: z.literal('box'), shape: z.array(z.int().min(0)), low: z.array(bound), high: z.array(bound) })
  .refine((box) => box.low.length === rowSize(box) && box.high.length === rowSize(box), 'bounds do not fit the shape');

const spaceSchema: z.ZodType<Space> = z.union([
  boxSchema,
  z.object({ type: z.literal('discrete'), n: z.int().min(1), start: z.int() }),
  z
    .object({ type: z.literal('text'), max_length: z.int() })
    .transform(({ type, max_length: maxLength }) => ({ type, maxLength })),
  z.object({ type: z.literal('tools'), tools: z.array(z.record(z.string(), z.unknown())) }),
]);

/** What a server reports of an environment, in our own names. */
const cardSchema = z
  .object({
    name: z.string(),
    family: z.enum(ENV_FAMILIES),
    description: z.string(),
    source: z.enum(['real', 'dream']),
    version: z.string(),
    observation_space: spaceSchema,
    action_space: spaceSchema,
    tools: z.array(z.object({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.json()) })),
    splits: z.array(z.object({ name: z.string(), tasks: z.int() })),
    max_episode_steps: z.int().nullable(),
    is_default: z.boolean(),
  })
  .refine(
    ({ family, observation_space: observation, action_space: action }) =>
      [observation, action].every(({ type }) => spacesOf(family)?.includes(type)),
    'its spaces do not fit its family',
  )
  .transform(({ observation_space, action_space, max_episode_steps, is_default, ...rest }) => ({
    ...rest,
    observationSpace: observation_space,
    actionSpace: action_space,
    maxEpisodeSteps: max_episode_steps ?? undefined,
    isDefault: is_default,
  }));
export type RemoteCard = z.output<typeof cardSchema>;

export const cardsSchema = z.object({ environments: z.array(cardSchema).min(1) });

const taskSchema = z.object({
  id: z.string(),
  split: z.enum(['train', 'validation', 'test']),
  family: z.string().optional(),
  tags: z.array(z.string()).optional(),
});
export type RemoteTask = z.output<typeof taskSchema>;
export const tasksSchema = z.object({ tasks: z.array(taskSchema) });

export const sessionSchema = z.object({ id: z.string().min(1) });
export const snapshotSchema = z.object({ id: z.string().min(1) });

const turnFields = {
  observation: z.unknown(),
  reward: z.number().nullable(),
  terminated: z.boolean(),
  truncated: z.boolean(),
  info: z.record(z.string(), z.unknown()),
};

/** Of reset and restore. */
export const startSchema = z.object(turnFields);

/** Of a step: without a reward only where an episode ended and could not be judged. */
export const stepSchema = z
  .object(turnFields)
  .refine(
    ({ reward, info }) => reward !== null || (info['verdict'] as { reward?: unknown } | undefined)?.reward === null,
    'a step has no reward, and no verdict says that it could not be judged',
  );
export type WireTurn = z.output<typeof startSchema>;
