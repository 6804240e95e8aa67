// What the learned dynamics and the learner of a job on numbers can be computed on.

import { makeEnvironment } from '../env/make-environment.js';
import type { DeviceFit, Precision } from '../nn/cuda-addon.js';
import { learners } from '../rl/learners.js';
import { dynamicsKinds, folderDeviceFit, sectionDeviceFit } from '../worldmodel/kinds.js';
import type { DeviceNeeds } from './device-choice.js';
import type { JobInputs } from './job.js';
import { resolvedSpec } from './pipeline/given-parts.js';
import { findInput } from './pipeline/inputs.js';
import type { Scenario } from './scenario.js';

/** Undefined where the job computes with no network that a device is for. */
export function dreamDevice(job: string, scenario: Scenario, inputs: JobInputs): DeviceNeeds | undefined {
  const { train, rl, model } = scenario.config;
  if (job === 'fit') return { trains: dynamicsKinds.get(model.kind).fitsNatively === true };
  if (job !== 'synth' && job !== 'train') return undefined;
  const dreams = (precision: Precision) => modelFit(job, scenario, inputs, precision);
  if (job === 'synth') return { dreams, trains: false };
  const trains = learners.get(rl.algorithm).trainsNatively === true;
  return { ...(train.mode === 'dream' && { dreams }), trains };
}

async function modelFit(job: string, scenario: Scenario, inputs: JobInputs, precision: Precision): Promise<DeviceFit> {
  const { model } = scenario.config;
  if (job === 'synth') {
    const folder = findInput(inputs, 'model');
    return folder === undefined ? { precision } : folderDeviceFit(folder, precision);
  }
  const env = await makeEnvironment(resolvedSpec(scenario));
  try {
    return await sectionDeviceFit(model, env, precision);
  } finally {
    await env.close();
  }
}
