// Environments whose actions can kill the thread they live in: 13 ends it, 14 never returns, 15 takes all memory.
// The observation is [sum of actions, steps].

const space = { type: 'box', shape: [1], low: [null], high: [null] };
const observationSpace = { type: 'box', shape: [2], low: [null, null], high: [null, null] };

class Perilous {
  family = 'vector';
  id = 'perilous';
  observationSpace = observationSpace;
  actionSpace = space;
  sum = 0;
  steps = 0;

  get row() {
    return Float32Array.of(this.sum, this.steps);
  }

  reset({ seed } = {}) {
    if (seed !== undefined) this.sum = seed;
    this.steps = 0;
    return { observation: this.row, info: {} };
  }

  step([action]) {
    if (action === 13) process.exit(1);
    while (action === 14);
    if (action === 15) for (const hoard = []; ; ) hoard.push(new Array(1e5).fill(Math.random()));
    this.sum += action;
    this.steps++;
    return { observation: this.row, reward: action, terminated: false, truncated: false, info: {} };
  }

  snapshot() {
    return { env: this.id, state: [this.sum, this.steps] };
  }

  restore({ state }) {
    [this.sum, this.steps] = state;
    return this.row;
  }

  close() {}
}

export async function environmentMaker() {
  return { make: async () => new Perilous(), close: async () => {} };
}
