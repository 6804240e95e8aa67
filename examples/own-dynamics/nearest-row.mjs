// Dynamics from outside: what follows is what followed the most similar row that was recorded. No network, nothing to train.

import { createHash } from 'node:crypto';
import { definePlugin, MemorylessDynamics, readManifest, readModelPart, writeModelFolder, z } from 'reverie/extend';

const FORMAT = 'example-nearest-row';

class NearestRow extends MemorylessDynamics {
  /** @param rows [count, 2 obsDim + actionDim + 2]: observation, action, what followed, reward, end */
  constructor(rows, spaces) {
    super('nearest-row', createHash('sha256').update(Buffer.from(rows.buffer)).digest('hex').slice(0, 32), spaces);
    this.rows = rows;
  }

  async predict({ obs, action, rows, options }) {
    const { obsDim, actionDim } = this.shape;
    const width = 2 * obsDim + actionDim + 2;
    const [nextObs, reward, terminated] = [new Float32Array(rows * obsDim), new Float32Array(rows), new Uint8Array(rows)];
    const disagreement = options.disagreement ? new Float32Array(rows) : undefined;
    for (let r = 0; r < rows; r++) {
      const asked = [...obs.subarray(r * obsDim, (r + 1) * obsDim), ...action.subarray(r * actionDim, (r + 1) * actionDim)];
      let [best, nearest] = [0, Number.POSITIVE_INFINITY];
      for (let at = 0; at < this.rows.length; at += width) {
        const distance = asked.reduce((sum, value, k) => sum + (value - this.rows[at + k]) ** 2, 0);
        if (distance < nearest) [best, nearest] = [at, distance];
      }
      const found = best + asked.length;
      nextObs.set(this.rows.subarray(found, found + obsDim), r * obsDim);
      reward[r] = this.rows[found + obsDim];
      terminated[r] = this.rows[found + obsDim + 1];
      if (disagreement) disagreement[r] = Math.sqrt(nearest);
    }
    return { nextObs, reward, terminated, disagreement };
  }

  haveExactRows = async () => true;

  snapshot() {
    return { backend: this.backend, modelVersion: this.modelVersion, payload: { rows: this.rows, spaces: spacesOf(this) } };
  }

  async save(folder) {
    const manifest = { format: FORMAT, formatVersion: 1, modelVersion: this.modelVersion, spaces: spacesOf(this) };
    await writeModelFolder(folder, manifest, { 'rows.f32': new Uint8Array(this.rows.buffer) });
  }

  async close() {}
}

const spacesOf = ({ observationSpace, actionSpace }) => ({ observationSpace, actionSpace });
async function fit({ data, spaces, section }) {
  const { rows: count, obs, action, nextObs, reward, terminated } = data.rows();
  const [obsDim, actionDim] = [obs.length / count, action.length / count];
  const kept = Array.from({ length: Math.min(count, section.maxRows) }, (_, i) => count - 1 - i).flatMap((i) => [
    ...obs.subarray(i * obsDim, (i + 1) * obsDim),
    ...action.subarray(i * actionDim, (i + 1) * actionDim),
    ...nextObs.subarray(i * obsDim, (i + 1) * obsDim),
    ...[reward[i], terminated[i]],
  ]);
  return { model: new NearestRow(Float32Array.from(kept), spacesOf(spaces)), report: { epochs: 1, holdoutError: 0 } };
}

const kind = {
  fit,
  revive: async ({ payload }) => new NearestRow(payload.rows, payload.spaces),
  load: async (folder) => {
    const { spaces, files } = await readManifest(folder);
    const bytes = await readModelPart(folder, 'rows.f32', files['rows.f32']);
    return new NearestRow(new Float32Array(Uint8Array.from(bytes).buffer), spaces);
  },
};

const schema = z.strictObject({
  kind: z.literal('nearest-row').describe('The most similar row that was recorded.'),
  maxRows: z.int().min(1).default(2000).describe('Newest rows that are kept.'),
});

const summary = 'What followed the most similar row that was recorded.';
export default definePlugin({ dynamics: [{ name: 'nearest-row', summary, format: FORMAT, schema, make: async () => kind }] });
