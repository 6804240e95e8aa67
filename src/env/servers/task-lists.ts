// Lists of tasks over HTTP, in the form that the Open Reward Standard and OpenEnv's Task API share.

import { z } from 'zod';
import type { JsonObject } from '../../core/canonical-json.js';
import type { ServerTask } from './server-contract.js';
import type { ServerHttp } from './server-http.js';

const splitsSchema = z.array(z.union([z.string(), z.looseObject({ name: z.string(), type: z.string().optional() })]));
const countSchema = z.looseObject({ num_tasks: z.int().min(0) });
const tasksSchema = z.looseObject({ tasks: z.array(z.record(z.string(), z.json())) });

/** The first `limit` of each split, from the root of the server; undefined where the server has no such lists. @throws as `ServerHttp.json` */
export async function taskLists(http: ServerHttp, env: string, limit: number): Promise<ServerTask[] | undefined> {
  const root = `${new URL(http.url).origin}/${encodeURIComponent(env)}`;
  const { status, text } = await http.exchange(`${root}/splits`);
  if (status === 404 || status === 405 || status === 501) return undefined;
  if (status !== 200) throw http.refused(`GET ${root}/splits`, `status ${status}, ${text.slice(0, 200)}`);
  const tasks: ServerTask[] = [];
  for (const split of http.read(`GET ${root}/splits`, text, splitsSchema)) {
    const { name, type } = typeof split === 'string' ? { name: split, type: split } : split;
    const { num_tasks: count } = await http.json(`${root}/num_tasks`, countSchema, { body: { split: name } });
    if (count === 0) continue;
    const asked = { body: { split: name, start: 0, stop: Math.min(count, limit) } };
    const { tasks: some } = await http.json(`${root}/task_range`, tasksSchema, asked);
    tasks.push(...some.map((spec, index) => taskOf(spec as JsonObject, name, index, type)));
  }
  return tasks.length === 0 ? undefined : tasks;
}

function taskOf(spec: JsonObject, split: string, index: number, type = split): ServerTask {
  const { id } = spec;
  const named = typeof id === 'string' || typeof id === 'number' ? String(id) : `${split}-${index}`;
  const known = ['train', 'validation', 'test'].find((one) => one === type) as ServerTask['split'] | undefined;
  return { id: named, split: known ?? 'train', start: { split, index, spec } };
}
