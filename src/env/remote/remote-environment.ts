// An environment that a server of ours serves, whatever its family, as one of this process: what it asks, and observations and actions
// between memory and the wire.

import { z } from 'zod';
import {
  ENV_FAMILIES,
  type Environment,
  type EnvSnapshot,
  type Info,
  type ResetOptions,
  type ResetResult,
  type RestoreOptions,
  type Space,
  type StepResult,
  type TextSpace,
  type ToolsSpace,
  type VectorSpace,
} from '../../core/environment.js';
import { describeIssues, ReverieError, reverieError } from '../../core/errors.js';
import { type Asked, parsedJson, ServerHttp, SessionLost } from '../servers/server-http.js';
import { describeSpace, requireAction, rowSize, spacesOf } from '../space-values.js';
import { messageOf } from '../tools/check-action.js';
import type { AssistantMessage, Message, ToolMessage } from '../tools/message.js';
import type { ToolsAction, ToolsObservation } from '../tools/tools-family.js';

export interface RemoteOptions {
  /** Sent where the server asks for one; by default the password in the URL, or the variable REVERIE_TOKEN. */
  readonly token?: string;
  /** Until an answer is given up; the server itself gives up on a step after 55 s unless it was told otherwise. */
  readonly timeoutSeconds?: number;
  /** Name of the environment; the server's default one unless given. */
  readonly environment?: string;
}

/** Milliseconds between signs of life: a learner may think for longer than a server keeps an idle session. */
const TOUCH_MS = 60_000;

class RemoteEnvironment<Obs, Act> implements Environment<Obs, Act> {
  readonly id: string;
  readonly family: RemoteCard['family'];
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly maxEpisodeSteps?: number;
  private session: string | undefined;
  private requests = 0;
  private phase: 'fresh' | 'running' | 'ended' | 'lost' = 'fresh';
  private busy = false;
  private closed = false;
  private readonly touching: NodeJS.Timeout;

  constructor(
    private readonly connection: RemoteConnection,
    /** All that the server reports of it. */
    readonly card: RemoteCard,
    private readonly codec: Codec<Obs, Act>,
  ) {
    this.id = card.name;
    this.family = card.family;
    this.observationSpace = card.observationSpace;
    this.actionSpace = card.actionSpace;
    if (card.maxEpisodeSteps !== undefined) this.maxEpisodeSteps = card.maxEpisodeSteps;
    this.touching = setInterval(() => this.touch(), TOUCH_MS);
    this.touching.unref();
  }

  /**
   * Starts an episode. A session that the server closed is opened anew where a seed is given; without one its stream is lost.
   * @throws ENV_CLOSED, ENV_BUSY, SERVER_UNREACHABLE, REMOTE_TIMEOUT, REMOTE_REFUSED, SERVER_FAULT
   */
  reset(options: ResetOptions = {}, signal?: AbortSignal): Promise<ResetResult<Obs>> {
    return this.alone(async () => {
      this.session ??= await this.opened();
      const turn = await this.started(options, signal);
      this.phase = 'running';
      return { observation: this.seen(turn), info: this.infoOf(turn) };
    });
  }

  /**
   * The reward is 0 where an episode ended that could not be judged, as `info.verdict` then says. Where no answer came at all
   * it is not known whether the step was taken: the episode is lost, and `reset` or `restore` begins another.
   * @throws ENV_NOT_RESET, ACTION_OUT_OF_SPACE, and as `reset`
   */
  step(action: Act, signal?: AbortSignal): Promise<StepResult<Obs>> {
    return this.alone(async () => {
      if (this.phase !== 'running') throw reverieError('ENV_NOT_RESET', { id: this.id });
      const turn = await this.asked('step', { action: this.codec.encode(action) }, stepSchema, signal);
      const { reward, terminated, truncated } = turn;
      const observation = this.seen(turn, action);
      if (terminated || truncated) this.phase = 'ended';
      return { observation, reward: reward ?? 0, terminated, truncated, info: this.infoOf(turn) };
    });
  }

  /** The server keeps the state, under an id that the snapshot holds; it keeps the latest of each token. @throws as `step` */
  snapshot(): Promise<EnvSnapshot> {
    return this.alone(async () => {
      if (this.phase === 'fresh' || this.phase === 'lost') throw reverieError('ENV_NOT_RESET', { id: this.id });
      const { id } = await this.asked('snapshot', {}, idSchema);
      return { env: this.id, state: { snapshot: id, memory: this.codec.conversation ?? null } };
    });
  }

  /** @throws SNAPSHOT_MISMATCH if it is of another environment, and as `reset` */
  restore(snapshot: EnvSnapshot, { seed }: RestoreOptions = {}): Promise<Obs> {
    return this.alone(async () => {
      const memory = this.codec.conversation === undefined ? z.null() : conversationForm;
      const saved = z.object({ snapshot: z.string(), memory }).safeParse(snapshot.state);
      if (snapshot.env !== this.id || !saved.success) {
        throw reverieError('SNAPSHOT_MISMATCH', { from: snapshot.env, into: this.id });
      }
      this.session ??= await this.opened();
      const turn = await this.asked('restore', { snapshot: saved.data.snapshot, seed }, startSchema);
      const observation = this.seen(turn);
      if (saved.data.memory !== null) this.codec.conversation = saved.data.memory as unknown as readonly Message[];
      this.phase = turn.terminated || turn.truncated ? 'ended' : 'running';
      return observation;
    });
  }

  /** Tasks of a split, such as `train`: never how one is checked or solved. @throws as `reset` */
  async tasks(split: string): Promise<readonly RemoteTask[]> {
    const path = `/v1/environments/${encodeURIComponent(this.id)}/tasks?split=${encodeURIComponent(split)}`;
    return (await this.connection.ask('GET', path, tasksSchema)).tasks;
  }

  /** Ends the session; a server that is gone, or has ended it, is fine. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    clearInterval(this.touching);
    if (this.session !== undefined) await this.connection.send('DELETE', this.path('')).catch(() => undefined);
    await this.connection.http.close();
  }

  /** Of tools: the whole conversation so far. */
  get messages(): readonly Message[] {
    return this.codec.conversation ?? [];
  }

  private async started(options: ResetOptions, signal?: AbortSignal): Promise<WireTurn> {
    const { seed, task } = options;
    try {
      return await this.asked('reset', { seed, task }, startSchema, signal);
    } catch (error) {
      if (seed === undefined || !isSessionGone(error)) throw error;
      this.session = await this.opened();
      return this.asked('reset', { seed, task }, startSchema, signal);
    }
  }

  /** A session whose opening was not answered is opened twice: it holds no slot, and the server closes it as idle. */
  private async opened(): Promise<string> {
    return (await this.connection.ask('POST', '/v1/sessions', idSchema, { env: this.id })).id;
  }

  /** Asks the session under an id of its own. What the server refused changed nothing; after any other failure it is not known. */
  private async asked<T>(verb: string, body: object, schema: z.ZodType<T>, signal?: AbortSignal): Promise<T> {
    const { phase } = this;
    this.phase = 'lost';
    const request = { ...body, request_id: String(++this.requests) };
    try {
      const answer = await this.connection.ask('POST', this.path(`/${verb}`), schema, request, signal);
      this.phase = phase;
      return answer;
    } catch (error) {
      if ((error as { code?: string }).code === 'REMOTE_REFUSED' && !isSessionGone(error)) this.phase = phase;
      throw error;
    }
  }

  private seen(turn: WireTurn, action?: Act): Obs {
    try {
      return this.codec.decode(turn.observation, action);
    } catch (error) {
      this.phase = 'lost';
      const problem = `observation: ${describeIssues(error as z.ZodError)}`;
      throw this.connection.http.invalid('a turn', JSON.stringify(turn.observation) ?? 'nothing', problem);
    }
  }

  /** With the names that environments in this process give. */
  private infoOf({ info }: WireTurn): Info {
    if (this.family === 'vector' || info['state_hash'] === undefined) return info;
    const { state_hash: stateHash, ...rest } = info;
    return { ...rest, stateHash };
  }

  private path(verb: string): string {
    return `/v1/sessions/${encodeURIComponent(this.session!)}${verb}`;
  }

  /** Its failure is told by the request that comes next. */
  private touch(): void {
    if (this.session !== undefined) this.connection.send('POST', this.path('/touch')).catch(() => undefined);
  }

  private async alone<R>(work: () => Promise<R>): Promise<R> {
    if (this.closed) throw reverieError('ENV_CLOSED', { id: this.id });
    if (this.busy) throw reverieError('ENV_BUSY', { id: this.id });
    this.busy = true;
    try {
      return await work();
    } finally {
      this.busy = false;
    }
  }
}

/** Numbers: a `VectorEnvironment`, without known functions. */
export type RemoteVectorEnvironment = Of<'vector', VectorSpace, Float32Array, Float32Array>;

/** Lines of text, of a game or of a screen. */
type RemoteTextEnvironment = Of<'text' | 'screen', TextSpace, string, string>;

/** Tools: domain and typed state stay on the server. */
export type RemoteToolsEnvironment = Of<'tools', ToolsSpace, ToolsObservation, ToolsAction>;

type Of<Family, Kind, Obs, Act> = RemoteEnvironment<Obs, Act> & {
  readonly family: Family;
  readonly observationSpace: Kind;
  readonly actionSpace: Kind;
};

type AnyRemoteEnvironment = RemoteVectorEnvironment | RemoteTextEnvironment | RemoteToolsEnvironment;

/**
 * An environment that `reverie serve` serves at `url`, as one of this process: it is reset, stepped, kept and restored there.
 * Close it: it holds a session.
 * @throws REMOTE_URL_INVALID, SERVER_UNREACHABLE, REMOTE_TIMEOUT, REMOTE_REFUSED, SERVER_FAULT, ENV_NOT_SERVED
 */
export async function remoteEnvironment(url: string, options: RemoteOptions = {}): Promise<AnyRemoteEnvironment> {
  const connection = new RemoteConnection(url, options);
  try {
    const card = await cardOf(connection, options.environment);
    return new RemoteEnvironment(connection, card, codecOf(card)) as unknown as AnyRemoteEnvironment;
  } catch (error) {
    await connection.http.close();
    throw error;
  }
}

async function cardOf(connection: RemoteConnection, name?: string): Promise<RemoteCard> {
  const { environments } = await connection.ask('GET', '/v1/environments', cardsSchema);
  const isMeant = (card: RemoteCard) => (name === undefined ? card.isDefault : card.name === name);
  const found = environments.find(isMeant) ?? (name === undefined ? environments[0] : undefined);
  if (found !== undefined) return found;
  throw reverieError('ENV_NOT_SERVED', { env: name, known: environments.map((card) => card.name).join(', ') });
}

const TIMEOUT_SECONDS = 70;
const TRIES = 4;
const FIRST_PAUSE_MS = 100;
const GONE = ['SESSION_UNKNOWN', 'SESSION_GONE'];

/** One server of environments. What got no answer is sent again: every request here changes nothing, or carries an id by which it counts once. */
class RemoteConnection {
  readonly http: ServerHttp;

  /** @throws REMOTE_URL_INVALID */
  constructor(url: string, { token, timeoutSeconds = TIMEOUT_SECONDS }: RemoteOptions = {}) {
    if (!url.includes('://')) throw reverieError('REMOTE_URL_INVALID', { url });
    this.http = new ServerHttp('Reverie', url, timeoutSeconds, token);
  }

  /** @throws SERVER_UNREACHABLE, REMOTE_TIMEOUT, REMOTE_REFUSED, SERVER_FAULT; what `signal` is aborted with */
  async ask<T>(
    method: Asked['method'],
    path: string,
    schema: z.ZodType<T>,
    body?: unknown,
    signal?: AbortSignal,
  ): Promise<T> {
    return this.http.read(`${method} ${path}`, await this.send(method, path, body, signal), schema);
  }

  /** The body of an answer of success. @throws as `ask` */
  async send(method: Asked['method'], path: string, body?: unknown, signal?: AbortSignal): Promise<string> {
    const { status, text } = await this.exchanged(path, { method, body, signal });
    if (status >= 200 && status < 300) return text;
    const what = `${method} ${path}`;
    const { error } = (parsedJson(text) ?? {}) as { error?: { code?: unknown; message?: unknown; hint?: unknown } };
    if (typeof error?.code !== 'string')
      throw this.http.invalid(what, text, `status ${status}, and no error of this API`);
    const { code, message: problem, hint } = error;
    throw reverieError('REMOTE_REFUSED', { url: this.http.url, what, code, problem, hint: hint ?? '' });
  }

  private async exchanged(path: string, asked: Asked): Promise<{ status: number; text: string }> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.http.exchange(path, asked);
      } catch (error) {
        if (!(error instanceof SessionLost)) throw error;
        if (attempt === TRIES) throw error.cause;
      }
      await new Promise((resolve) => setTimeout(resolve, FIRST_PAUSE_MS * 2 ** (attempt - 1)));
    }
  }
}

/** Whether the server refused because it no longer knows the session. */
function isSessionGone(error: unknown): boolean {
  if (!(error instanceof ReverieError)) return false;
  return error.code === 'REMOTE_REFUSED' && GONE.includes(String(error.values['code']));
}

/** Observations and actions of one environment on the wire. */
interface Codec<Obs, Act> {
  /** The action as it is sent. @throws ACTION_OUT_OF_SPACE */
  encode(action: Act): unknown;
  /** What was seen after `action`, or first. @throws z.ZodError where it is none */
  decode(observation: unknown, action?: Act): Obs;
  /** Of tools: what has been said so far. */
  conversation?: readonly Message[];
}

/** By family; worlds of lines and of screens take one line of text. */
function codecOf({ family, observationSpace, actionSpace }: RemoteCard): Codec<unknown, unknown> {
  const codec =
    family === 'vector'
      ? rowCodec(observationSpace as VectorSpace, actionSpace as VectorSpace)
      : family === 'tools'
        ? new ConversationCodec(actionSpace as ToolsSpace)
        : textCodec(actionSpace as TextSpace);
  return codec as unknown as Codec<unknown, unknown>;
}

function rowCodec(observationSpace: VectorSpace, actionSpace: VectorSpace): Codec<Float32Array, Float32Array> {
  const row = z.array(z.number()).length(rowSize(observationSpace));
  return {
    encode(action) {
      requireAction(actionSpace, action);
      return Array.from(action);
    },
    decode: (observation) => Float32Array.from(row.parse(observation)),
  };
}

function textCodec(actionSpace: TextSpace): Codec<string, string> {
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
class ConversationCodec implements Codec<ToolsObservation, ToolsAction> {
  conversation: readonly Message[] = [];
  private asked: AssistantMessage | undefined;

  constructor(private readonly space: ToolsSpace) {}

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
type RemoteCard = z.output<typeof cardSchema>;

const cardsSchema = z.object({ environments: z.array(cardSchema).min(1) });

const taskSchema = z.object({
  id: z.string(),
  split: z.enum(['train', 'validation', 'test']),
  family: z.string().optional(),
  tags: z.array(z.string()).optional(),
});
type RemoteTask = z.output<typeof taskSchema>;
const tasksSchema = z.object({ tasks: z.array(taskSchema) });

/** Of a session, or a snapshot. */
const idSchema = z.object({ id: z.string().min(1) });

const turnFields = {
  observation: z.unknown(),
  reward: z.number().nullable(),
  terminated: z.boolean(),
  truncated: z.boolean(),
  info: z.record(z.string(), z.unknown()),
};

/** Of reset and restore. */
const startSchema = z.object(turnFields);

/** Of a step: without a reward only where an episode ended and could not be judged. */
const stepSchema = z
  .object(turnFields)
  .refine(
    ({ reward, info }) => reward !== null || (info['verdict'] as { reward?: unknown } | undefined)?.reward === null,
    'a step has no reward, and no verdict says that it could not be judged',
  );
type WireTurn = z.output<typeof startSchema>;
