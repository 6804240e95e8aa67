// The native API: every verb the sessions have, as JSON over HTTP.

import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Turn } from '../../core/session-contract.js';
import { publicInfo } from '../../core/turn.js';
import { decodeAction, encodeObservation } from '../../core/values.js';
import type { Facade, FacadeContext } from '../../http/facade.js';
import { checkedBody } from '../../http/request-check.js';

const openBody = z.strictObject({ env: z.string().optional(), id: z.string().max(255).optional() });
const resetBody = z.strictObject({
  seed: z.int().min(0).optional(),
  task: z.string().optional(),
  split: z.string().optional(),
  index: z.int().min(0).optional(),
  snapshot: z.string().optional(),
  episode_id: z.string().max(255).optional(),
});
const stepBody = z.strictObject({
  action: z.unknown(),
  request_id: z.string().max(255).optional(),
  timeout_seconds: z.number().positive().optional(),
});

type Params = { Params: { id: string } };

export const nativeFacade: Facade = {
  name: 'native',
  reserved: ['v1'],
  register(app: FastifyInstance, { sessions, ownerOf }: FacadeContext) {
    app.post('/v1/sessions', async (request, reply) => {
      const body = checkedBody(openBody, request.body ?? {});
      return reply.status(201).send(sessions.open({ ...body, owner: ownerOf(request) }));
    });
    app.post<Params>('/v1/sessions/:id/reset', async (request) => {
      const { episode_id: episodeId, ...body } = checkedBody(resetBody, request.body ?? {});
      return answered(await sessions.reset(request.params.id, { ...body, episodeId }, ownerOf(request)));
    });
    app.post<Params>('/v1/sessions/:id/step', async (request) => {
      const { action, request_id: requestId, timeout_seconds: timeoutSeconds } = checkedBody(stepBody, request.body);
      const owner = ownerOf(request);
      const served = sessions.environments.get(sessions.state(request.params.id, owner).env)!;
      const decoded = decodeAction(served, action);
      return answered(await sessions.step(request.params.id, { action: decoded, requestId, timeoutSeconds }, owner));
    });
    app.delete<Params>('/v1/sessions/:id', async (request, reply) => {
      await sessions.close(request.params.id, ownerOf(request));
      return reply.status(204).send();
    });
  },
};

function answered({ observation, reward, terminated, truncated, info, episodeId, stepCount }: Turn) {
  return {
    observation: encodeObservation(observation),
    reward,
    terminated,
    truncated,
    info: publicInfo(info),
    episode_id: episodeId,
    step_count: stepCount,
  };
}
