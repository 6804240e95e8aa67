// `reverie fit`: a world model from recorded transitions.

import { join } from 'node:path';
import { reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { makeEnvironment } from '../../env/make-environment.js';
import type { FitNote } from '../../worldmodel/dynamics.js';
import { dynamicsKinds } from '../../worldmodel/kinds.js';
import { deviceText, fitWorkers, trainingDevice } from '../device.js';
import { digest, vectorSet } from '../evaluation-set.js';
import type { FitResult, JobContext } from '../job.js';
import { writeReport } from '../report-page.js';
import { type FitEpoch, fitReport } from './fit-report.js';
import { judgeFit } from './fit-verdict.js';
import { findInput, recordsOf, requireInput, resolvedSpec } from './inputs.js';

export async function fitJob(context: JobContext): Promise<FitResult> {
  const { scenario, inputs, metrics, out } = context;
  const { config, folder } = scenario;
  const kind = await dynamicsKinds.get(config.model.kind).make();
  if (kind.fit === undefined) {
    const problem = `model.kind is "${config.model.kind}", which is brought and not learned from records.`;
    throw reverieError('SCENARIO_INVALID', { path: config.name, problem });
  }
  const learner = `${config.model.kind}@${digest(config.model)}`;
  const panel = await vectorSet(context, { policies: { learner }, given: ['data', 'model'] });
  const env = await makeEnvironment(config.env, { folder });
  const data = requireInput(inputs, 'data');
  const real = await recordsOf(env, data);
  const earlier = findInput(inputs, 'model');
  const previous = earlier === undefined ? undefined : await kind.load(earlier, {});
  const phase = context.progress.phase('fit model', null, 'epochs');
  const epochs: FitEpoch[] = [];
  const onProgress = ({ epochs: done, holdoutError, member, epoch }: FitNote) => {
    phase.set(done, `error ${holdoutError.toFixed(4)}`);
    if (member === undefined || epoch === undefined) return;
    epochs.push({ member, epoch, holdoutError });
    metrics.write({ kind: 'epoch', member, epoch, holdoutError });
  };
  const asked = {
    ...{ section: config.model, data: real, spaces: env },
    rng: Rng.fromSeed(context.seed).split('fit'),
    workers: fitWorkers(context),
    device: trainingDevice(context.device),
    known: env.known,
    env: resolvedSpec(scenario),
    signal: context.signal,
  };
  try {
    const fitted = await kind.fit({ ...asked, previous, onProgress });
    phase.end(`error ${fitted.report.holdoutError.toFixed(4)}`);
    const model = join(out, 'model');
    await fitted.model.save(model);
    const heldOut = fitted.heldOut?.();
    const verdict =
      heldOut &&
      (await judgeFit({
        ...asked,
        ...{ fitted, heldOut, real, paths: { scenario: config.name, model, data } },
        refit: (changed) => kind.fit!({ ...asked, ...changed }),
      }));
    await fitted.model.close();
    const { modelVersion } = fitted.model;
    metrics.write({ kind: 'fit', modelVersion, ...fitted.report, ...heldOut, verdict });
    const { epochs: count, holdoutError, rewardError } = fitted.report;
    const result: FitResult = {
      ...{ job: 'fit', wallSeconds: metrics.wallSeconds, model, modelVersion, device: deviceText(context.device) },
      ...{ transitions: real.size, epochs: count, holdoutError, rewardError, heldOut, verdict, panel },
      report: join(out, 'report.html'),
    };
    await writeReport(result.report, fitReport(context, result, epochs));
    return result;
  } finally {
    await env.close();
    await previous?.close();
  }
}
