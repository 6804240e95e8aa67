// `reverie fit`: a world model from recorded transitions.

import { join } from 'node:path';
import { reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { makeEnvironment } from '../../env/index.js';
import { dynamicsKinds } from '../../worldmodel/index.js';
import { type FitResult, interrupted, type JobContext } from '../job.js';
import { recordsOf, removeWorkFolder, resolvedSpec, workFolder } from './given-parts.js';
import { findInput, requireInput } from './inputs.js';

export async function fitJob(context: JobContext): Promise<FitResult> {
  const { config, folder } = context.scenario;
  const kind = await dynamicsKinds.get(config.model.kind).make();
  if (kind.fit === undefined) {
    const problem = `model.kind is "${config.model.kind}", which is brought and not learned from records.`;
    throw reverieError('SCENARIO_INVALID', { path: config.name, problem });
  }
  const env = await makeEnvironment(config.env, { folder });
  const onDisk = workFolder(context, 'data');
  const real = await recordsOf(env, requireInput(context.inputs, 'data'), { onDisk });
  const earlier = findInput(context.inputs, 'model');
  const previous = earlier === undefined ? undefined : await kind.load(earlier, {});
  const phase = context.progress.phase('fit model', null, 'epochs');
  try {
    const {
      model,
      report,
      heldOut: judge,
    } = await kind.fit({
      ...{ section: config.model, data: real, spaces: env },
      rng: Rng.fromSeed(context.seed).split('fit'),
      workers: context.workers,
      previous,
      scratch: workFolder(context, 'prepared'),
      known: env.known,
      env: resolvedSpec(context.scenario),
      signal: context.signal,
      onProgress: ({ epochs, holdoutError }) => phase.set(epochs, `error ${holdoutError.toFixed(4)}`),
    });
    phase.end(`error ${report.holdoutError.toFixed(4)}`);
    const target = join(context.out, 'model');
    await model.save(target);
    await model.close();
    const heldOut = judge?.();
    const { epochs, holdoutError } = report;
    context.metrics.write({ kind: 'fit', modelVersion: model.modelVersion, epochs, holdoutError, ...heldOut });
    return {
      job: 'fit',
      wallSeconds: context.metrics.wallSeconds,
      model: target,
      modelVersion: model.modelVersion,
      transitions: real.size,
      epochs,
      holdoutError,
      heldOut,
    };
  } catch (error) {
    if (context.signal.aborted) interrupted();
    throw error;
  } finally {
    real.close();
    removeWorkFolder(context);
    await env.close();
    await previous?.close();
  }
}
