// AgentGym's dialect of the environments todo, movie, weather, sheet, academia and searchqa: their clients, unmodified, work
// with any environment at /agentgym/NAME. Actions are what the model wrote; failures are answers of status 200.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ReverieError, reverieError } from '../../../errors.js';
import type { Servable } from '../../../run/index.js';
import type { Owner, Sessions, Turn } from '../../core/session-contract.js';
import { splitsOf } from '../../core/task-choice.js';
import type { Facade, FacadeContext } from '../../http/facade.js';
import { checkedBody } from '../../http/request-check.js';
import { environmentNamed } from '../named-environment.js';
import { resetOf } from '../task-specs.js';
import { actionInText } from '../text-action.js';
import { observationText } from '../tool-calls.js';
import { agentGymDescriptions, named, resetBody, stepBody } from './bodies.js';
import { firstObservation } from './first-observation.js';
import { TodoSessions } from './todo-sessions.js';

/** Told to the agent in the place of an observation, as it may do better: nothing has happened. */
const MENDABLE = ['REQUEST_INVALID', 'ACTION_OUT_OF_SPACE', 'STEP_DEADLINE'];

interface Asked {
  readonly served: Servable;
  readonly owner: Owner;
  readonly body: unknown;
}

export const agentGymFacade: Facade = {
  name: 'agentgym',
  endpoint: '/agentgym',
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
    const wish = served.family === 'vector' ? { seed: item } : { split: splitsOf(served)[0], index: item };
    return told(served, await this.sessions.reset(id, resetOf(served, wish), owner));
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
