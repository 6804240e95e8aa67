import { Rng } from '../../src/core/rng.js';
import { fitEnsemble } from '../../src/worldmodel/ensemble/fit.js';
import { OnnxDynamics } from '../../src/worldmodel/onnx/onnx-dynamics.js';
import { temporaryFolder } from '../temporary-folder.js';
import { worldModelContract } from './contract.js';
import { linearSpaces, linearTransitions, smallConfig } from './linear-system.js';
import { writeOwn } from './own-dynamics.js';

const brief = { ...smallConfig, hidden: [16, 16], maxEpochs: 3 };

worldModelContract('an ensemble', {
  make: async () => {
    const data = linearTransitions(600, Rng.fromSeed(1));
    return (await fitEnsemble(data, linearSpaces, brief, { rng: Rng.fromSeed(2) })).model;
  },
  inputs: (rows) => linearTransitions(rows, Rng.fromSeed(3)),
  givesDisagreement: true,
});

worldModelContract('an ensemble with discrete actions, bounded observations and a learned end', {
  make: async () => {
    const spaces = {
      observationSpace: { type: 'box', shape: [2], low: [-1, null], high: [1, null] },
      actionSpace: { type: 'discrete', n: 3, start: 1 },
    } as const;
    const data = linearTransitions(600, Rng.fromSeed(1), { edge: 1 });
    data.action.forEach((value, r) => {
      data.action[r] = 2 + Math.round(value);
    });
    return (await fitEnsemble(data, spaces, { ...brief, learnTermination: true }, { rng: Rng.fromSeed(2) })).model;
  },
  inputs: (rows) => {
    const { obs } = linearTransitions(rows, Rng.fromSeed(3));
    return { obs, action: Float32Array.from({ length: rows }, (_, r) => 1 + (r % 3)) };
  },
  givesDisagreement: true,
});

worldModelContract('ONNX dynamics of a user', {
  make: async () => OnnxDynamics.load(await writeOwn(temporaryFolder('own'))),
  inputs: (rows) => {
    const rng = Rng.fromSeed(4);
    return {
      obs: rng.fillNormal(new Float32Array(3 * rows)),
      action: rng.fillUniform(new Float32Array(2 * rows), -1, 1),
    };
  },
  givesDisagreement: false,
});
