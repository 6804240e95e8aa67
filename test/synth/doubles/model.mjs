// A world model that needs no network: damped, pushed by the action, with noise; analytic, so that a test can predict it.
// Payload: { obsDim, actionDim, noise, terminateAbove, disagreementScale, nanAfter, busyMs, weights: Float32Array [obsDim] }.

const box = (dim) => ({ type: 'box', shape: [dim], low: new Array(dim).fill(null), high: new Array(dim).fill(null) });

export async function loadWorldModel({ backend, modelVersion, payload }) {
  return new AnalyticModel(backend, modelVersion, payload);
}

class AnalyticModel {
  constructor(backend, modelVersion, payload) {
    if (!(payload.weights instanceof Float32Array)) throw new Error('weights did not arrive as Float32Array');
    if (payload.weights.buffer instanceof SharedArrayBuffer) throw new Error('weights arrived in shared memory');
    Object.assign(this, { backend, modelVersion, payload });
    this.observationSpace = box(payload.obsDim);
    this.actionSpace = box(payload.actionDim);
  }

  begin(obs) {
    return { rows: obs.length / this.payload.obsDim, obs };
  }

  follow(_carry, _action, seen) {
    return this.begin(seen);
  }

  pick({ obs }, rows) {
    const { obsDim } = this.payload;
    return this.begin(
      Float32Array.from([...rows].flatMap((row) => [...obs.subarray(row * obsDim, (row + 1) * obsDim)])),
    );
  }

  join(carries) {
    return this.begin(Float32Array.from(carries.flatMap(({ obs }) => [...obs])));
  }

  freeze({ obs }) {
    return { version: this.modelVersion, state: [...obs] };
  }

  revive({ state }) {
    return this.begin(Float32Array.from(state));
  }

  async imagine({ obs, rows }, action, rng, options = {}) {
    const {
      obsDim,
      actionDim,
      noise = 0,
      terminateAbove = Infinity,
      disagreementScale,
      nanAfter,
      busyMs,
      weights,
    } = this.payload;
    const eps = rng.fillNormal(new Float32Array(rows * obsDim));
    const nextObs = new Float32Array(rows * obsDim);
    const reward = new Float32Array(rows);
    const terminated = new Uint8Array(rows);
    for (let row = 0; row < rows; row++) {
      for (let k = 0; k < obsDim; k++) {
        const push = action[row * actionDim + (k % actionDim)];
        const sampled = options.deterministic ? 0 : noise * eps[row * obsDim + k];
        nextObs[row * obsDim + k] = 0.9 * obs[row * obsDim + k] + weights[k] * push + sampled;
        reward[row] -= nextObs[row * obsDim + k] ** 2;
      }
      terminated[row] = nextObs[row * obsDim] > terminateAbove ? 1 : 0;
      if (nanAfter !== undefined && nextObs[row * obsDim] > nanAfter) nextObs[row * obsDim] = Number.NaN;
    }
    if (busyMs) for (const end = performance.now() + busyMs; performance.now() < end; );
    const imagined = { carry: { rows, obs: nextObs }, observation: nextObs, reward, terminated };
    if (!options.disagreement || disagreementScale === undefined) return imagined;
    const disagreement = Float32Array.from(
      { length: rows },
      (_, row) => disagreementScale * Math.abs(nextObs[row * obsDim + 1]),
    );
    return { ...imagined, disagreement };
  }

  async close() {}
}
