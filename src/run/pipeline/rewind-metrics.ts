// Brings a run's metrics journal back to the round its checkpoint was made at, so that a resumed run tells nothing twice.

import { readFileSync } from 'node:fs';
import type { MetricsEvent, MetricsWriter } from '../metrics.js';

/** Drops every event from the first one of round `round` or later. */
export function rewindMetrics(metrics: MetricsWriter, round: number): void {
  let bytes = 0;
  let wallSeconds = 0;
  for (const line of readFileSync(metrics.file, 'utf8').split('\n').slice(0, -1)) {
    const event = JSON.parse(line) as MetricsEvent;
    // An evaluation after round n carries n + 1: the counter of rounds that are over.
    if ((event.round ?? 0) > round || (event.round === round && event.kind !== 'eval')) break;
    bytes += Buffer.byteLength(line) + 1;
    wallSeconds = event.wallSeconds;
  }
  metrics.rewind({ bytes, wallSeconds });
}
