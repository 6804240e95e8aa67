// A Gaussian linear policy that needs no network, and can be told to misbehave.
// Payload: { obsDim, actionDim, gain, std, withLogProb, fault?: { kind, counter: Int32Array over shared memory } }.
// A fault happens as often as its shared counter says, whichever thread comes first.

export async function loadPolicy(payload) {
  if (payload.fault?.kind === 'load') throw new Error('this policy does not load');
  return { version: payload.version ?? 'linear', act: (...args) => act(payload, ...args) };
}

async function act(payload, obs, rows, rng, options = {}) {
  const { obsDim, actionDim, gain = 0.5, std = 0.3, withLogProb = true } = payload;
  await misbehave(payload.fault);
  const eps = rng.fillNormal(new Float32Array(rows * actionDim));
  const action = new Float32Array(rows * actionDim);
  const logProb = new Float32Array(rows);
  for (let i = 0; i < action.length; i++) {
    const row = Math.floor(i / actionDim);
    const noise = options.deterministic ? 0 : std * eps[i];
    action[i] = Math.tanh(-gain * obs[row * obsDim + ((i % actionDim) % obsDim)] + noise);
    logProb[row] -= 0.5 * eps[i] ** 2;
  }
  return withLogProb ? { action, logProb } : { action };
}

async function misbehave(fault) {
  if (!fault || Atomics.sub(fault.counter, 0, 1) <= 0) return;
  if (fault.kind === 'memory') {
    const hoard = [];
    for (;;) hoard.push(new Array(100_000).fill(hoard.length));
  }
}
