// `reverie fit`: a world model from recorded transitions, and whether it is worth simulating with.

import { join } from 'node:path';
import { reverieError } from '../../core/errors.js';
import type { Fact, Report } from '../../core/report.js';
import { Rng } from '../../core/rng.js';
import { makeEnvironment } from '../../env/environments.js';
import { planDream, skillOf, TOLERANCE } from '../../training/settings.js';
import type { FitNote, HeldOutFigures, HeldOutReport, StoredDynamics } from '../../worldmodel/dynamics.js';
import { dynamicsKinds } from '../../worldmodel/kinds.js';
import { deviceText, fitWorkers, trainingDevice } from '../device.js';
import { digest, vectorSet } from '../evaluation-set.js';
import { formatCount, formatNumber, formatPercent, quoted } from '../format.js';
import type { JobContext } from '../job.js';
import { publish } from '../report-page.js';
import { findInput, modelFor, recordsOf, requireInput, resolvedSpec } from './inputs.js';

export type FitResult = Awaited<ReturnType<typeof fitJob>>;

/** What a report says of a fit. */
interface FitFigures {
  readonly model: string;
  readonly modelVersion: string;
  readonly transitions: number;
  readonly epochs: number;
  readonly holdoutError: number;
  readonly rewardError?: number;
  /** What the model is worth element by element, and whether that is any good; absent for a kind that cannot say. */
  readonly heldOut?: HeldOutReport;
  readonly verdict?: ReturnType<typeof judgeFit>;
}

export async function fitJob(context: JobContext) {
  const { scenario, inputs, metrics, out } = context;
  metrics.rewind();
  const { config, folder } = scenario;
  const kind = await dynamicsKinds.get(config.model.kind).make();
  if (kind.fit === undefined) {
    const problem = `model.kind is "${config.model.kind}", which is brought and not learned from records.`;
    throw reverieError('SCENARIO_INVALID', { path: config.name, problem });
  }
  const learner = `${config.model.kind}@${digest(config.model)}`;
  const evaluationSet = await vectorSet(context, { policies: { learner }, given: ['data', 'model'] });
  const env = await makeEnvironment(config.env, { folder });
  let previous: StoredDynamics | undefined;
  const phase = context.progress.phase('fit model', null, 'epochs');
  const onProgress = ({ epochs: done, holdoutError, member, epoch }: FitNote) => {
    phase.set(done, `error ${holdoutError.toFixed(4)}`);
    if (member !== undefined) metrics.write({ kind: 'epoch', member, epoch, holdoutError });
  };
  try {
    const data = requireInput(inputs, 'data');
    const real = await recordsOf(env, data);
    const earlier = findInput(inputs, 'model');
    previous = earlier === undefined ? undefined : await modelFor(env, earlier, config.model.kind);
    const fitted = await kind.fit({
      ...{ section: config.model, data: real, spaces: env, previous, onProgress },
      rng: Rng.fromSeed(context.seed).split('fit'),
      ...{ workers: fitWorkers(context), device: trainingDevice(context.device), known: env.known },
      ...{ env: resolvedSpec(scenario), signal: context.signal },
    });
    phase.end(`error ${fitted.report.holdoutError.toFixed(4)}`);
    const model = join(out, 'model');
    await fitted.model.save(model);
    await fitted.model.close();
    const { modelVersion } = fitted.model;
    const heldOut = fitted.heldOut?.();
    const verdict = heldOut && judgeFit(heldOut, real.size, { scenario: config.name, model, data });
    metrics.write({ kind: 'fit', modelVersion, ...fitted.report, ...heldOut, verdict });
    // Held-out one-step error of the mean prediction, in standard deviations of the data; and that of a learned reward.
    const { epochs, holdoutError, rewardError } = fitted.report;
    const result = {
      ...{ job: 'fit', wallSeconds: metrics.wallSeconds, model, modelVersion, device: deviceText(context.device) },
      ...{ transitions: real.size, epochs, holdoutError, rewardError, heldOut, verdict, evaluationSet },
    };
    return { ...result, report: await publish(context, fitReport(config.name, result), evaluationSet) };
  } finally {
    await env.close();
    await previous?.close();
  }
}

/** Below this share explained, an element is not known. */
const UNKNOWN = 0.5;
/** Held-out rows without which nothing can be told. */
const LEAST_ROWS = 16;

/** Whether a model is worth simulating with, why, what is wrong with which element (worst first), and what to do next. */
function judgeFit(heldOut: HeldOutReport, records: number, paths: Record<'scenario' | 'model' | 'data', string>) {
  // The gate that a simulation has, without episodes of a newer policy.
  const open = { gate: 'auto', horizon: 1, disagreementLimit: null, startsPerRound: 1 } as const;
  const { isOpen, reasons } = planDream(open, 'auto', { skill: skillOf(heldOut) }, 0);
  const { scenario, model, data } = paths;
  const isTold = heldOut.rows >= LEAST_ROWS;
  const isWorthDreaming = isTold && isOpen;
  const next = isWorthDreaming
    ? `reverie synth --model ${quoted(model)} --data ${quoted(data)}`
    : isTold && heldOut.membersAtMaxEpochs > 0
      ? `reverie fit --data ${quoted(data)} --set model.maxEpochs=${4 * heldOut.maxEpochs}`
      : `reverie collect ${quoted(scenario)} --set collect.steps=${4 * records}`;
  const because = isTold
    ? reasons['rollout.gate'].replace(/^(open|shut): /, '')
    : `too few held-out rows to tell (${heldOut.rows})`;
  return { isWorthDreaming, because, faults: faultsOf(heldOut), next };
}

function faultsOf({ elements, membersAtMaxEpochs, members, maxEpochs }: HeldOutReport): string[] {
  const faults = elements
    .flatMap(({ element, r2: { model, linear, unchanged } }) =>
      model === null ? [] : [{ element, model, simple: Math.max(0, linear ?? 0, unchanged ?? 0) }],
    )
    .toSorted((a, b) => a.model - b.model)
    .flatMap(({ element, model, simple }) => {
      const own = model < 0 ? 'less than 0 %' : formatPercent(model);
      if (model < simple - TOLERANCE)
        return [`${element}: a simple model explains more (${formatPercent(simple)} against ${own})`];
      if (model >= UNKNOWN) return [];
      return [`${element}: hardly explained (${own}): noise, too few records, or something that is not observed`];
    });
  const cut = `${membersAtMaxEpochs} of ${members} networks were stopped at model.maxEpochs=${maxEpochs} and might learn more`;
  return membersAtMaxEpochs > 0 ? [...faults, cut] : faults;
}

function verdictText({ isWorthDreaming, because }: ReturnType<typeof judgeFit>): string {
  return `${isWorthDreaming ? 'worth dreaming in' : 'not worth dreaming in'}: ${because}`;
}

function fitReport(name: string, result: FitFigures): Report {
  const { heldOut, verdict, transitions, holdoutError, rewardError, model, modelVersion } = result;
  const cell = (value: number | null) => (value === null ? '–' : formatNumber(value));
  const row = (label: string, { model: own, linear, unchanged }: HeldOutFigures<number | null>) =>
    [label, own === null ? 'never changes' : cell(own), cell(linear), cell(unchanged)] as const;
  const reward = rewardError === undefined ? '' : `, ${formatNumber(rewardError)} of the reward`;
  const facts: Fact[] = [
    ['fitted', `${result.epochs} epochs on ${formatCount(transitions)} transitions`],
    ...(verdict === undefined ? [] : [['verdict', verdictText(verdict)] as const]),
    ['held-out error', `${formatNumber(holdoutError)} standard deviations a step${reward}`],
    ...(verdict?.faults ?? []).map((fault): Fact => ['warning', fault]),
    ['model', `${modelVersion.slice(0, 12)} in ${model}`],
    ['next', verdict?.next ?? `reverie synth --model ${quoted(model)} --data FOLDER`],
  ];
  return {
    title: `World model: ${name}`,
    blocks: [
      { kind: 'facts', rows: facts },
      ...(heldOut === undefined
        ? []
        : [
            {
              kind: 'table',
              columns: ['explained (R²)', 'model', 'linear model', 'nothing changes'],
              rows: heldOut.elements.map(({ element, r2 }) => row(element, r2)),
              note: 'On held-out rows: 1 explains all of how an element changes, 0 is as good as its mean.',
            } as const,
          ]),
    ],
  };
}
