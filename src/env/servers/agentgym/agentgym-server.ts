// A server of AgentGym: items by number, actions as the text that a model wrote. It has no seeds, and tells neither tools nor how many
// items there are: the one tool `act` takes the text, and `taskLimit` says how many items are asked for.

import type { z } from 'zod';
import type { CallSpec } from '../../tools/domain.js';
import {
  type EnvironmentServer,
  type EpisodeStart,
  type ServerAnswer,
  type ServerCard,
  ServerFull,
  type ServerOptions,
  type ServerSession,
  SessionLost,
} from '../server-contract.js';
import { parsedJson, ServerHttp } from '../server-http.js';
import {
  type AgentGymDialect,
  createdSchema,
  DIALECTS,
  type Dialect,
  failureSchema,
  firstSchema,
  steppedSchema,
} from './dialects.js';

const PROTOCOL = 'AgentGym';
/** Status of a server that has no place. */
const FULL = 503;

export class AgentGymServer implements EnvironmentServer {
  readonly protocol = PROTOCOL;
  readonly lacks = {
    seeds: 'AgentGym has no seeds: the item alone begins an episode',
    state: 'AgentGym tells no state',
    schemas: 'AgentGym has no schemas',
    slots: 'AgentGym has no sign by which a server could tell that a client is gone',
  };
  private readonly http: ServerHttp;
  private readonly dialect: Dialect;

  constructor(
    url: string,
    private readonly name: AgentGymDialect,
    private readonly options: ServerOptions,
  ) {
    this.http = new ServerHttp(PROTOCOL, url, options.timeoutSeconds, options.token);
    this.dialect = DIALECTS[name];
  }

  get url(): string {
    return this.http.url;
  }

  /** Whether a server is there is tried with a session, as the protocol has nothing else to ask. */
  async describe(): Promise<ServerCard> {
    const session = await this.open();
    await session.close();
    const items = Array.from({ length: this.options.taskLimit }, (_, item) => item);
    const text = { type: 'string', description: 'what you say or do, whole' };
    return {
      name: new URL(this.url).pathname.split('/').filter(Boolean).at(-1) ?? this.name,
      version: this.name,
      instructions: '',
      tools: [
        {
          name: 'act',
          description: 'Says or does something: the text goes to the environment as it is.',
          parameters: { type: 'object', properties: { text }, required: ['text'] },
        },
      ],
      tasks: items.map((item) => ({ id: `item-${item}`, split: 'train', start: { item } })),
    };
  }

  async open(): Promise<ServerSession> {
    const { http, dialect } = this;
    const number = await answered(http, '/create', dialect.create, createdSchema);
    return new AgentGymSession(http, dialect, number);
  }

  close(): Promise<void> {
    return this.http.close();
  }
}

class AgentGymSession implements ServerSession {
  constructor(
    private readonly http: ServerHttp,
    private readonly dialect: Dialect,
    private readonly number: number,
  ) {}

  begin({ task }: EpisodeStart, signal?: AbortSignal): Promise<string> {
    const { item, reset } = this.dialect;
    const body = { ...this.named, [item]: task.start['item'], ...reset };
    return answered(this.http, '/reset', body, firstSchema, signal);
  }

  async call({ arguments: { text } }: CallSpec, signal?: AbortSignal): Promise<ServerAnswer> {
    const told = await answered(this.http, '/step', { ...this.named, action: text }, steppedSchema, signal);
    return { ...told, isError: false };
  }

  async close(): Promise<void> {
    await this.http.exchange('/close', { body: this.named }).catch(() => undefined);
  }

  private get named(): object {
    return { [this.dialect.key]: this.number };
  }
}

/** A failure says nothing of its kind: the session may be gone, or the server at fault. @throws SessionLost, ServerFull */
async function answered<T>(
  http: ServerHttp,
  path: string,
  body: object,
  schema: z.ZodType<T>,
  signal?: AbortSignal,
): Promise<T> {
  const what = `POST ${path} ${JSON.stringify(body)}`;
  const { status, text } = await http.exchange(path, { body, signal });
  const refused = (problem: string) => http.refused(what, problem);
  if (status === FULL) throw new ServerFull(text, { cause: refused(`status ${status}, ${text}`) });
  if (status !== 200) throw refused(`status ${status}, ${text.slice(0, 200)}`);
  const failure = failureSchema.safeParse(parsedJson(text));
  if (failure.success) throw new SessionLost(failure.data.error, { cause: refused(failure.data.error) });
  return http.read(what, text, schema);
}
