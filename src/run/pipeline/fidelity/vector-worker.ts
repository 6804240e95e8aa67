// The thread's side of judging: opens truth and models once, then measures the chunks it is asked for.

import { packError } from '../../../core/errors.js';
import type { FidelitySetup, OpenedSubjects } from '../../../fidelity/index.js';
import { openVectorSubjects } from '../../../fidelity/index.js';
import type { Scenario } from '../../../kinds/index.js';
import { vectorHost } from './vector-host.js';
import type { ChunkOutcome, ChunkTask } from './vector-threads.js';

/** Of the setup that this thread was first asked for: a pool has but one. */
let opened: Promise<OpenedSubjects> | undefined;

export default async function measure({ setup, address, stop }: ChunkTask): Promise<ChunkOutcome> {
  try {
    if (Atomics.load(stop, 0) === 1) return { kind: 'stopped' };
    const { subjects } = await opening(setup);
    const { instruments } = subjects[address.subject];
    const instrument = instruments.find(({ id }) => id === address.instrument)!;
    return { kind: 'done', rows: await instrument.measure(address.chunk) };
  } catch (error) {
    return { kind: 'failed', error: packError(error) };
  }
}

function opening(setup: FidelitySetup<Scenario>): Promise<OpenedSubjects> {
  opened ??= openVectorSubjects(setup, vectorHost);
  return opened;
}
