// Routes for many sessions at once: groups that start from one state, and steps in one request.

import type { Owner, Sessions, StepItem } from '../../core/session-contract.js';
import { decodeAction } from '../../core/values.js';
import { checkedBody } from '../../http/request-check.js';
import type { NativeRoute } from './native-route.js';
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
    const { env, count, seeds, ...start } = checkedBody(groupBody, request.body);
    const members = await sessions.openGroup({ env, count, seeds, owner }, start);
    void reply.status(201);
    return { sessions: members.map(({ session }) => wireSession(session)), turn: wireTurn(members[0].turn) };
  },
};

const stepMany: NativeRoute = {
  method: 'post',
  path: '/v1/step',
  tag: 'Many at once',
  summary: 'Step many sessions',
  description: 'One request instead of many; a step that fails does so alone. Steps of one session follow each other.',
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
    const items = steps.map((step) => itemOf(step, sessions, owner));
    const outcomes = await sessions.stepMany(
      items.flatMap((item) => ('id' in item ? [item] : [])),
      owner,
    );
    const taken = outcomes[Symbol.iterator]();
    const results = items.map((item) => {
      const outcome = 'id' in item ? taken.next().value! : item;
      return 'turn' in outcome ? wireTurn(outcome.turn) : wireError(outcome.error);
    });
    return { results };
  },
};

export const batchRoutes = [openGroup, stepMany];

type ManySteps = ReturnType<typeof manyStepsBody.parse>['steps'];

/** A step as the sessions take it, or why it is none. */
function itemOf(step: ManySteps[number], sessions: Sessions, owner: Owner): StepItem | { readonly error: unknown } {
  const { session: id, action, request_id: requestId, timeout_seconds: timeoutSeconds } = step;
  try {
    const served = sessions.environments.get(sessions.state(id, owner).env)!;
    return { id, action: decodeAction(served, action), requestId, timeoutSeconds };
  } catch (error) {
    return { error };
  }
}
