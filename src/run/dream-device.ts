// What the learned dynamics of a job on numbers can be computed on.

import { makeEnvironment } from '../env/index.js';
import type { DeviceFit, Precision } from '../nn/index.js';
import { folderDeviceFit, sectionDeviceFit } from '../worldmodel/index.js';
import type { DreamFit } from './device-choice.js';
import type { JobInputs } from './job.js';
import { resolvedSpec } from './pipeline/given-parts.js';
import { findInput } from './pipeline/inputs.js';
import type { Scenario } from './scenario.js';

/** Undefined where the job lives no rollouts in learned dynamics. */
export function dreamDevice(job: string, scenario: Scenario, inputs: JobInputs): DreamFit | undefined {
  const dreams = job === 'synth' || (job === 'train' && scenario.config.train.mode === 'dream');
  return dreams ? (precision) => modelFit(job, scenario, inputs, precision) : undefined;
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
