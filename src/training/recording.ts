// Recording the real environment: a policy, or one after another, lives, everything it lives is kept with where it came from, and what there is
// can be put away at any step and gone on with.

import type { Policy } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import type { ReplayBuffer } from '../replay/buffer.js';
import type { Collector, EpisodeSummary } from './collector.js';

/** Steps between looks at the clock, the progress bar and Ctrl-C. */
const STRETCH = 250;

/** Who acts next, and for how many steps at most. */
export interface Stretch {
  readonly policy: Policy;
  readonly steps: number;
}

/** Says who acts, by what was lived so far; asked before every stretch. Same rows, same answer. */
export interface Recorder {
  next(real: ReplayBuffer): Promise<Stretch>;
}

/** One policy to the end. */
export function recorderOf(policy: Policy): Recorder {
  return { next: async () => ({ policy, steps: Number.POSITIVE_INFINITY }) };
}

/** Everything that must survive a pause. */
export interface Recording {
  readonly collector: Collector;
  readonly recorder: Recorder;
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
  const { collector, recorder, rng, buffer, episodes } = recording;
  while (buffer.size < steps) {
    const { policy, steps: most } = await recorder.next(buffer);
    const lived = await collector.collect(policy, Math.min(STRETCH, most, steps - buffer.size), rng, ports.signal);
    buffer.append(lived.batch, lived.provenance);
    for (const episode of lived.episodes) ports.tell({ kind: 'episode', realSteps: buffer.size, ...episode });
    episodes.push(...lived.episodes);
    await ports.checkpoint(recording);
    // Physics answers without waiting: let the bar move and Ctrl-C in.
    await new Promise((resolve) => setImmediate(resolve));
  }
}
