// What somebody else's server of environments is to us, whichever protocol it speaks: it tells what it has, and opens sessions in
// which episodes are begun and tools called. A protocol is a folder here that makes one of an address.

import type { JsonObject } from '../../core/canonical-json.js';
import type { CallSpec } from '../tools/domain.js';

/** What a server tells of the environment that was asked for. */
export interface ServerCard {
  readonly name: string;
  /** As the server has it; tools and tasks count beside it. */
  readonly version: string;
  /** What an agent is told in every task; may be empty. */
  readonly instructions: string;
  readonly tools: readonly ServerTool[];
  /** At least one: where a protocol has no tasks, the one episode there is. */
  readonly tasks: readonly ServerTask[];
}

export interface ServerTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly parameters: JsonObject;
  /** The server says that it changes nothing. */
  readonly isRead?: boolean;
}

export interface ServerTask {
  readonly id: string;
  readonly split: 'train' | 'validation' | 'test';
  /** What the server is sent to begin it. */
  readonly start: JsonObject;
}

/** Which episode. Protocols that have no seed send the task alone. */
export interface EpisodeStart {
  readonly task: ServerTask;
  readonly seed: number;
}

export interface ServerAnswer {
  readonly observation: string;
  readonly isError: boolean;
  /** Of this call; rewards sum to the return, whatever the protocol's own way. null: none was given. */
  readonly reward: number | null;
  readonly done: boolean;
}

/** One place on the server; asked one thing at a time. */
export interface ServerSession {
  /**
   * Begins an episode, in place of the one before; answers what is seen first.
   * @throws SessionLost, ServerFull, REMOTE_TIMEOUT, SERVER_FAULT, SERVER_FAULT, the reason of `signal`
   */
  begin(start: EpisodeStart, signal?: AbortSignal): Promise<string>;
  /** @throws as `begin`; what a tool itself refuses is an answer */
  call(call: CallSpec, signal?: AbortSignal): Promise<ServerAnswer>;
  /** A server that is gone is fine. */
  close(): Promise<void>;
}

/** What a protocol has no words for, each with the reason; what is absent it has. */
export interface ServerLacks {
  readonly seeds?: string;
  readonly state?: string;
  readonly schemas?: string;
  readonly rewards?: string;
  /** Why it cannot be seen from outside whether places of clients that vanish are given back. */
  readonly slots?: string;
}

export interface EnvironmentServer {
  /** Name of the protocol, as people write it. */
  readonly protocol: string;
  /** Without what may be secret. */
  readonly url: string;
  readonly lacks: ServerLacks;
  /** @throws SERVER_UNREACHABLE, REMOTE_TIMEOUT, SERVER_FAULT, SERVER_FAULT, ENV_NOT_SERVED */
  describe(): Promise<ServerCard>;
  /** @throws SessionLost, ServerFull, and as `describe` */
  open(): Promise<ServerSession>;
  close(): Promise<void>;
}

/** What every protocol is given beside the address. */
export interface ServerOptions {
  /** Sent where the server asks for one; by default the password in the address, or the variable REVERIE_TOKEN. */
  readonly token?: string;
  /** Longest time for one answer. */
  readonly timeoutSeconds: number;
  /** Tasks of each split that are asked for. */
  readonly taskLimit: number;
  /** Of several environments of a server, the one meant. */
  readonly environment?: string;
}

/** The session is no more, or nobody knows where it stands: the server died, dropped the connection, or forgot it. */
export class SessionLost extends Error {}

/** The server has no place for another session. */
export class ServerFull extends Error {}
