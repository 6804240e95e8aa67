// What a running server tells of one of its environments.

import { z } from 'zod';
import { reverieError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import type { GlueTarget } from './glue.js';

const card = z.object({
  name: z.string(),
  family: z.enum(['vector', 'text', 'tools']),
  tools: z.array(z.object({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.json()) })),
  splits: z.array(z.object({ name: z.string(), tasks: z.int() })),
});
const answer = z.object({ environments: z.array(card).min(1) });

/**
 * The environment `env` of the server at `url`; its first unless named.
 * @param token  sent where the server asks for one
 * @throws SERVER_UNREACHABLE, ENV_NOT_SERVED
 */
export async function fetchGlueTarget(url: string, env?: string, token?: string): Promise<GlueTarget> {
  const { environments } = await environmentsOf(url, token);
  const found = env === undefined ? environments[0] : environments.find(({ name }) => name === env);
  if (found === undefined) {
    throw reverieError('ENV_NOT_SERVED', { env, known: environments.map(({ name }) => name).join(', ') });
  }
  const { name, family, tools, splits } = found;
  const trainTasks = splits.find((split) => split.name === 'train')?.tasks ?? 0;
  const offered = tools.map((tool) => ({ ...tool, parameters: tool.parameters as JsonObject }));
  return { url, name, family, tools: offered, trainTasks };
}

async function environmentsOf(url: string, token?: string): Promise<z.output<typeof answer>> {
  const refuse = (problem: string, cause?: unknown) => reverieError('SERVER_UNREACHABLE', { url, problem }, cause);
  let reply: Response;
  try {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    reply = await fetch(`${url.replace(/\/+$/, '')}/v1/environments`, { headers, redirect: 'error' });
  } catch (error) {
    throw refuse((error as Error).message, error);
  }
  if (!reply.ok) throw refuse(`it answered ${reply.status}`);
  const read = answer.safeParse(await reply.json().catch(() => undefined));
  if (!read.success) throw refuse('what it answered is not of Reverie');
  return read.data;
}
