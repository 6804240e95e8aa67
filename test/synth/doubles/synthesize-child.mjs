// A job in a process of its own, to be killed. Arguments: journal folder, workers. Says on standard output, unbuffered:
// `found N` chunks, `ack N` for each new durable chunk, and at the end `bytes DIGEST` of the whole result.

import { createHash } from 'node:crypto';
import { writeSync } from 'node:fs';
import { Rng } from '../../../dist/core/rng.js';
import { RolloutPool } from '../../../dist/synth/rollout/pool.js';
import { synthesize } from '../../../dist/synth/synthesize.js';

const [folder, workers] = process.argv.slice(2);
const say = (line) => writeSync(1, `${line}\n`);
const rows = 300;
const starts = Rng.fromSeed(3).fillNormal(new Float32Array(rows * 3));
const double = (name) => new URL(`./${name}.mjs`, import.meta.url).href;
const dims = { obsDim: 3, actionDim: 2 };
const weights = Float32Array.from([0.4, -0.2, 0.1]);
const pool = new RolloutPool({ workers: Number(workers), modelLoader: double('model') });

const request = {
  pool,
  journal: folder,
  model: {
    backend: 'analytic',
    modelVersion: 'm1',
    payload: { ...dims, weights, noise: 0.3, terminateAbove: 3, busyMs: 0.5 },
  },
  policy: { version: 'p1', loader: double('policy'), payload: dims },
  starts,
  startIds: Float64Array.from({ length: rows }, (_, row) => row),
  horizon: 10,
  chunkSize: 8,
  rng: Rng.fromSeed(42),
};

let found = 0;
const { batch, provenance } = await synthesize(request, {
  onResume: ({ chunks }) => {
    found = chunks;
    say(`found ${chunks}`);
  },
  onProgress: ({ chunksDone }) => {
    if (chunksDone > found) say(`ack ${chunksDone}`);
  },
});
await pool.close();
const hash = createHash('sha256');
for (const column of [...Object.values(batch), ...Object.values(provenance)]) {
  if (ArrayBuffer.isView(column)) hash.update(new Uint8Array(column.buffer, column.byteOffset, column.byteLength));
}
say(`bytes ${hash.digest('hex')}`);
