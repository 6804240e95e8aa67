// NeMo-Gym's gymnasium routes (resources_servers/gymnasium): `gymnasium_agent` drives an environment at /nemo/NAME. It adds
// rewards up, so each step has its own.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ReverieError, reverieError } from '../../core/errors.js';
import { mean } from '../../core/statistics.js';
import type { ToolMessage } from '../../env/tools/message.js';
import type { AttemptOutcome } from '../../env/tools/outcome.js';
import type { ToolsAction, ToolsObservation } from '../../env/tools/tools-family.js';
import { faceOf } from '../../kinds/registry.js';
import type { Servable } from '../../run/servable.js';
import type { Action, Owner, Turn } from '../core/session-contract.js';
import type { Sessions } from '../core/sessions.js';
import { decodeAction, encodeInfo, environmentOf, publicInfo, resetOf, taskFields } from '../core/tasks.js';
import type { ProtocolContext, ProtocolRoutes } from '../http/openapi.js';
import { checkedBody, parseJson, requestInvalid, tellDetail } from '../http/requests.js';
import { actionOfCall, observationText, openingOf } from './tools.js';

// What NeMo-Gym's agents send.

const part = z.looseObject({ type: z.string(), text: z.string().optional() });
const item = z.looseObject({
  type: z.string().optional(),
  role: z.string().optional(),
  content: z.union([z.string(), z.array(part)]).nullish(),
  call_id: z.string().max(255).optional(),
  name: z.string().max(255).optional(),
  arguments: z.string().optional(),
});
const responseSchema = z.looseObject({ output: z.array(item).max(1000) });
type Response = z.infer<typeof responseSchema>;

const resetBody = z.looseObject(taskFields);
const stepBody = z.looseObject({
  response: responseSchema,
  /** The same one again is no second step. */
  _ng_step_request_id: z.string().max(255).nullish(),
});
const TASK = '_ng_task_index';
const metricsBody = z.looseObject({
  verify_responses: z.array(z.looseObject({ reward: z.number(), [TASK]: z.number().optional() })),
});

interface Asked {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly served: Servable;
  readonly owner: Owner;
}

export const nemoRoutes: ProtocolRoutes = {
  name: 'nemo',
  path: '/nemo/:env',
  reserved: ['nemo'],
  register(app: FastifyInstance, { sessions, ownerOf }: ProtocolContext) {
    tellDetail(app);
    const nemo = new NemoRoutes(sessions);
    const post = (path: string, answer: (asked: Asked) => unknown) => {
      app.post(`/nemo/:env${path}`, async (request, reply) => {
        // It makes URLs of `http://HOST:PORT/path`: given a HOST with a path, it puts the port behind the name.
        const name = (request.params as { env: string }).env.replace(/:\d+$/, '');
        return answer({ request, reply, served: environmentOf(sessions, name), owner: ownerOf(request) });
      });
    };
    post('/reset', (asked) => nemo.reset(asked));
    post('/step', (asked) => nemo.step(asked));
    post('/close', (asked) => nemo.close(asked));
    // An episode starts with /reset.
    post('/seed_session', () => ({}));
    post('/aggregate_metrics', ({ request }) => aggregateMetrics(checkedBody(metricsBody, request.body)));
    post('/verify', ({ served }) => {
      throw reverieError('NOT_VERIFIED_APART', { env: served.name });
    });
  },
};

/** Mean rewards of rollouts, of all and of each task, under NeMo-Gym's names. */
function aggregateMetrics({ verify_responses: rollouts }: z.infer<typeof metricsBody>) {
  const byTask = new Map<unknown, number[]>();
  for (const { reward, [TASK]: task } of rollouts) {
    byTask.set(task, byTask.get(task) ?? []);
    byTask.get(task)!.push(reward);
  }
  const all = { 'mean/reward': rollouts.length === 0 ? null : mean(rollouts.map(({ reward }) => reward)) };
  const groups = [...byTask].map(([task, rewards]) => ({ [TASK]: task ?? null, 'mean/reward': mean(rewards) }));
  return { group_level_metrics: groups, agent_metrics: all, key_metrics: all };
}

/** Told to the model, as it may do better: nothing has happened. */
const MENDABLE = ['REQUEST_INVALID', 'ACTION_OUT_OF_SPACE', 'STEP_DEADLINE', 'TOOL_NOT_OFFERED'];

/** Holds the session's id. */
const COOKIE = 'reverie_session';

class NemoRoutes {
  constructor(private readonly sessions: Sessions) {}

  /** Each reset has a session of its own: rollouts at the same time may share the cookies they came with. */
  async reset({ request, reply, served, owner }: Asked) {
    const wanted = resetOf(served, checkedBody(resetBody, request.body));
    const session = this.sessions.open({ env: served.name, owner });
    try {
      const turn = await this.sessions.reset(session.id, wanted, owner);
      void reply.header('set-cookie', `${COOKIE}=${session.id}; Path=/; HttpOnly; SameSite=Lax`);
      const { rules, first } = openingOf(served, turn.observation);
      const observation = [rules, first].filter((text) => text !== '').join('\n\n');
      const { screenshot } = encodeInfo(publicInfo(turn.info)) as { readonly screenshot?: object };
      const abilities = { supports_explicit_close: true, supports_step_idempotency: true };
      return { observation, info: { ...abilities, episode_id: turn.episodeId, screenshot } };
    } catch (error) {
      await this.sessions.close(session.id, owner);
      throw error;
    }
  }

  async step({ request, served, owner }: Asked) {
    const { response, _ng_step_request_id: given } = checkedBody(stepBody, request.body);
    const requestId = given ?? undefined;
    const id = this.sessionIn(request, served, owner);
    // A session that is over says so, whatever was written; unless it may have been written before.
    if (requestId === undefined && this.sessions.state(id, owner).status !== 'running') {
      throw reverieError('ENV_NOT_RESET', { id: served.name });
    }
    try {
      const action = actionOfResponse(served, response);
      const turn = await this.sessions.step(id, { action, requestId }, owner);
      const { reward, terminated, truncated, stepCount: step_count } = turn;
      if (reward === null) throw notRewarded(served, turn);
      const { observation, tool_outputs } = outcomeOf(response, turn);
      const shown = encodeInfo(publicInfo(turn.info)) as object;
      return { observation, reward, terminated, truncated, info: { ...shown, tool_outputs, step_count } };
    } catch (error) {
      if (!(error instanceof ReverieError) || !MENDABLE.includes(error.code)) throw error;
      // Each call hears why it was refused, or there is a message.
      const output = `Error: ${error.message}`;
      const tool_outputs = callsOf(response).map(({ call_id }) => ({ call_id, output }));
      const observation = tool_outputs.length === 0 ? output : null;
      return { observation, reward: 0, terminated: false, truncated: false, info: { tool_outputs } };
    }
  }

  async close({ request, served, owner }: Asked) {
    await this.sessions.close(this.sessionIn(request, served, owner), owner);
    return {};
  }

  /** @throws SESSION_UNKNOWN, SESSION_GONE, SESSION_OF_OTHER_ENV */
  private sessionIn(request: FastifyRequest, served: Servable, owner: Owner): string {
    const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='));
    const id = pairs.find(([name]) => name === COOKIE)?.[1];
    if (id === undefined) throw reverieError('SESSION_UNKNOWN', { id: 'of this cookie' });
    const { env } = this.sessions.state(id, owner);
    if (env !== served.name) throw reverieError('SESSION_OF_OTHER_ENV', { id, env, asked: served.name });
    return id;
  }
}

/** Rewards are numbers here, and a missing reward must not arrive as 0. */
function notRewarded({ name: env }: Servable, { info }: Turn): Error {
  const { outcome } = info as { readonly outcome?: AttemptOutcome };
  const { kind = 'judged', cause = null, attempt = '' } = outcome ?? {};
  return reverieError('EPISODE_NOT_JUDGED', { env, kind, cause: cause ?? 'nothing could decide it', attempt });
}

function callsOf({ output }: Response) {
  return output.flatMap(({ type, call_id = '', name = '', arguments: given = '{}' }) =>
    type === 'function_call' ? [{ call_id, name, arguments: given }] : [],
  );
}

/** Calls go before words: who does both is only heard calling. @throws REQUEST_INVALID, TOOL_NOT_OFFERED */
function actionOfResponse(served: Servable, response: Response): Action {
  const actions = callsOf(response).map(({ name, arguments: given }) =>
    actionOfCall(served, { name, id: '', arguments: argumentsIn(name, given) }),
  );
  if (actions.length === 1) return actions[0];
  if (actions.length > 1) {
    const turns = actions as readonly ToolsAction[];
    if (faceOf(served).acts !== 'turn' || turns.some(({ toolCalls }) => toolCalls === undefined)) {
      throw requestInvalid('that tool is called alone in a turn; none was called');
    }
    return { content: null, toolCalls: turns.flatMap(({ toolCalls }) => toolCalls ?? []) };
  }
  const messages = response.output.filter(({ type = 'message' }) => type === 'message');
  const text = messages
    .flatMap(({ content }) => (typeof content === 'string' ? [content] : (content ?? []).map(({ text = '' }) => text)))
    .join('');
  if (text.trim() === '') throw requestInvalid('say something or call a tool');
  return actionInText(served, text);
}

function argumentsIn(name: string, text: string): unknown {
  try {
    return parseJson(text.trim() === '' ? '{}' : text);
  } catch (error) {
    throw requestInvalid(`arguments of ${name}: ${(error as Error).message}`, error);
  }
}

const THOUGHTS = /^\s*<think>[\s\S]*?<\/think>/;
const MARKED = /(?:^|\n)\s*Action:\s*([\s\S]*)$/;
const NUMBERS = /\[[^[\]]*\]/;
const NUMBER = /[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?/;

/**
 * The action in a model's text: what is said to the user; or a line, or numbers, after "Action:" or in all of it.
 * @throws REQUEST_INVALID
 */
export function actionInText(served: Servable, written: string): Action {
  const { acts } = faceOf(served);
  if (acts === 'turn') return { content: written };
  const text = written.replace(THOUGHTS, '').trim();
  const marked = (MARKED.exec(text)?.[1] ?? text).trim();
  if (acts === 'line') return decodeAction(served, marked);
  const [numbers] = NUMBERS.exec(marked) ?? NUMBER.exec(marked) ?? [];
  if (numbers === undefined) {
    throw requestInvalid('an action is a list of numbers, such as [0.5]');
  }
  return decodeAction(served, parseJson(numbers.replace(/^\+/, '')));
}

/** What the tools answered, call by call, for the items of the model's next input; and what there is to read beside it. */
function outcomeOf(response: Response, { observation }: Turn) {
  const calls = callsOf(response);
  const text = observationText(observation);
  if (calls.length === 0) return { tool_outputs: [], observation: text };
  const { messages = [] } = observation as Partial<ToolsObservation>;
  const answers = messages.filter((message): message is ToolMessage => message.role === 'tool');
  const answerTo = (i: number) => answers[i]?.content ?? text;
  const answered = answers.length === 0 ? calls.slice(0, 1) : calls;
  return { tool_outputs: answered.map(({ call_id }, i) => ({ call_id, output: answerTo(i) })), observation: null };
}
