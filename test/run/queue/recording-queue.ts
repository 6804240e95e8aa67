// A queue in this process that keeps every byte that passed over it.

import { gunzipSync } from 'node:zlib';
import type { Lease, Refusal, RolloutItem, RolloutResultBytes } from '../../../src/synth/queue/rollout-queue.js';
import { InProcessBroker, InProcessQueue } from '../../synth/queue/in-process-queue.js';

export class RecordingQueue extends InProcessQueue {
  readonly texts: string[] = [];
  readonly refusals: Refusal[] = [];

  constructor(broker = new InProcessBroker(), leaseMs = 60_000) {
    super(broker, { leaseMs });
  }

  override async describe(job: string, description: Uint8Array): Promise<void> {
    this.keep(description);
    return super.describe(job, description);
  }

  override async enqueue(batch: readonly RolloutItem[]): Promise<void> {
    for (const { payload } of batch) this.keep(payload);
    return super.enqueue(batch);
  }

  override async ack(lease: Lease, result: RolloutResultBytes): Promise<boolean> {
    this.keep(result.bytes);
    this.texts.push(result.note);
    return super.ack(lease, result);
  }

  override async nack(lease: Lease, refusal: Refusal): Promise<void> {
    this.refusals.push(refusal);
    this.texts.push(JSON.stringify(refusal));
    return super.nack(lease, refusal);
  }

  private keep(bytes: Uint8Array): void {
    this.texts.push(gunzipSync(bytes).toString());
  }
}
