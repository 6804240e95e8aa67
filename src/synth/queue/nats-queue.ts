// The queue on NATS JetStream: items in a work queue that all workers pull from, whose time for an answer is the lease;
// how each ended under a subject of its own, which can be written once.

import { type ConsumerMessages, DeliverPolicy, type JsMsg } from '@nats-io/jetstream';
import { BrokerTrouble } from './broker-trouble.js';
import { type Kept, NatsShelf } from './nats-shelf.js';
import { consumerCounts, type NatsParts, openNats, persistent, publishedAfter, removed } from './nats-streams.js';
import { failureOf, failureText } from './outcome-note.js';
import { addressText, type QueueAddress } from './queue-url.js';
import {
  type Lease,
  type LeaseOptions,
  type LivedRollout,
  MAX_LOST_LEASES,
  type Outcome,
  type QueueOptions,
  type QueueStats,
  type Refusal,
  type RolloutItem,
  type RolloutQueue,
  type WorkerPresence,
} from './rollout-queue.js';

/** The shortest that JetStream waits for a message; so soon a wait that is called off ends. */
const PULL_MS = 1000;
const ENDED = ['succeeded', 'failed', 'cancelled'] as const;
type Ended = (typeof ENDED)[number];

const STATE = 'Label-State';
const NOTE = 'Label-Note';

/** @throws QUEUE_UNREACHABLE */
export async function openNatsQueue(address: QueueAddress, options: QueueOptions): Promise<RolloutQueue> {
  return new NatsQueue(await openNats(address, options), new BrokerTrouble(addressText(address), options.onTrouble));
}

type ItemName = Pick<RolloutItem, 'id' | 'job'>;

interface PlacedItem extends ItemName {
  /** Number of its message in the stream of items. */
  readonly seq: number;
}

class NatsQueue implements RolloutQueue {
  private readonly shelf: NatsShelf;
  /** Job of each item enqueued here. */
  private readonly enqueued = new Map<string, string>();
  private readonly watched = new Map<string, Promise<ConsumerMessages>>();
  private readonly held = new Map<string, JsMsg>();
  private listener: (outcome: Outcome) => void = () => {};

  constructor(
    private readonly parts: NatsParts,
    private readonly trouble: BrokerTrouble,
  ) {
    this.shelf = new NatsShelf(parts);
    void this.tellOfStatus();
  }

  async describe(job: string, description: Uint8Array): Promise<void> {
    await this.ask(() => this.shelf.put(jobKey(job), { bytes: description, labels: {} }));
  }

  async description(job: string): Promise<Uint8Array | undefined> {
    return (await this.ask(() => this.shelf.get(jobKey(job))))?.bytes;
  }

  async enqueue(batch: readonly RolloutItem[]): Promise<void> {
    for (const { id, job } of batch) {
      this.enqueued.set(id, job);
      if (!this.watched.has(job)) this.watched.set(job, this.watch(job));
      await this.watched.get(job);
    }
    await Promise.all(batch.map((item) => this.ask(() => this.enqueueOne(item))));
  }

  private async enqueueOne(item: RolloutItem): Promise<void> {
    const ended = await this.shelf.get(endKey(item));
    if (ended?.labels[STATE] === 'succeeded') return this.tell(item.id, ended);
    if (ended !== undefined) await this.shelf.drop(endKey(item));
    await publishedAfter(this.parts.js, this.subjectOf(item), 0, { bytes: item.payload });
  }

  async cancel(ids: readonly string[]): Promise<readonly string[]> {
    const { handedOut } = await this.ask(() => consumerCounts(this.parts));
    const cancelled = await Promise.all(ids.map((id) => this.cancelOne(id, handedOut)));
    return ids.filter((_, i) => cancelled[i]);
  }

  private async cancelOne(id: string, handedOut: number): Promise<boolean> {
    const job = this.enqueued.get(id);
    if (job === undefined) return false;
    return this.ask(async () => {
      const { jsm, subjects } = this.parts;
      const message = await jsm.streams.getMessage(subjects.items, { last_by_subj: subjects.item(job, id) });
      if (message === null || message.seq <= handedOut) return false;
      return this.end({ id, job, seq: message.seq }, 'cancelled', new Uint8Array(), '');
    });
  }

  onOutcome(listener: (outcome: Outcome) => void): void {
    this.listener = listener;
  }

  async forget(ids: readonly string[]): Promise<void> {
    await Promise.all(
      ids.map(async (id) => {
        const job = this.enqueued.get(id);
        this.enqueued.delete(id);
        if (job !== undefined) await this.ask(() => this.shelf.drop(endKey({ id, job })));
      }),
    );
  }

  async lease(n: number, { waitMs = 0, signal }: LeaseOptions = {}): Promise<readonly Lease[]> {
    const until = Date.now() + waitMs;
    const leases: Lease[] = [];
    do {
      const first = await this.ask(() => this.parts.consumer.next({ expires: PULL_MS }));
      if (first === null) continue;
      leases.push(...(await this.leased(first)));
      const more = Math.min(n - leases.length, first.info.pending);
      if (more > 0) leases.push(...(await this.fetched(more)));
    } while (leases.length === 0 && Date.now() < until && !signal?.aborted && !this.parts.connection.isClosed());
    return leases;
  }

  /** Those that others have not taken first. */
  private async fetched(n: number): Promise<Lease[]> {
    const leases: Lease[] = [];
    const messages = await this.ask(() => this.parts.consumer.fetch({ max_messages: n, expires: PULL_MS }));
    for await (const message of messages) leases.push(...(await this.leased(message)));
    return leases;
  }

  /** Nothing if the item has been lost too often. */
  private async leased(message: JsMsg): Promise<Lease[]> {
    const [job, id] = message.subject.split('.').slice(-2);
    if (message.info.deliveryCount > MAX_LOST_LEASES) {
      const item = { id, job, seq: message.seq };
      await this.ask(() => this.end(item, 'failed', new Uint8Array(), failureText(undefined)));
      message.ack();
      return [];
    }
    const token = `${message.seq}-${message.info.deliveryCount}`;
    this.held.set(token, message);
    return [{ token, item: { id, job, payload: message.data } }];
  }

  /** Whose leases were lost is not told by NATS. */
  async heartbeat(leases: readonly Lease[]): Promise<readonly Lease[]> {
    for (const { token } of leases) this.held.get(token)?.working();
    return [];
  }

  async ack(lease: Lease, { bytes, note }: LivedRollout): Promise<boolean> {
    return this.settle(lease, 'succeeded', bytes, note);
  }

  async nack(lease: Lease, refusal: Refusal): Promise<void> {
    if (refusal.kind === 'failed') {
      await this.settle(lease, 'failed', new Uint8Array(), failureText(refusal));
      return;
    }
    const message = this.settled(lease);
    if (message === undefined) return;
    // In its own place, so that it counts as new; refused if it is not the one that was taken.
    const { subject, seq, data } = message;
    await this.ask(() => publishedAfter(this.parts.js, subject, seq, { bytes: data }));
    message.term();
  }

  private async settle(lease: Lease, state: Ended, bytes: Uint8Array, note: string): Promise<boolean> {
    const message = this.settled(lease);
    if (message === undefined) return false;
    const { item } = lease;
    const isFirst = await this.ask(async () => {
      const { jsm, subjects } = this.parts;
      // Without its item, the rollout has ended or nobody wants it any more.
      const there = await jsm.streams.getMessage(subjects.items, { last_by_subj: message.subject });
      return there !== null && this.end({ ...item, seq: there.seq }, state, bytes, note);
    });
    message.ack();
    return isFirst;
  }

  async announce({ id, slots }: WorkerPresence): Promise<void> {
    const { js, subjects } = this.parts;
    await this.ask(() => js.publish(subjects.worker(id), String(slots)));
  }

  async stats(): Promise<QueueStats> {
    return this.ask(async () => {
      const { jsm, subjects } = this.parts;
      const { queued, running } = await consumerCounts(this.parts);
      const [succeeded, failed, cancelled] = await Promise.all(
        ENDED.map((state) => this.countSubjects(subjects.kept, subjects.keep(`*.*.mark.${state}`))),
      );
      const workers = (await jsm.streams.info(subjects.workers)).state.messages;
      return { queued, running, succeeded, failed, cancelled, workers };
    });
  }

  async close(): Promise<void> {
    this.trouble.end();
    if (!this.parts.connection.isClosed()) await this.parts.connection.flush().catch(() => {});
    await this.parts.connection.close();
  }

  private async countSubjects(stream: string, filter: string): Promise<number> {
    const { state } = await this.parts.jsm.streams.info(stream, { subjects_filter: filter });
    return Object.keys(state.subjects ?? {}).length;
  }

  /** Writes down how an item ended, and takes it off the line; false if it had ended before. */
  private async end(item: PlacedItem, state: Ended, bytes: Uint8Array, note: string): Promise<boolean> {
    const { js, subjects } = this.parts;
    const isFirst = await this.shelf.put(endKey(item), { bytes, labels: { [STATE]: state, [NOTE]: note } });
    if (isFirst) await js.publish(subjects.keep(`${endKey(item)}.mark.${state}`));
    await removed(this.parts, item.seq);
    return isFirst;
  }

  /** Told from now on how items of a job ended. */
  private async watch(job: string): Promise<ConsumerMessages> {
    const { js, subjects } = this.parts;
    const filter = subjects.keep(`${job}.*.head`);
    const consumer = await js.consumers.get(subjects.kept, {
      filter_subjects: filter,
      deliver_policy: DeliverPolicy.New,
    });
    return consumer.consume({ callback: (message) => void this.toldOf(message) });
  }

  private async toldOf(message: JsMsg): Promise<void> {
    const id = message.subject.split('.').at(-2)!;
    if (!this.enqueued.has(id)) return;
    try {
      const key = endKey({ id, job: this.enqueued.get(id)! });
      this.tell(id, await this.ask(() => this.shelf.read(key, message)));
    } catch (error) {
      this.trouble.down(error);
    }
  }

  private tell(id: string, { bytes, labels }: Kept): void {
    const { [STATE]: state, [NOTE]: note = '' } = labels;
    if (state === 'succeeded') this.listener({ id, state, result: { bytes, note } });
    if (state === 'failed') this.listener(failureOf(id, note));
  }

  private settled({ token }: Lease): JsMsg | undefined {
    const message = this.held.get(token);
    this.held.delete(token);
    return message;
  }

  private subjectOf({ id, job }: ItemName): string {
    return this.parts.subjects.item(job, id);
  }

  private ask<T>(question: () => Promise<T>): Promise<T> {
    return persistent(this.trouble, this.parts.connection, question);
  }

  private async tellOfStatus(): Promise<void> {
    for await (const { type } of this.parts.connection.status()) {
      if (type === 'disconnect') this.trouble.down('disconnected');
      if (type === 'reconnect') this.trouble.up();
    }
  }
}

function jobKey(job: string): string {
  return `${job}.description`;
}

function endKey({ id, job }: ItemName): string {
  return `${job}.${id}`;
}
