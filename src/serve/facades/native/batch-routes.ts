// Routes for many sessions at once: groups that start from one state, and steps in one request.

import { decodeAction } from '../../core/values.js';
import { checkedBody } from '../../http/request-check.js';
import type { Asked, NativeRoute } from './native-route.js';
import { groupBody, groupSchema, manyStepsBody, resultsSchema } from './session-schemas.js';
import { wireError, wireSession, wireTurn } from './wire.js';

const openGroup: NativeRoute = {
  method: 'post',
  path: '/v1/groups',
  tag: 'Many at once',
  summary: 'Open sessions that start from one state',
  description: 'For learners that compare several tries at the same start (GRPO). All of them open, or none.',
  body: { schema: groupBody, example: { env: 'pendulum', count: 8, seed: 1 } },
  answer: { status: 201, description: 'The sessions, reset', schema: groupSchema },
  async handle({ request, reply, sessions, owner }) {
    const { env, count, ...start } = checkedBody(groupBody, request.body);
    const first = sessions.open({ env, owner });
    try {
      const turn = await sessions.reset(first.id, start, owner);
      const others = count > 1 ? await sessions.fork(first.id, count - 1, owner) : [];
      void reply.status(201);
      return { sessions: [sessions.state(first.id, owner), ...others].map(wireSession), turn: wireTurn(turn) };
    } catch (error) {
      await sessions.close(first.id, owner);
      throw error;
    }
  },
};

const stepMany: NativeRoute = {
  method: 'post',
  path: '/v1/step',
  tag: 'Many at once',
  summary: 'Step many sessions',
  description: 'One request instead of many; a step that fails does so alone.',
  body: {
    schema: manyStepsBody,
    example: {
      steps: [
        { session: 'a', action: [0.5] },
        { session: 'b', action: [-0.5] },
      ],
    },
  },
  answer: { status: 200, description: 'A turn or an error for each step', schema: resultsSchema },
  async handle({ request, sessions, owner }) {
    const { steps } = checkedBody(manyStepsBody, request.body);
    return { results: await Promise.all(steps.map((one) => stepped(one, sessions, owner))) };
  },
};

async function stepped(
  { session, action, request_id: requestId, timeout_seconds: timeoutSeconds }: ManySteps[number],
  sessions: Asked['sessions'],
  owner: string,
) {
  try {
    const served = sessions.environments.get(sessions.state(session, owner).env)!;
    const request = { action: decodeAction(served, action), requestId, timeoutSeconds };
    return wireTurn(await sessions.step(session, request, owner));
  } catch (error) {
    return wireError(error);
  }
}

type ManySteps = ReturnType<typeof manyStepsBody.parse>['steps'];

export const batchRoutes = [openGroup, stepMany];
