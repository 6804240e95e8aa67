// Opens an environment of a server, whatever its family.

import type { TextSpace, ToolsSpace, VectorSpace } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import type { Message } from '../tools/message.js';
import type { ToolsAction, ToolsObservation } from '../tools/tools-family.js';
import { ConversationCodec, rowCodec, textCodec } from './codecs.js';
import { type ConnectionOptions, RemoteConnection } from './remote-connection.js';
import { RemoteEnvironment } from './remote-environment.js';
import { cardsSchema, type RemoteCard } from './wire-schemas.js';

export interface RemoteOptions extends ConnectionOptions {
  /** Name of the environment; the server's default one unless given. */
  readonly environment?: string;
}

/** Numbers: a `VectorEnvironment`, without known functions. */
export class RemoteVectorEnvironment extends RemoteEnvironment<Float32Array, Float32Array> {
  declare readonly family: 'vector';
  declare readonly observationSpace: VectorSpace;
  declare readonly actionSpace: VectorSpace;
}

/** Lines of text, of a game or of a screen. */
export class RemoteTextEnvironment extends RemoteEnvironment<string, string> {
  declare readonly family: 'text' | 'screen';
  declare readonly observationSpace: TextSpace;
  declare readonly actionSpace: TextSpace;
}

/** Tools: domain and typed state stay on the server. */
export class RemoteToolsEnvironment extends RemoteEnvironment<ToolsObservation, ToolsAction> {
  declare readonly family: 'tools';
  declare readonly observationSpace: ToolsSpace;
  declare readonly actionSpace: ToolsSpace;

  constructor(
    connection: RemoteConnection,
    card: RemoteCard,
    private readonly conversation: ConversationCodec,
  ) {
    super(connection, card, conversation);
  }

  /** The whole conversation so far. */
  get messages(): readonly Message[] {
    return this.conversation.messages;
  }
}

export type AnyRemoteEnvironment = RemoteVectorEnvironment | RemoteTextEnvironment | RemoteToolsEnvironment;

/**
 * An environment that `reverie serve` serves at `url`, as one of this process. Close it: it holds a session there.
 * @throws REMOTE_URL_INVALID, SERVER_UNREACHABLE, REMOTE_TIMEOUT, REMOTE_REFUSED, SERVER_FAULT, ENV_NOT_SERVED
 */
export async function openRemote(url: string, options: RemoteOptions = {}): Promise<AnyRemoteEnvironment> {
  const connection = new RemoteConnection(url, options);
  try {
    const card = await cardOf(connection, options.environment);
    return OPEN[card.family](connection, card);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function cardOf(connection: RemoteConnection, name?: string): Promise<RemoteCard> {
  const { environments } = await connection.get('/v1/environments', cardsSchema);
  const found =
    name === undefined
      ? (environments.find((card) => card.isDefault) ?? environments[0])
      : environments.find((card) => card.name === name);
  if (found !== undefined) return found;
  throw reverieError('ENV_NOT_SERVED', { env: name, known: environments.map((card) => card.name).join(', ') });
}

type Open = (connection: RemoteConnection, card: RemoteCard) => AnyRemoteEnvironment;

function openLines(connection: RemoteConnection, card: RemoteCard): RemoteTextEnvironment {
  return new RemoteTextEnvironment(connection, card, textCodec(card.actionSpace as TextSpace));
}

const OPEN: Readonly<Record<RemoteCard['family'], Open>> = {
  vector: (connection, card) => {
    const codec = rowCodec(card.observationSpace as VectorSpace, card.actionSpace as VectorSpace);
    return new RemoteVectorEnvironment(connection, card, codec);
  },
  text: openLines,
  screen: openLines,
  tools: (connection, card) =>
    new RemoteToolsEnvironment(connection, card, new ConversationCodec(card.actionSpace as ToolsSpace)),
};
