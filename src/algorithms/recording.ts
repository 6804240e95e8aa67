// Recording the real environment: one policy lives, everything it lives is kept with where it came from, and what there is
// can be put away at any step and gone on with.

import type { Rng } from '../core/rng.js';
import type { Policy } from '../env/index.js';
import type { ReplayBuffer } from '../replay/index.js';
import type { Collector, EpisodeSummary } from './collector.js';

/** Steps between looks at the clock, the progress bar and Ctrl-C. */
const STRETCH = 250;

/** Everything that must survive a pause. */
export interface Recording {
  readonly collector: Collector;
  readonly policy: Policy;
  /** What the policy draws from. */
  readonly rng: Rng;
  readonly buffer: ReplayBuffer;
  /** Those that ended. */
  readonly episodes: EpisodeSummary[];
}

export interface RecordingPorts {
  readonly signal: AbortSignal;
  /** One event for the journal of metrics. */
  tell(event: { readonly kind: string; readonly [key: string]: unknown }): void;
  /** After every stretch. Keeps the recording where that is due; throws where the run is to end here. */
  checkpoint(recording: Recording): Promise<void>;
}

/** Records until the buffer holds `steps` rows. @throws what environment and policy throw, and what ends a run at a checkpoint */
export async function record(recording: Recording, steps: number, ports: RecordingPorts): Promise<void> {
  const { collector, policy, rng, buffer, episodes } = recording;
  while (buffer.size < steps) {
    const lived = await collector.collect(policy, Math.min(STRETCH, steps - buffer.size), rng, ports.signal);
    buffer.append(lived.batch, lived.provenance);
    for (const episode of lived.episodes) ports.tell({ kind: 'episode', realSteps: buffer.size, ...episode });
    episodes.push(...lived.episodes);
    await ports.checkpoint(recording);
    // Physics answers without waiting: let the bar move and Ctrl-C in.
    await new Promise((resolve) => setImmediate(resolve));
  }
}
