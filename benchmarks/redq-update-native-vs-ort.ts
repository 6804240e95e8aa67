// Gradient steps of ensembles of critics by vector code (`--device native`) against the same steps on ONNX Runtime, which took them
// before: rows are given, noise, members and dropout are drawn on both sides. A step is one of all critics; that of the policy comes
// once in twenty. The value is that of REDQ's defaults with HalfCheetah's spaces; beside it are layers of 256, DroQ, and TD3+BC by its
// own defaults.

import type { BenchmarkContext, Measurement } from './benchmark.js';
import { type UpdateShape, updates } from './learner-updates.js';
import { measurePaired, ratioInterval } from './measure.js';

const HALF_CHEETAH = { obsDim: 17, actionDim: 6 };
const SMALL: UpdateShape = { ...HALF_CHEETAH, hidden: [64, 64], batchSize: 64, steps: 40 };
const LARGE: UpdateShape = { ...HALF_CHEETAH, hidden: [256, 256], batchSize: 256, steps: 20 };

const CASES = {
  redq: { learner: 'redq', shape: SMALL },
  'redq, 256': { learner: 'redq', shape: LARGE },
  droq: { learner: 'droq', shape: SMALL },
  'droq, 256': { learner: 'droq', shape: LARGE },
  'td3-bc': { learner: 'td3-bc', shape: LARGE },
};

export async function run({ quick, log }: BenchmarkContext): Promise<Measurement> {
  const rounds = quick ? 2 : 11;
  const ratios: Record<string, ReturnType<typeof ratioInterval>> = {};
  const raw: Record<string, unknown> = {};
  for (const [name, { learner, shape }] of Object.entries(CASES)) {
    const [native, runtime] = [await updates(learner, 'native', shape), await updates(learner, 'cpu', shape)];
    log(name);
    const rates = await measurePaired({ rounds, ours: native.rate, baseline: runtime.rate, log });
    ratios[name] = ratioInterval(rates);
    raw[name] = { ratio: ratios[name], stepsPerSecond: rates.ours, runtimeStepsPerSecond: rates.baseline };
    await Promise.all([native.close(), runtime.close()]);
  }
  return { ...ratios['redq'], n: rounds, raw };
}
