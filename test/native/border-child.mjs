// Run by border.test.ts with a libcuda for tests in the loader's way: steps an ensemble by the driver and by the emulation, and
// rolls it out, and tells what came of it as JSON. Arguments: the addon, a file in the form of compiled kernels.

import { createRequire } from 'node:module';
import { argv, stdout } from 'node:process';

const addon = createRequire(import.meta.url)(argv[2]);
const ROWS = 200;
const filled = (length, value) => new Float32Array(length).fill(value);
const layer = (width, out) => ({ in: width, out, w: filled(width * out, 0.05), b: filled(out, 0.01) });
const elite = (hidden) => ({
  layers: [layer(3, hidden), layer(hidden, hidden), layer(hidden, 6)],
  logVarMin: filled(3, -5),
  logVarMax: filled(3, 0.5),
});
const weights = {
  ...{ obsDim: 2, actionDim: 1, actionChoices: 0, actionStart: 0, learnsReward: true, learnsTermination: false },
  elites: [elite(208), elite(208)],
  ...{ inputMean: filled(3, 0), inputScale: filled(3, 1), targetMean: filled(3, 0), targetScale: filled(3, 1) },
  ...{ low: filled(2, -Infinity), high: filled(2, Infinity) },
};

const policy = {
  ...{ head: 'squashed', activation: 'relu', layers: [layer(2, 8), layer(8, 2)], logStd: filled(0, 0) },
  ...{ scale: filled(1, 1), bias: filled(1, 0), low: filled(1, -1), high: filled(1, 1), choices: 0, start: 0 },
};
const rollout = {
  ...{
    branches: 40,
    starts: filled(80, 0.2),
    horizon: 2,
    policy,
    isPolicyDeterministic: false,
    knownReward: '',
    knownEnds: '',
  },
  ...{ isTs1: true, isDeterministic: false, withDisagreement: false, disagreementLimit: Infinity, dropsDoubted: false },
  ...{ actStreams: Uint32Array.of(1, 2, 0, 0, 3, 4, 0, 0), modelStreams: Uint32Array.of(5, 6, 0, 0, 7, 8, 0, 0) },
};

async function stepped(kind, precision) {
  const { handle, device } = await addon.makeEnsemble({ kind, ordinal: 0, fatbin: argv[3] }, weights, precision);
  const answer = { nextObs: filled(2 * ROWS, 0), reward: filled(ROWS, 0) };
  const request = {
    ...{ rows: ROWS, obs: filled(2 * ROWS, 0.3), action: filled(ROWS, 0.1), hasStreamPerRow: false },
    ...{ streams: Uint32Array.of(1, 2, 0, 0), isTs1: true, isDeterministic: false, withDisagreement: false },
  };
  await Promise.all([1, 2, 3].map(() => addon.step(handle, request, answer)));
  const lived = await addon.rollout(handle, rollout);
  await addon.close(handle);
  return { device: device.name, numbers: [...answer.nextObs, ...answer.reward], lived: [...lived.nextObs] };
}

const failure = ({ kind, driverCode, message }) => ({ kind, driverCode, message });
const told = { probe: await addon.probe(), steps: {} };
for (const precision of ['fp32', 'tf32']) {
  told.steps[precision] = await stepped('cuda', precision).catch(failure);
}
told.emulated = await stepped('emulated', 'tf32').catch(failure);
stdout.write(JSON.stringify(told));
