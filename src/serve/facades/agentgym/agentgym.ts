// AgentGym's dialect of the environments todo, movie, weather, sheet, academia and searchqa: their clients, unmodified, work
// with any environment at /agentgym/NAME. Actions are what the model wrote; failures are answers of status 200.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { ReverieError, reverieError } from '../../../core/errors.js';
import { describeSpace } from '../../../env/index.js';
import { faceOf } from '../../../kinds/index.js';
import type { Servable } from '../../../run/serving/index.js';
import type { Owner, Sessions, Turn } from '../../core/session-contract.js';
import { environmentNamed, resetOf, splitsOf } from '../../core/task-choice.js';
import type { Facade, FacadeContext, RouteDescription } from '../../http/facade.js';
import { checkedBody } from '../../http/request-guards.js';

import { actionInText } from '../text-action.js';
import { observationText, offeredTools, openingOf } from '../tool-calls.js';

// What AgentGym's clients send, and what /openapi.json tells of it.

/** In a query it is a text. */
const number = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

const resetBody = z.looseObject({
  env_idx: z.int().min(0),
  id: z.int().min(0).describe('Index of a task in split train; a seed, in family vector'),
});
const stepBody = z.looseObject({
  env_idx: z.int().min(0),
  action: z.string().describe('What the model wrote, whole'),
});
const named = z.union([z.looseObject({ env_idx: number }), z.looseObject({ id: number })]);

const tag = 'AgentGym (todo)';
const parameters = { env: 'Name of the environment' };
const failed = 'Failures are answers of status 200: {"error"}.';
const text = z.string();
const step = z.object({ observation: z.string(), reward: z.number(), done: z.boolean() });
const which = z.object({ env_idx: z.int() });

const agentGymDescriptions: readonly RouteDescription[] = [
  {
    ...post('create', 'Open a session', z.object({}), z.int().describe('env_idx'), {}),
    description: failed,
  },
  post('reset', 'Start an episode', resetBody, text.describe('The first observation'), { env_idx: 0, id: 0 }),
  post('step', 'Take a step', stepBody, step, { env_idx: 0, action: 'Action: look with Action Input: {}' }),
  {
    method: 'get',
    path: '/agentgym/:env/observation',
    tag,
    summary: 'Read the last observation again',
    parameters,
    query: z.object({ env_idx: z.string().describe('Number of the session') }),
    answer: { status: 200, description: 'The observation', schema: text },
  },
  post('close', 'Close a session', which, z.boolean(), { env_idx: 0 }),
];

function post(name: string, summary: string, schema: z.ZodType, answer: z.ZodType, example: unknown): RouteDescription {
  return {
    method: 'post',
    path: `/agentgym/:env/${name}`,
    tag,
    summary,
    parameters,
    body: { schema, example },
    answer: { status: 200, description: 'The answer', schema: answer },
  };
}

/** Told to the agent in the place of an observation, as it may do better: nothing has happened. */
const MENDABLE = ['REQUEST_INVALID', 'ACTION_OUT_OF_SPACE', 'STEP_DEADLINE'];

interface Asked {
  readonly served: Servable;
  readonly owner: Owner;
  readonly body: unknown;
}

export const agentGymFacade: Facade = {
  name: 'agentgym',
  reserved: ['agentgym'],
  routes: agentGymDescriptions,
  async register(app: FastifyInstance, context: FacadeContext) {
    const todo = new TodoDialect(context.sessions);
    const asked = (request: FastifyRequest): Asked => ({
      served: environmentNamed(context.sessions, (request.params as { env: string }).env),
      owner: context.ownerOf(request),
      body: request.method === 'GET' ? request.query : request.body,
    });
    const answered = (answer: (asked: Asked) => unknown) => async (request: FastifyRequest, reply: FastifyReply) => {
      const value = await answer(asked(request));
      // A text is a JSON string here.
      return reply.type('application/json').send(JSON.stringify(value));
    };
    app.setErrorHandler(answerError);
    app.get(
      '/agentgym/:env',
      answered(() => 'ok'),
    );
    app.post(
      '/agentgym/:env/create',
      answered((one) => todo.create(one)),
    );
    app.post(
      '/agentgym/:env/reset',
      answered((one) => todo.reset(one)),
    );
    app.post(
      '/agentgym/:env/step',
      answered((one) => todo.step(one)),
    );
    app.get(
      '/agentgym/:env/observation',
      answered((one) => todo.observe(one)),
    );
    app.post(
      '/agentgym/:env/close',
      answered((one) => todo.close(one)),
    );
  },
};

class TodoDialect {
  private readonly table: TodoSessions;

  constructor(private readonly sessions: Sessions) {
    this.table = new TodoSessions(sessions);
  }

  create({ served, owner }: Asked): number {
    return this.table.open(served, owner);
  }

  async reset({ served, owner, body }: Asked): Promise<string> {
    const { env_idx, id: item } = checkedBody(resetBody, body);
    const { id } = this.table.get(env_idx, served, owner);
    const task = faceOf(served).tasks === 'seed' ? { seed: item } : { split: splitsOf(served)[0], index: item };
    return told(served, await this.sessions.reset(id, resetOf(served, task), owner));
  }

  async step({ served, owner, body }: Asked) {
    const { env_idx, action } = checkedBody(stepBody, body);
    const { id } = this.table.get(env_idx, served, owner);
    // Whoever's episode is over hears that, whatever was written.
    if (this.sessions.state(id, owner).status !== 'running') throw reverieError('ENV_NOT_RESET', { id: served.name });
    try {
      const turn = await this.sessions.step(id, { action: actionInText(served, action) }, owner);
      const done = turn.terminated || turn.truncated;
      if (turn.reward === null) throw reverieError('EPISODE_NOT_JUDGED', { env: served.name });
      return { observation: observationText(turn.observation), reward: turn.reward, done };
    } catch (error) {
      if (!(error instanceof ReverieError) || !MENDABLE.includes(error.code)) throw error;
      return { observation: `Error: ${error.message}`, reward: 0, done: false };
    }
  }

  observe({ served, owner, body }: Asked): string {
    const { id } = this.table.get(numberIn(body), served, owner);
    return told(served, this.sessions.observe(id, owner));
  }

  async close({ served, owner, body }: Asked): Promise<boolean> {
    await this.table.close(numberIn(body), served, owner);
    return true;
  }
}

function told(served: Servable, { stepCount, observation }: Turn): string {
  return stepCount === 0 ? firstObservation(served, observation) : observationText(observation);
}

function numberIn(body: unknown): number {
  const { env_idx, id } = checkedBody(named, body) as { env_idx?: number; id?: number };
  return (env_idx ?? id)!;
}

/** Clients look at nothing but status 200. Who may not ask at all is told as everywhere. */
function answerError(error: unknown, _request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof ReverieError && [401, 403, 421].includes(error.status)) throw error;
  const known = error instanceof ReverieError;
  if (!known && ((error as { statusCode?: number }).statusCode ?? 500) >= 500) throw error;
  const text = known ? `${error.message} ${error.hint}` : (error as Error).message;
  void reply.status(200).send({ error: text });
}

// The whole numbers that AgentGym's clients know environments by.

interface TodoSession {
  readonly id: string;
  readonly owner: Owner;
  readonly served: Servable;
}

/** Numbers that are still known: the least recently used are of sessions long closed. */
const KNOWN = 100_000;

class TodoSessions {
  private readonly known = new LRUCache<number, TodoSession>({ max: KNOWN });
  private next = 0;

  constructor(private readonly sessions: Sessions) {}

  /** @throws as Sessions.open */
  open(served: Servable, owner: Owner): number {
    const { id } = this.sessions.open({ env: served.name, owner });
    const number = this.next++;
    this.known.set(number, { id, owner, served });
    return number;
  }

  /** @throws SESSION_UNKNOWN */
  get(number: number, served: Servable, owner: Owner): TodoSession {
    const session = this.known.get(number);
    if (session?.owner === owner && session.served === served) return session;
    throw reverieError('SESSION_UNKNOWN', { id: number });
  }

  /** @throws SESSION_UNKNOWN, SESSION_GONE */
  async close(number: number, served: Servable, owner: Owner): Promise<void> {
    await this.sessions.close(this.get(number, served, owner).id, owner);
    this.known.delete(number);
  }
}

// The first observation of an episode, for agents that see nothing but observations: rules, tools, how to write an action,
// and what there is to see. AgentGym's `todo` client puts instructions of its own before it, in the same way of writing.

function firstObservation(served: Servable, observation: unknown): string {
  const { rules, first } = openingOf(served, observation);
  return [NEW, rules, writing(served), `${opener(served)}\n${first}`].filter((part) => part !== '').join('\n\n');
}

const NEW = 'This is a new environment. What follows replaces all instructions and actions above.';

function writing(served: Servable): string {
  const { acts } = faceOf(served);
  if (acts === 'line') return 'Write your action as one line:\nAction: [what you do]';
  if (acts === 'numbers') {
    return `Write your action as a list of numbers, ${describeSpace(served.actionSpace)}:\nAction: [numbers]`;
  }
  const tools = offeredTools(served).map(({ name, description, parameters }) => {
    return `Name: ${name}\nDescription: ${description}\nParameters: ${JSON.stringify(parameters)}`;
  });
  const how =
    'Write one action in each turn:\nThought: [your thought]\n\nAction: [name] with Action Input: [arguments as JSON]';
  return `Actions:\n\n${tools.join('\n\n')}\n\n${how}`;
}

function opener(served: Servable): string {
  return faceOf(served).acts === 'turn' ? 'The user says:' : 'Observation:';
}
