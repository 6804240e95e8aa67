// `reverie fit`: a world model from recorded transitions.

import { join } from 'node:path';
import { reverieError } from '../../core/errors.js';
import { type Panel, requirePanel } from '../../core/evaluation-set.js';
import { Rng } from '../../core/rng.js';
import { makeEnvironment } from '../../env/make-environment.js';
import type { FitNote, FitRequest, Fitted } from '../../worldmodel/dynamics-kind.js';
import { dynamicsKinds } from '../../worldmodel/kinds.js';
import { deviceText, fitWorkers, trainingDevice } from '../device.js';
import { type FitResult, interrupted, type JobContext } from '../job.js';
import { writeReport } from '../report/report.js';
import { wantedPanel } from '../wanted-panel.js';
import { type FitEpoch, fitReport } from './fit-report.js';
import { judgeFit } from './fit-verdict.js';
import { recordsOf, resolvedSpec } from './given-parts.js';
import { findInput, requireInput } from './inputs.js';
import { fitPanel } from './vector-panels.js';

export async function fitJob(context: JobContext): Promise<FitResult> {
  const { config, folder } = context.scenario;
  const kind = await dynamicsKinds.get(config.model.kind).make();
  if (kind.fit === undefined) {
    const problem = `model.kind is "${config.model.kind}", which is brought and not learned from records.`;
    throw reverieError('SCENARIO_INVALID', { path: config.name, problem });
  }
  const panel = await fitPanel(context);
  requirePanel(panel, wantedPanel(context));
  const env = await makeEnvironment(config.env, { folder });
  const real = await recordsOf(env, requireInput(context.inputs, 'data'));
  const earlier = findInput(context.inputs, 'model');
  const previous = earlier === undefined ? undefined : await kind.load(earlier, {});
  const phase = context.progress.phase('fit model', null, 'epochs');
  const epochs: FitEpoch[] = [];
  const told = ({ epochs: done, holdoutError, member, epoch }: FitNote) => {
    phase.set(done, `error ${holdoutError.toFixed(4)}`);
    if (member === undefined || epoch === undefined) return;
    epochs.push({ member, epoch, holdoutError });
    context.metrics.write({ kind: 'epoch', member, epoch, holdoutError });
  };
  const asked = {
    ...{ section: config.model, data: real, spaces: env },
    rng: Rng.fromSeed(context.seed).split('fit'),
    workers: fitWorkers(context),
    device: trainingDevice(context.device),
    known: env.known,
    env: resolvedSpec(context.scenario),
    signal: context.signal,
  };
  try {
    const fitted = await kind.fit({ ...asked, previous, onProgress: told });
    phase.end(`error ${fitted.report.holdoutError.toFixed(4)}`);
    const target = join(context.out, 'model');
    await fitted.model.save(target);
    const heldOut = fitted.heldOut?.();
    const verdict =
      heldOut && (await judgeFit({ ...given(context, target), ...asked, fitted, heldOut, real, refit: again }));
    await fitted.model.close();
    const { modelVersion } = fitted.model;
    context.metrics.write({ kind: 'fit', modelVersion, ...fitted.report, ...heldOut, verdict });
    return await kept(context, { fitted, heldOut, verdict, target, transitions: real.size, panel }, epochs);
  } catch (error) {
    if (context.signal.aborted) interrupted();
    throw error;
  } finally {
    await env.close();
    await previous?.close();
  }

  /** The same fit to other records. */
  function again(changed: Pick<FitRequest, 'section' | 'data' | 'rng'>): Promise<Fitted> {
    return kind.fit!({ ...asked, ...changed });
  }
}

/** As the next command names them. */
function given({ scenario, inputs }: JobContext, model: string) {
  return { paths: { scenario: scenario.config.name, model, data: requireInput(inputs, 'data') } };
}

interface FitEnd {
  readonly fitted: Fitted;
  readonly heldOut: FitResult['heldOut'];
  readonly verdict: FitResult['verdict'];
  readonly target: string;
  readonly transitions: number;
  readonly panel: Panel;
}

async function kept(context: JobContext, end: FitEnd, epochs: readonly FitEpoch[]): Promise<FitResult> {
  const { fitted, heldOut, verdict, target, transitions, panel } = end;
  const report = join(context.out, 'report.html');
  const result: FitResult = {
    job: 'fit',
    wallSeconds: context.metrics.wallSeconds,
    model: target,
    modelVersion: fitted.model.modelVersion,
    device: deviceText(context.device),
    transitions,
    epochs: fitted.report.epochs,
    holdoutError: fitted.report.holdoutError,
    rewardError: fitted.report.rewardError,
    heldOut,
    verdict,
    panel,
    report,
  };
  await writeReport(report, fitReport(context, result, epochs));
  return result;
}
