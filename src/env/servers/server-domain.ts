// An environment on somebody else's server as a domain of tools. Its state stays there and is not known: here it is an empty object,
// and the conversation is what brings an episode back. What its episodes are worth is what the server paid.

import { contentHash } from '../../core/canonical-json.js';
import { NO_COST } from '../../core/cost.js';
import { reverieError } from '../../core/errors.js';
import { callChecks } from '../tools/check-action.js';
import type { CallSpec, ToolSpec, ToolsTask } from '../tools/domain.js';
import type { Message } from '../tools/message.js';
import { exactPrediction, type Prediction } from '../tools/prediction.js';
import type { DomainElsewhere, RealEnvironment } from '../tools/rules-responder.js';
import { ScriptedUser } from '../tools/scripted-user.js';
import type { CallQuery, Responder, UserQuery, UserSimulator, UserTurn } from '../tools/tools-family.js';
import { type EpisodeSoFar, ServerEpisodes } from './server-episodes.js';
import {
  type EnvironmentServer,
  type EpisodeStart,
  type ServerCard,
  type ServerProtocol,
  type ServerSettings,
  type ServerTask,
  SessionLost,
} from './server-http.js';

const BACKEND = 'real';
/** Said where an environment shows nothing before the first call. */
const NOTHING_SHOWN = 'Begin.';
const POLICY = 'You act in an environment by calling its tools. Read what they answer, and reach what is asked for.';
const GOAL = 'What the environment pays for.';

/** The domain of a server; talks to it once. @throws as `EnvironmentServer.describe` */
export async function serverDomain(
  { name: protocol }: ServerProtocol,
  server: EnvironmentServer,
  settings: ServerSettings,
): Promise<DomainElsewhere> {
  const card = await described(server);
  const tools = card.tools.map(toolOf);
  const tasks = new Map(withOwnIds(card.tasks).map((task) => [task.id, task]));
  const { name, version, instructions } = card;
  const policy = instructions === '' ? POLICY : instructions;
  const content = { protocol, name, version, policy, tools, tasks: [...tasks.values()] };
  const domainVersion = contentHash(content);
  const episodes = new ServerEpisodes(server, settings);
  const of = `${protocol} ${name} ${domainVersion.slice(0, 16)}`;
  return {
    id: name,
    version: domainVersion,
    policy,
    tools,
    stateSchema: { type: 'object', additionalProperties: false, properties: {} },
    initialState: Object.freeze({}),
    tasks: [...tasks.values()].map(taskOf),
    real: realEnvironment(of, { episodes, tasks, tools, sessions: settings.sessions }),
    close: () => void episodes.close(),
  };
}

async function described(server: EnvironmentServer): Promise<ServerCard> {
  try {
    return await server.describe();
  } catch (error) {
    await server.close();
    throw error instanceof SessionLost ? (error.cause ?? error) : error;
  }
}

function toolOf({ name, description, parameters, isRead }: ServerCard['tools'][number]): ToolSpec {
  return { name, description, parameters, kind: isRead === true ? 'read' : 'write' };
}

/** Two splits may each have a task of one id. */
function withOwnIds(tasks: readonly ServerTask[]): readonly ServerTask[] {
  const seen = new Set<string>();
  return tasks.map((task) => {
    const id = seen.has(task.id) ? `${task.split}/${task.id}` : task.id;
    seen.add(id);
    return { ...task, id };
  });
}

function taskOf({ id, split }: ServerTask): ToolsTask {
  return { id, family: id, split, user: { goal: GOAL }, verifier: { rewards: 'sum' } };
}

interface ServerParts {
  readonly episodes: ServerEpisodes;
  readonly tasks: ReadonlyMap<string, ServerTask>;
  readonly tools: readonly ToolSpec[];
  readonly sessions: number;
}

function realEnvironment(of: string, parts: ServerParts): RealEnvironment {
  return {
    sessions: parts.sessions,
    responder: new ServerResponder(of, parts),
    user: new ServerUser(of, parts),
  };
}

/** Answers calls by the session that stands where the conversation does. */
class ServerResponder implements Responder {
  readonly version: string;

  constructor(
    of: string,
    private readonly parts: ServerParts,
  ) {
    this.version = `${BACKEND}:${of}`;
  }

  trusts(backend: string): boolean {
    return backend === BACKEND;
  }

  async answer({ task, seed, messages, call }: CallQuery, signal?: AbortSignal): Promise<Prediction> {
    const soFar = this.episodeOf(startOf(this.parts, task, seed), messages, call.id);
    const { reward, done, ...outcome } = await this.parts.episodes.answer(soFar, call, signal);
    const why = [`the server answered ${call.name}`];
    const told = exactPrediction({ operations: [], ...outcome }, { backend: BACKEND, modelVersion: this.version, why });
    return { ...told, reward, terminated: done };
  }

  ended({ task, seed, messages }: Pick<CallQuery, 'task' | 'seed' | 'messages'>): void {
    const { start, played } = this.episodeOf(startOf(this.parts, task, seed), messages);
    this.parts.episodes.ended(
      start,
      played.map(({ call }) => call),
    );
  }

  /** The server belongs to the domain. */
  close(): void {}

  /** @param until  the call that is to be made next */
  private episodeOf(start: EpisodeStart, messages: readonly Message[], until?: string): EpisodeSoFar {
    const opening = messages.find(({ role }) => role === 'user')?.content ?? NOTHING_SHOWN;
    const played = callsMade(messages, this.parts.tools, until);
    return { start, played, ...(opening === NOTHING_SHOWN ? {} : { opening }) };
  }
}

/** Calls that reached the server: those that break a tool's schema never do. */
function callsMade(messages: readonly Message[], tools: readonly ToolSpec[], until: string | undefined) {
  const checks = callChecks(tools);
  const answers = new Map(messages.flatMap((one) => (one.role === 'tool' ? [[one.toolCallId, one.content]] : [])));
  const made: { call: CallSpec; answer: { observation: string } }[] = [];
  for (const call of messages.flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []) : []))) {
    const observation = answers.get(call.id);
    if (call.id === until) break;
    if (observation !== undefined && checks.problems(call).length === 0) made.push({ call, answer: { observation } });
  }
  return made;
}

/** Shows what the server shows first; what is said to no user is answered as a user without a script does. */
class ServerUser implements UserSimulator {
  readonly version: string;
  private readonly listener = new ScriptedUser();

  constructor(
    of: string,
    private readonly parts: ServerParts,
  ) {
    this.version = `server:${of}`;
  }

  async open({ task, seed }: UserQuery, signal?: AbortSignal): Promise<UserTurn> {
    const shown = await this.parts.episodes.begin(startOf(this.parts, task, seed), signal);
    return { content: shown.trim() === '' ? NOTHING_SHOWN : shown, done: false, cost: NO_COST };
  }

  reply(query: UserQuery): UserTurn {
    return this.listener.reply(query);
  }
}

/** @throws TASK_UNKNOWN for a task that was made here */
function startOf({ tasks }: ServerParts, { id }: ToolsTask, seed: number): EpisodeStart {
  const task = tasks.get(id);
  if (task !== undefined) return { task, seed };
  throw reverieError('TASK_UNKNOWN', { id: 'server', task: id, count: tasks.size, nearest: 'none' });
}
