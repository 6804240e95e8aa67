// What the queue on NATS is made of: streams for items, for what is kept, and for who is there; one consumer that all
// workers pull from; and asking again while the server is away.

import {
  AckPolicy,
  type Consumer,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream';
import { connect, type MsgHdrs, type NatsConnection, nanos } from '@nats-io/transport-node';
import { reverieError } from '../../core/errors.js';
import type { BrokerTrouble } from './broker-trouble.js';
import { addressText, type QueueAddress } from './queue-url.js';
import { DEFAULT_LEASE_MS, KEPT_SECONDS, PRESENCE_MS, type QueueOptions } from './rollout-queue.js';

const CONSUMER = 'rollouts';
const CONNECT_MS = 10_000;
const RETRY_MS = 500;
/** More workers than this cannot wait at once. */
const MAX_WAITING = 4096;
const WRONG_LAST_SEQUENCE = 10071;
const AWAY = ['TimeoutError', 'NoRespondersError', 'RequestError', 'ConnectionError'];

/** Subjects of one queue. Names of streams and subjects hold nothing that a queue's name may not. */
export class NatsSubjects {
  readonly items: string;
  readonly kept: string;
  readonly workers: string;

  constructor(private readonly name: string) {
    this.items = `REVERIE_${name}_ITEMS`;
    this.kept = `REVERIE_${name}_KEPT`;
    this.workers = `REVERIE_${name}_WORKERS`;
  }

  item(job: string, id: string): string {
    return `reverie.${this.name}.item.${job}.${id}`;
  }

  keep(key: string): string {
    return `reverie.${this.name}.kept.${key}`;
  }

  worker(id: string): string {
    return `reverie.${this.name}.worker.${id}`;
  }
}

export interface NatsParts {
  readonly connection: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
  readonly subjects: NatsSubjects;
  readonly consumer: Consumer;
}

/** @throws QUEUE_UNREACHABLE, also of a server without JetStream */
export async function openNats(address: QueueAddress, options: QueueOptions): Promise<NatsParts> {
  const { host, port, user, password: pass, tls } = address;
  const servers = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  let connection: NatsConnection | undefined;
  try {
    const settings = {
      servers,
      user,
      pass,
      timeout: CONNECT_MS,
      maxReconnectAttempts: -1,
      ...(tls ? { tls: {} } : {}),
    };
    connection = await connect(settings);
    const jsm = await jetstreamManager(connection);
    const js = jetstream(connection);
    const subjects = new NatsSubjects(address.name);
    await makeStreams(jsm, subjects);
    await makeConsumer(jsm, subjects, options.leaseMs);
    const consumer = await js.consumers.get(subjects.items, CONSUMER);
    return { connection, js, jsm, subjects, consumer };
  } catch (error) {
    await connection?.close();
    const { message, name } = error as Error;
    throw reverieError('QUEUE_UNREACHABLE', { url: addressText(address), problem: message || name }, error);
  }
}

async function makeStreams(jsm: JetStreamManager, subjects: NatsSubjects): Promise<void> {
  const kept = { storage: StorageType.File, max_age: nanos(KEPT_SECONDS * 1000), max_msgs_per_subject: 1 };
  await ensured(jsm, {
    ...kept,
    name: subjects.items,
    subjects: [subjects.item('*', '*')],
    retention: RetentionPolicy.Workqueue,
  });
  await ensured(jsm, { ...kept, name: subjects.kept, subjects: [subjects.keep('>')] });
  await ensured(jsm, {
    name: subjects.workers,
    subjects: [subjects.worker('*')],
    storage: StorageType.Memory,
    max_age: nanos(PRESENCE_MS),
    duplicate_window: nanos(PRESENCE_MS),
    max_msgs_per_subject: 1,
  });
}

type StreamSettings = Parameters<JetStreamManager['streams']['add']>[0];

/** Streams that are there stay as they are: an operator may have given them replicas. */
async function ensured(jsm: JetStreamManager, settings: StreamSettings): Promise<void> {
  try {
    await jsm.streams.info(settings.name);
  } catch (error) {
    if (!(error instanceof JetStreamApiError)) throw error;
    await jsm.streams.add(settings);
  }
}

/** The consumer's time for an answer is everybody's lease: who leases nothing leaves it as the workers want it. */
async function makeConsumer(
  jsm: JetStreamManager,
  { items }: NatsSubjects,
  leaseMs: number | undefined,
): Promise<void> {
  if (leaseMs === undefined && (await hasConsumer(jsm, items))) return;
  const settings = { ack_wait: nanos(leaseMs ?? DEFAULT_LEASE_MS), max_deliver: -1, max_ack_pending: -1 };
  await jsm.consumers.add(items, {
    ...settings,
    durable_name: CONSUMER,
    ack_policy: AckPolicy.Explicit,
    max_waiting: MAX_WAITING,
  });
}

async function hasConsumer(jsm: JetStreamManager, items: string): Promise<boolean> {
  try {
    await jsm.consumers.info(items, CONSUMER);
    return true;
  } catch (error) {
    if (!(error instanceof JetStreamApiError)) throw error;
    return false;
  }
}

/** Counts of what waits for workers, what they hold, and how far the stream was handed out. */
export async function consumerCounts({ jsm, subjects }: NatsParts) {
  const { num_pending, num_ack_pending, delivered } = await jsm.consumers.info(subjects.items, CONSUMER);
  return { queued: num_pending, running: num_ack_pending, handedOut: delivered.stream_seq };
}

/** Publishes where the subject's last message is number `last` (0: it has none); false if it is another. */
export async function publishedAfter(
  js: JetStreamClient,
  subject: string,
  last: number,
  { bytes, headers }: { readonly bytes: Uint8Array; readonly headers?: MsgHdrs },
): Promise<boolean> {
  try {
    await js.publish(subject, bytes, { headers, expect: { lastSubjectSequence: last } });
    return true;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === WRONG_LAST_SEQUENCE) return false;
    throw error;
  }
}

/** Takes an item's message off the stream, if it is there still: older servers forget who holds what when they purge. */
export async function removed({ jsm, subjects }: NatsParts, seq: number): Promise<void> {
  try {
    await jsm.streams.deleteMessage(subjects.items, seq, false);
  } catch (error) {
    if (!(error instanceof JetStreamApiError)) throw error;
  }
}

/** Asks again until the server is back. Everything asked of it may be asked twice. */
export async function persistent<T>(
  trouble: BrokerTrouble,
  connection: NatsConnection,
  ask: () => Promise<T>,
): Promise<T> {
  while (true) {
    try {
      const answer = await ask();
      trouble.up();
      return answer;
    } catch (error) {
      if (connection.isClosed() || !AWAY.includes((error as Error).name)) throw error;
      trouble.down(error);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
