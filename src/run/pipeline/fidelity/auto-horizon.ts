// Where a scenario says `auto`, what a fidelity report of exactly that model says takes its place.

import { reverieError } from '../../../core/errors.js';
import { type Trust, trustedSteps } from '../../../fidelity/horizon.js';
import { readFidelityReport } from '../../../fidelity/report.js';
import { kinds } from '../../../kinds/registry.js';
import { loadWorldModel } from '../../../worldmodel/kinds.js';
import type { JobContext } from '../../job.js';
import type { AnyScenario, Scenario, ToolsScenario } from '../../scenario.js';
import { broughtModel, findInput, requireInput } from '../inputs.js';

/** Keys of scenarios of numbers that may say `auto`. */
type AutoKey = 'horizon' | 'realRatio';

type Asking<S extends AnyScenario> = Pick<JobContext<S>, 'scenario' | 'inputs' | 'log'>;

/**
 * The context of a job that simulates, with numbers in place of `auto`: as it was where nothing is. The model is the one of
 * `--model`, or the scenario's ONNX file; refits of it are taken to be no worse.
 * @throws INPUT_NEEDED without a report or a model, INPUT_INVALID for one of another model or scenario or without trust,
 *   FLAG_INVALID for a report that nothing asks for, what reading it and the model throws
 * @param used keys that the job goes by; by default both where it trains in simulation, and none where it trains for real
 */
export async function withTrustedHorizon(
  context: JobContext,
  used: readonly AutoKey[] = context.scenario.config.train.mode === 'dream' ? ['horizon', 'realRatio'] : [],
): Promise<JobContext> {
  const { config } = context.scenario;
  const { rollout, replay } = config;
  const said = { horizon: rollout.horizon, realRatio: replay.realRatio };
  const isAsked = used.some((key) => said[key] === 'auto');
  // Without a report the job finds out by itself how far its model is to be trusted.
  if (isAsked && context.inputs.fidelity === undefined) return context;
  const trust = await trustOf(context, { isAsked, keys: KEYS }, () => modelVersion(context));
  if (trust === undefined) return context;
  const settled = {
    ...config,
    rollout: { ...rollout, horizon: rollout.horizon === 'auto' ? trust.steps : rollout.horizon },
    replay: { ...replay, realRatio: replay.realRatio === 'auto' ? trust.realRatio : replay.realRatio },
  };
  return { ...context, scenario: { ...context.scenario, config: settled } };
}

const KEYS = 'what this job goes by (of rollout.horizon and replay.realRatio)';

/** Turns after which an episode is truncated as nothing after them is trusted; undefined where the scenario asks for no limit. */
export async function trustedTurns(context: Asking<ToolsScenario>, version: string): Promise<number | undefined> {
  const isAsked = context.scenario.config.shadow.limit === 'auto';
  return (await trustOf(context, { isAsked, keys: 'shadow.limit' }, async () => version))?.steps;
}

async function trustOf(
  { scenario, inputs, log }: Asking<AnyScenario>,
  { isAsked, keys }: { readonly isAsked: boolean; readonly keys: string },
  versionOf: () => Promise<string>,
): Promise<Trust | undefined> {
  const path = inputs.fidelity;
  if (!isAsked) {
    if (path === undefined) return undefined;
    throw reverieError('FLAG_INVALID', { flag: '--fidelity', value: path, expected: `none, as ${keys} is not auto` });
  }
  if (path === undefined)
    throw reverieError('INPUT_NEEDED', {
      problem: `This needs a fidelity report, and --fidelity was not given.`,
      hint: `Give --fidelity FOLDER: one that holds a fidelity report, or a run that does.`,
    });
  const report = await readFidelityReport(path);
  const trust = trustedSteps(report, { scenario: scenario.config.name, version: await versionOf(), path });
  if (trust.steps === 0) {
    const problem = `by it not even one simulated step of ${trust.subject} can be trusted`;
    throw reverieError('INPUT_INVALID', {
      problem: `The fidelity report "${path}" does not say how far this simulation can be trusted: ${problem}.`,
      hint: 'Judge exactly this model: reverie fidelity SCENARIO, with the --model that is then simulated with; or give numbers in place of auto.',
    });
  }
  const rows =
    kinds.get(scenario.family).representation === 'numbers'
      ? `, ${Number((100 * trust.realRatio).toPrecision(3))} % real rows`
      : '';
  log(`Trusted by the report on ${trust.subject}: ${trust.steps} simulated steps${rows}.`);
  return trust;
}

/** Of the model that is simulated with. */
async function modelVersion({ scenario, inputs }: Asking<Scenario>): Promise<string> {
  const loaded = await loadWorldModel(
    findInput(inputs, 'model') ?? broughtModel(scenario) ?? requireInput(inputs, 'model'),
  );
  await loaded.close();
  return loaded.modelVersion;
}
