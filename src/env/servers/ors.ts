// A server of the Open Reward Standard (https://openrewardstandard.io): sessions over HTTP, calls of tools as streams. It has no
// seeds: a task is all that an episode begins with.

import { z } from 'zod';
import type { JsonObject } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import type { CallSpec } from '../tools/domain.js';
import {
  type EnvironmentServer,
  type EpisodeStart,
  listedToolSchema,
  refusal,
  rewardSchema,
  type ServerAnswer,
  type ServerCard,
  ServerHttp,
  type ServerOptions,
  type ServerSession,
  type ServerTask,
  shownText,
} from './server-http.js';

/** Milliseconds between signs of life: a server gives up a session after 900 s of silence. */
const PING_MS = 10_000;
/** What is answered for a session that is not there any more. */
const GONE = [404, 410];

const namesSchema = z.array(z.string()).min(1);
const toolsSchema = z.looseObject({ tools: z.array(listedToolSchema) });
const blocksSchema = z.array(z.looseObject({ type: z.string(), text: z.string().nullish() }));
const answerSchema = z.union([
  z.looseObject({
    ok: z.literal(true),
    output: z.looseObject({ blocks: blocksSchema, reward: rewardSchema, finished: z.boolean().nullish() }),
  }),
  z.looseObject({ ok: z.literal(false), error: z.string() }),
]);

export class OrsServer implements EnvironmentServer {
  readonly http: ServerHttp;
  private environment: Promise<string> | undefined;

  constructor(
    url: string,
    private readonly options: ServerOptions,
  ) {
    this.http = new ServerHttp('ORS', url, options.timeoutSeconds, options.token);
  }

  async describe(): Promise<ServerCard> {
    const name = await this.named();
    const listed = (await this.http.json(`/${encodeURIComponent(name)}/tools`, toolsSchema)).tools;
    const tools = listed.map(({ parameters: { type, ...rest }, ...tool }) => {
      return { ...tool, parameters: { type, properties: {}, ...rest } };
    });
    const tasks = await taskLists(this.http, name, this.options.taskLimit);
    if (tasks === undefined) throw this.http.refused(`GET /${name}/splits`, 'it has no list of tasks');
    return { name, version: '', instructions: '', tools, tasks };
  }

  async open(): Promise<ServerSession> {
    return new OrsSession(this.http, await this.named());
  }

  /** @throws ENV_NOT_SERVED */
  private named(): Promise<string> {
    this.environment ??= this.http.json('/list_environments', namesSchema).then((names) => {
      const { environment: wanted } = this.options;
      const found = wanted === undefined ? names[0] : names.find((name) => name.toLowerCase() === wanted.toLowerCase());
      if (found === undefined) throw reverieError('ENV_NOT_SERVED', { env: wanted, known: names.join(', ') });
      return found;
    });
    // Who asks next asks the server again.
    this.environment.catch(() => {
      this.environment = undefined;
    });
    return this.environment;
  }
}

class OrsSession implements ServerSession {
  private sid: string | undefined;
  private pinging: NodeJS.Timeout | undefined;
  /** The last reward that was not null: clients keep it as that of the episode. */
  private told: number | null = null;

  constructor(
    private readonly http: ServerHttp,
    private readonly environment: string,
  ) {}

  /** A session of the standard has one episode: another one is opened for the next. */
  async begin({ task }: EpisodeStart, signal?: AbortSignal): Promise<string> {
    await this.close();
    const { split, index, spec } = task.start;
    const what = 'POST /create_session';
    const sid = await this.http.stream('/create_session', { method: 'POST', signal }, (status, chunks) => {
      if (status !== 200) throw this.http.refused(what, `status ${status}`);
      return firstEvent(chunks, 'task_id');
    });
    if (!sid) throw this.http.invalid(what, String(sid), 'it tells no session');
    this.sid = sid;
    this.told = null;
    const chosen = spec === undefined ? { split, index } : { task_spec: spec };
    await this.asked('/create', z.unknown(), { env_name: this.environment, ...chosen }, signal);
    this.pinging = setInterval(() => void this.ping(), PING_MS);
    this.pinging.unref();
    return textOf(await this.asked(`/${encodeURIComponent(this.environment)}/prompt`, blocksSchema, undefined, signal));
  }

  async call({ name, arguments: input }: CallSpec, signal?: AbortSignal): Promise<ServerAnswer> {
    const path = `/${encodeURIComponent(this.environment)}/call`;
    const what = `a call of ${name}`;
    const body = { name, input };
    const end = await this.http.stream(path, { body, headers: this.headers, signal }, async (status, chunks) => {
      if (status === 200) return streamEnd(chunks);
      this.requireKnown(what, status);
      throw this.http.refused(what, `status ${status}`);
    });
    if (end === undefined) throw this.http.lost(`the stream of ${what} broke off`);
    // An exception of the tool.
    if ('error' in end) return refusal(end.error);
    return this.answerOf(this.http.read(what, end.text, answerSchema));
  }

  async close(): Promise<void> {
    clearInterval(this.pinging);
    const { sid, headers } = this;
    this.sid = undefined;
    if (sid === undefined) return;
    for (const path of ['/delete', '/delete_session'])
      await this.http.exchange(path, { body: { sid }, headers }).catch(() => undefined);
  }

  /** Rewards here replace each other; those of calls are to sum to the last. */
  private answerOf(told: z.output<typeof answerSchema>): ServerAnswer {
    if (!told.ok) return refusal(told.error);
    const { blocks, reward: now, finished } = told.output;
    const reward = now == null ? null : now - (this.told ?? 0);
    if (now != null) this.told = now;
    return { observation: textOf(blocks), isError: false, reward, done: finished === true };
  }

  private async asked<T>(path: string, schema: z.ZodType<T>, body?: object, signal?: AbortSignal): Promise<T> {
    const what = `${body === undefined ? 'GET' : 'POST'} ${path}`;
    const { status, text } = await this.http.exchange(path, { body, headers: this.headers, signal });
    this.requireKnown(what, status);
    if (status < 200 || status > 299) throw this.http.refused(what, `status ${status}, ${text.slice(0, 200)}`);
    return this.http.read(what, text, schema);
  }

  private requireKnown(what: string, status: number): void {
    if (GONE.includes(status)) throw this.http.lost(`${what} is answered with status ${status}: the session is gone`);
  }

  private get headers(): Record<string, string> {
    return this.sid === undefined ? {} : { 'x-session-id': this.sid };
  }

  /** Its failure is told by the request that comes next. */
  private async ping(): Promise<void> {
    await this.http.exchange('/ping', { method: 'POST', headers: this.headers }).catch(() => undefined);
  }
}

function textOf(blocks: z.output<typeof blocksSchema>): string {
  const shown = blocks.map(({ type, text }) => text ?? shownText({ type }));
  return shown.filter((text) => text !== '').join('\n\n');
}

// Server-sent events of the Open Reward Standard: `task_id`, then pieces of one text, the last of them as `end`; or an `error`.

/**
 * What a stream came to: all pieces joined, or what the server said was wrong; undefined where it broke off.
 * @param chunks  of the body, cut anywhere
 */
async function streamEnd(chunks: AsyncIterable<string>): Promise<{ text: string } | { error: string } | undefined> {
  let pieces = '';
  for await (const { event, data } of eventsIn(chunks)) {
    if (event === 'error') return { error: data };
    if (event === 'chunk' || event === 'end') pieces += data;
    if (event === 'end') return { text: pieces };
  }
  return undefined;
}

/** The first event of this name; undefined where there is none. */
async function firstEvent(chunks: AsyncIterable<string>, name: string): Promise<string | undefined> {
  let found: string | undefined;
  for await (const { event, data } of eventsIn(chunks)) if (event === name) found ??= data;
  return found;
}

/** https://html.spec.whatwg.org/multipage/server-sent-events.html, as far as clients of this standard read it. */
async function* eventsIn(chunks: AsyncIterable<string>): AsyncGenerator<{ event: string; data: string }> {
  let rest = '';
  let event = '';
  let data: string[] = [];
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split(/\r?\n/);
    rest = lines.pop()!;
    for (const line of lines) {
      if (line === '') {
        if (event !== '' || data.length > 0) yield { event, data: data.join('\n') };
        event = '';
        data = [];
      } else if (line.startsWith('event:')) event = line.slice('event:'.length).trim();
      // As the reference's client does: blanks before a piece do not count.
      else if (line.startsWith('data:')) data.push(line.slice('data:'.length).trimStart());
    }
  }
}

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
