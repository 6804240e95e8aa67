// What makes an environment one of OpenEnv: its actions, its observations, its tools.

import { z } from 'zod';
import type { BoxSpace, VectorSpace } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { OUTCOMES } from '../../env/tools/outcome.js';
import type { ToolsAction, ToolsObservation, ToolsStepInfo } from '../../env/tools/tools-family.js';
import { faceOf } from '../../kinds/registry.js';
import type { Servable } from '../../run/servable.js';
import type { Action, Turn } from '../core/session-contract.js';
import { encodeObservation } from '../core/tasks.js';
import { type OfferedTool, sayToolOf } from './tools.js';

interface EnvWire {
  /** Of what a step carries; titled as clients tell kinds of environments apart by (verifiers: `CallToolAction`). */
  readonly action: z.ZodType;
  readonly observation: z.ZodType;
  /** What list_tools answers; none where actions are no calls. */
  readonly tools: readonly OfferedTool[];
  /** @param at  where `data` stands in what was sent; @throws MessageInvalid */
  decode(data: unknown, at: readonly string[]): Action;
  /** @param action  what led there; undefined after reset */
  observe(turn: Turn, action?: Action): Readonly<Record<string, unknown>>;
}

/** Keys of every observation. `done`, `reward` and `metadata` stand beside it on the wire; the reference lists them here. */
const commonShape = {
  ended: z
    .enum(['terminated', 'truncated'])
    .optional()
    .describe('Only in the last observation: ended by the task, or by the clock'),
  evaluation: z
    .object({
      reward: z.number().nullable().describe('What the verifier gave; null: it could not decide'),
      note: z.string().optional(),
      outcome: z
        .object({ kind: z.enum(OUTCOMES), cause: z.string().nullable() })
        .describe(
          'Outcome of the episode; only `judged` and `failed_by_agent` may have a reward. `episode_id` names the attempt',
        ),
    })
    .optional()
    .describe('Only in the last observation of an episode with a task'),
  done: z.boolean().optional().describe('Whether the episode ended (beside the observation)'),
  reward: z.number().nullable().optional().describe('Of this step (beside the observation); rewards sum to the return'),
  metadata: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('After reset: what the agent is told and sees first, for clients that keep nothing else'),
};

/** Keys that the reference's base class of actions has too. */
const actionShape = {
  metadata: z.record(z.string(), z.unknown()).optional().describe('Accepted for compatibility; not looked at'),
};

const UNDECIDED = 'The episode has no reward, which is not 0: outcome says why.';

function endingOf({ terminated, truncated, info }: Turn): Record<string, unknown> {
  if (!terminated && !truncated) return {};
  const ended = terminated ? 'terminated' : 'truncated';
  const { verdict, outcome } = info as Partial<ToolsStepInfo>;
  if (verdict === undefined) return { ended };
  const { reward } = verdict;
  // Without an id: observations are equal for the same seed.
  const details = outcome && { outcome: { kind: outcome.kind, cause: outcome.cause } };
  return { ended, evaluation: { reward, ...(reward === null && { note: UNDECIDED }), ...details } };
}

const wires = new WeakMap<Servable, EnvWire>();

/** The same one for the same environment. @throws ENV_NAME_INVALID */
export function envWire(served: Servable): EnvWire {
  const { acts } = faceOf(served);
  const make = { turn: toolsWire, numbers: vectorWire, line: textWire }[acts];
  const wire = wires.get(served) ?? make(served);
  wires.set(served, wire);
  return wire;
}

// Family `text` over OpenEnv: one required field, which harnesses fill with a model's reply as it is. It is called as in
// OpenEnv's textarena_env.

const action = z
  .strictObject({ message: z.string().describe('What is done, in words'), ...actionShape })
  .meta({ title: 'TextAction' });

const observation = z
  .strictObject({
    instructions: z.string().optional().describe('After reset: what the agent is told first'),
    text: z.string().describe('What is seen'),
    admissible: z.array(z.string()).optional().describe('Actions that make sense now, where the environment tells'),
    ...commonShape,
  })
  .meta({ title: 'TextObservation' });

function textWire({ policy }: Servable): EnvWire {
  return {
    tools: [],
    action,
    observation,
    decode: (data, at) => checkedMessage(action, data, at).message,
    observe(turn, given) {
      const isFirst = given === undefined && policy !== '';
      const { admissible } = turn.info;
      return {
        ...(isFirst ? { instructions: policy } : {}),
        text: turn.observation,
        ...(admissible === undefined ? {} : { admissible }),
        ...endingOf(turn),
      };
    },
  };
}

// Family `vector` over OpenEnv. Fields are named as in its own environments of that kind: `values` for numbers
// (dm_control_env), `action_id` for one of n (openspiel_env, atari_env).

function vectorWire(served: Servable): EnvWire {
  const { observationSpace, actionSpace } = served;
  const space = actionSpace as VectorSpace;
  const seen = valuesOf(observationSpace as VectorSpace, 'What is observed, one number an element');
  return {
    tools: [],
    observation: z.strictObject({ values: seen, ...commonShape }).meta({ title: 'VectorObservation' }),
    ...(space.type === 'discrete' ? discreteAction(space) : boxAction(space)),
    observe: (turn) => ({ values: encodeObservation(served, turn.observation), ...endingOf(turn) }),
  };
}

type ActionWire = Pick<EnvWire, 'action' | 'decode'>;

function boxAction(space: BoxSpace): ActionWire {
  const values = valuesOf(space, 'The action, one number an element');
  const action = z.strictObject({ values, ...actionShape }).meta({ title: 'VectorAction' });
  return { action, decode: (data, at) => Float32Array.from(checkedMessage(action, data, at).values) };
}

function discreteAction({ start, n }: { readonly start: number; readonly n: number }): ActionWire {
  const id = z
    .int()
    .describe('Which of the actions')
    .meta({ minimum: start, maximum: start + n - 1 });
  const action = z.strictObject({ action_id: id, ...actionShape }).meta({ title: 'DiscreteAction' });
  return { action, decode: (data, at) => Float32Array.of(checkedMessage(action, data, at).action_id) };
}

/** Bounds are told, and the environment's to enforce: it knows whether it clips or refuses. */
function valuesOf(space: VectorSpace, description: string) {
  if (space.type === 'discrete') return z.array(z.number()).length(1).describe(description);
  const size = space.shape.reduce((product, length) => product * length, 1);
  const { shape, low, high } = space;
  return z.array(z.number()).length(size).describe(description).meta({ shape, low, high });
}

/** What the orchestration itself is called by (RFC 003): no tool may. */
const RESERVED = ['reset', 'step', 'state', 'close'];

const callAction = z
  .strictObject({
    type: z.literal('call_tool').default('call_tool').describe('{"type": "list_tools"} lists the tools instead'),
    tool_name: z.string().min(1).max(256).describe('Name of the tool'),
    arguments: z.record(z.string(), z.json()).default({}).describe("Arguments by the tool's schema"),
    ...actionShape,
  })
  .meta({ title: 'CallToolAction' });

const ERROR_TYPES = ['execution_error', 'invalid_args', 'transport_error', 'tool_not_found', 'timeout'] as const;

const offered = z.object({
  name: z.string(),
  description: z.string(),
  input_schema: z.record(z.string(), z.unknown()),
});

const callObservation = z
  .strictObject({
    instructions: z.string().optional().describe('After reset: what the agent is told first'),
    user: z.string().optional().describe('After reset: what the user says first'),
    tool_name: z.string().optional().describe('After a call: the tool that was called'),
    result: z
      .object({
        data: z.string(),
        is_error: z.literal(true).optional().describe('The tool itself said that it failed'),
      })
      .nullable()
      .optional()
      .describe('After a call: what the tool answered, or the user'),
    error: z
      .object({ error_type: z.enum(ERROR_TYPES), message: z.string() })
      .nullable()
      .optional()
      .describe('After a call that reached no tool'),
    tools: z.array(offered).optional().describe('After list_tools'),
    ...commonShape,
  })
  .meta({ title: 'CallToolObservation' });

/** @throws ENV_NAME_INVALID */
function toolsWire(served: Servable): EnvWire {
  const clash = served.tools.find(({ name }) => RESERVED.includes(name));
  if (clash !== undefined) {
    throw reverieError('ENV_NAME_INVALID', {
      problem: `A tool of ${served.name} is called "${clash.name}", which agents cannot call: it is the name of a message.`,
      hint: 'Give it another name in tools.yaml: reset, step, state and close are taken.',
    });
  }
  const say = sayToolOf(served);
  const tools: readonly OfferedTool[] = [...served.tools, say];
  const known = new Set(tools.map(({ name }) => name));
  return {
    action: callAction,
    observation: callObservation,
    tools,
    decode(data, at) {
      const { tool_name: name, arguments: given } = checkedMessage(callAction, data, at);
      if (name === say.name) return { content: checkedMessage(saying, given, [...at, 'arguments']).content };
      // An empty id is replaced by one of the episode's own.
      return { content: null, toolCalls: [{ id: '', name, arguments: given }] } as ToolsAction;
    },
    observe(turn, done) {
      if (done === undefined) {
        const seen = begun(turn);
        // Told twice: the metadata is all that OpenEnv's `MCPToolClient` keeps of a reset.
        return { ...seen, ...endingOf(turn), metadata: seen };
      }
      const [call] = (done as ToolsAction).toolCalls ?? [];
      const name = call?.name ?? say.name;
      return { tool_name: name, ...outcomeOf(turn, known.has(name)), ...endingOf(turn) };
    },
  };
}

const saying = z.strictObject({ content: z.string().refine((text) => text.trim() !== '', 'Say something') });

/** After reset; or the last turn again, where the episode resumes from a snapshot. */
function begun({ observation: seen }: Turn) {
  const { messages } = seen as ToolsObservation;
  const of = (role: string) => messages.filter((message) => message.role === role).map(({ content }) => content);
  const [instructions, user, data] = ['system', 'user', 'tool'].map((role) => of(role).join('\n'));
  return {
    ...(instructions === '' ? {} : { instructions }),
    ...(user === '' ? {} : { user }),
    ...(data === '' ? {} : { result: { data } }),
  };
}

function outcomeOf({ observation: seen, info }: Turn, isKnown: boolean) {
  const data = (seen as ToolsObservation).messages.map(({ content }) => content ?? '').join('\n');
  const [prediction] = (info as unknown as ToolsStepInfo).predictions;
  if (!prediction?.isError) return { result: { data }, error: null };
  // What broke the tool's schema never reached it.
  if (prediction.backend !== 'schema') return { result: { data, is_error: true }, error: null };
  return { result: null, error: { error_type: isKnown ? 'invalid_args' : 'tool_not_found', message: data } };
}

// What of a message is wrong, field by field, in the form clients of the reference know: pydantic's `errors()`.

interface FieldError {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input: unknown;
}

/** A message that is not of its form: VALIDATION_ERROR over a WebSocket, 422 over HTTP. */
export class MessageInvalid extends Error {
  constructor(readonly errors: readonly FieldError[]) {
    super('Invalid message');
    this.name = 'MessageInvalid';
  }
}

/** @param at  where `message` stands in what was sent; @throws MessageInvalid */
export function checkedMessage<T>(schema: z.ZodType<T>, message: unknown, at: readonly string[] = []): T {
  const read = schema.safeParse(message);
  if (read.success) return read.data;
  throw new MessageInvalid(read.error.issues.flatMap((issue) => fieldErrors(issue, message, at)));
}

/** One field that is wrong for a reason no schema knows. */
export function fieldInvalid(loc: readonly string[], msg: string, input: unknown): MessageInvalid {
  return new MessageInvalid([{ type: 'value_error', loc, msg, input }]);
}

function fieldErrors(issue: z.core.$ZodIssue, message: unknown, at: readonly string[]): FieldError[] {
  const path = issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key));
  const input = path.reduce<unknown>((value, key) => (value as Record<string, unknown> | null)?.[key], message);
  const loc = [...at, ...path];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const extra = (input as Record<string, unknown>)[key];
      return { type: 'extra_forbidden', loc: [...loc, key], msg: 'Extra inputs are not permitted', input: extra };
    });
  }
  if (input === undefined) return [{ type: 'missing', loc, msg: 'Field required', input: null }];
  return [{ type: 'value_error', loc, msg: issue.message, input }];
}
