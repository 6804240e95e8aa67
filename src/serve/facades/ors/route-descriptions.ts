// What /openapi.json and /docs tell of the routes of the Open Reward Standard.

import { z } from 'zod';
import type { RouteDescription } from '../../http/facade.js';
import { callBody, createBody } from './create-episode.js';

const tag = 'Open Reward Standard';
const headers = { 'X-Session-ID': 'Id of the session' };
const parameters = { env: 'Name of the environment, capitals or not' };

const sid = z.object({ sid: z.string() });
const block = z.object({ text: z.string(), detail: z.null(), type: z.literal('text') }).meta({ id: 'OrsTextBlock' });
const tools = z.object({
  tools: z.array(
    z.object({ name: z.string(), description: z.string(), input_schema: z.record(z.string(), z.unknown()) }),
  ),
});
const messages = z.array(z.object({ role: z.enum(['system', 'user']), blocks: z.array(block), detail: z.null() }));

const EVENTS = 'Server-sent events';

export const orsDescriptions: readonly RouteDescription[] = [
  {
    method: 'post',
    path: '/create_session',
    tag,
    summary: 'Get an id for a session',
    answer: { status: 200, description: `${EVENTS}: task_id, which is the id, and end` },
  },
  {
    method: 'post',
    path: '/create',
    tag,
    summary: 'Start an episode',
    description: 'Once for a session; sent again it answers the same and starts no other.',
    headers,
    body: { schema: createBody, example: { env_name: 'helpdesk', split: 'train', index: 0 } },
    answer: { status: 200, description: 'The session', schema: sid },
  },
  {
    method: 'get',
    path: '/:env/tools',
    tag,
    summary: 'List the tools, under names that are Python identifiers',
    parameters,
    answer: { status: 200, description: 'The tools', schema: tools },
  },
  {
    method: 'get',
    path: '/:env/task_tools',
    tag,
    summary: 'List the tools of a session',
    parameters,
    headers,
    answer: { status: 200, description: 'The same ones', schema: tools },
  },
  {
    method: 'get',
    path: '/:env/prompt',
    tag,
    summary: 'Read rules, and what there is to see',
    parameters,
    headers,
    answer: { status: 200, description: 'Blocks of text', schema: z.array(block) },
  },
  {
    method: 'get',
    path: '/:env/messages',
    tag,
    summary: 'Read the same as a conversation',
    parameters,
    headers,
    answer: { status: 200, description: 'Messages', schema: messages },
  },
  {
    method: 'post',
    path: '/:env/call',
    tag,
    summary: 'Call a tool: a step',
    description:
      'Rewards are null but on the last step, which has the return. A broken stream is taken up by its task_id.',
    parameters,
    headers,
    body: { schema: callBody, example: { name: 'step', input: { action: [0.5] } } },
    answer: { status: 200, description: `${EVENTS}: task_id, chunk, end or error` },
  },
  ...(['ping', 'delete', 'delete_session'] as const).map((name): RouteDescription => {
    const summary = name === 'ping' ? 'Say that a session is still wanted' : 'Close a session';
    const schema = name === 'ping' ? z.object({ status: z.literal('ok') }) : sid;
    return {
      method: 'post',
      path: `/${name}`,
      tag,
      summary,
      headers,
      answer: { status: 200, description: 'Done', schema },
    };
  }),
];
