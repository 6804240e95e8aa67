// Between the last signal of a sandbox's thread and its waking of whoever waits for it, the machine may hold the thread: the
// waking then comes while the next answer is waited for. Here it comes all the time.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { LIMITS, readRules, SandboxThread } from '../../../src/env/tools/sandbox/sandbox.js';

const WAKER = `
const { workerData, parentPort } = require('node:worker_threads');
const [signal, stop] = [new Int32Array(workerData.signal), new Int32Array(workerData.stop)];
parentPort.postMessage('awake');
while (Atomics.load(stop, 0) === 0) Atomics.notify(signal, 0);
`;

test('late wakings are not taken for answers', async () => {
  const text = 'export const tools = { count: (state, { n }) => n + 1 };';
  const sandbox = new SandboxThread({ ...readRules(text, 'rules.js'), text, file: 'rules.js', limits: LIMITS });
  const { thread } = sandbox as unknown as { thread: { signal: Int32Array } };
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(WAKER, {
    eval: true,
    workerData: { signal: thread.signal.buffer, stop: stop.buffer },
  });
  try {
    await once(worker, 'message');
    const hold = [{ key: 1, state: {} }];
    for (let n = 0; n < 200; n++) {
      const asked = { request: 'read', name: 'count', args: { n }, state: 1, hold, drop: [] };
      expect(JSON.parse(sandbox.ask(JSON.stringify(asked)))).toMatchObject({ answer: { observation: String(n + 1) } });
    }
  } finally {
    Atomics.store(stop, 0, 1);
    await worker.terminate();
    sandbox.end();
  }
});
