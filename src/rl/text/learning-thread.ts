// Gradient steps in a thread of their own, so that a policy acts in the calling thread meanwhile: ONNX Runtime computes in the thread
// that asks it. Graph and feeds are what they would be here, and so are the bytes that come of them.

import { sha256 } from '../../core/hash.js';
import { InferenceSession, type OpenSession, type Tensor } from '../../nn/index.js';
import { moved, poolTask, shareBytes, unshareBytes, WorkerPool } from '../../pool/index.js';

interface GraphRun {
  /** Names the graph: a thread keeps the session of the last one. */
  readonly key: string;
  readonly origin: string;
  /** In shared memory, as it goes with every run: a thread that died is replaced by one that knows nothing. */
  readonly model: Uint8Array;
  readonly feeds: Readonly<Record<string, Tensor>>;
}

let kept: { readonly key: string; readonly session: InferenceSession } | undefined;

export const graphRun = poolTask(import.meta.url, 'graphRun', async ({ key, origin, model, feeds }: GraphRun) => {
  if (kept?.key !== key) {
    await kept?.session.release();
    kept = { key, session: await InferenceSession.fromBytes(unshareBytes(model), {}, origin) };
  }
  return moved(await kept.session.run(feeds));
});

/** One thread, for one learner. */
export class LearningThread {
  private readonly pool = new WorkerPool({ workers: 1 });

  /** What is opened runs in the thread. @throws what sessions throw, at the first run; WORKER_LOST where threads keep dying */
  readonly open: OpenSession = async (model, origin) => {
    const [key, shared] = [sha256(model), shareBytes(model)];
    return {
      run: (feeds) => this.pool.run(graphRun, () => ({ key, origin, model: shared, feeds }), { label: origin }),
      // With the thread.
      release: async () => {},
    };
  };

  close(): Promise<void> {
    return this.pool.close();
  }
}
