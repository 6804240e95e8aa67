// A server of any protocol as the checks see one: their own resets and steps, translated by the client that scenarios use.

import type { JsonObject } from '../../core/json.js';
import {
  type EnvironmentServer,
  type ServerCard,
  ServerFull,
  type ServerSession,
  SessionLost,
} from '../../env/index.js';
import { CheckFailed, type Player, type Reply, type Server, type Tool } from './validate-contract.js';

export interface DescribedServer {
  readonly server: Server;
  readonly tools: readonly Tool[];
  readonly tasks: readonly JsonObject[];
}

/** Tasks of each split that a check may choose from. */
export function describedServer(client: EnvironmentServer, card: ServerCard, perSplit: number): DescribedServer {
  const counts = new Map<string, number>();
  const tasks = card.tasks.flatMap(({ id, split }, index): JsonObject[] => {
    const before = counts.get(split) ?? 0;
    counts.set(split, before + 1);
    return before < perSplit ? [{ id, split, index }] : [];
  });
  const server: Server = {
    url: client.url,
    lacks: client.lacks,
    headers: {},
    ask: () => Promise.reject(new CheckFailed(`${client.protocol} has no such route`)),
    connect: async () => new SessionPlayer(client, card),
  };
  return { server, tools: card.tools.map(({ name, parameters }) => ({ name, input_schema: parameters })), tasks };
}

class SessionPlayer implements Player {
  private session: ServerSession | undefined;

  constructor(
    private readonly client: EnvironmentServer,
    private readonly card: ServerCard,
  ) {}

  reset({ index = 0, seed }: JsonObject): Promise<Reply> {
    return this.told(async () => {
      this.session ??= await this.client.open();
      const text = await this.session.begin({ task: this.card.tasks[Number(index)], seed: Number(seed) });
      return { observation: { text }, reward: null, done: false };
    });
  }

  step({ tool_name: name, arguments: given }: JsonObject): Promise<Reply> {
    return this.told(async () => {
      const call = { name: String(name), arguments: given as JsonObject };
      const { observation: text, isError, reward, done } = await this.session!.call(call);
      return { observation: { text, is_error: isError }, reward, done };
    });
  }

  state(): Promise<JsonObject> {
    return Promise.reject(new CheckFailed(`${this.client.protocol} tells no state`));
  }

  async close(): Promise<void> {
    await this.session?.close();
  }

  /** As OpenEnv's server says that it is full, which the checks know. */
  private async told(work: () => Promise<Reply>): Promise<Reply> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ServerFull) {
        return { observation: {}, reward: null, done: false, error: `CAPACITY_REACHED: ${error.message}` };
      }
      if (error instanceof SessionLost) throw new CheckFailed(`the session is lost: ${error.message}`);
      throw error;
    }
  }
}
