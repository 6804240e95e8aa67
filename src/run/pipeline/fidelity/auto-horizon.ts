// Where a scenario says `auto`, what a fidelity report of exactly that model says takes its place.

import { reverieError } from '../../../core/errors.js';
import { trustedSteps } from '../../../fidelity/horizon.js';
import { readFidelityReport } from '../../../fidelity/report.js';
import { loadWorldModel } from '../../../worldmodel/kinds.js';
import type { JobContext } from '../../job.js';
import type { Scenario } from '../../scenario.js';
import { broughtModel, findInput, requireInput } from '../inputs.js';

/** Keys of scenarios of numbers that may say `auto`. */
type AutoKey = 'horizon' | 'realRatio';

type Asking = Pick<JobContext<Scenario>, 'scenario' | 'inputs' | 'log'>;

/**
 * The context of a job that simulates, with numbers in place of `auto`: as it was where nothing is. The model is the one of
 * `--model`, or the scenario's ONNX file; refits that go on from it are taken to be no worse.
 * @throws INPUT_NEEDED without a model, INPUT_INVALID for a report of another model or scenario or without trust,
 *   FLAG_INVALID for a report that nothing asks for, what reading it and the model throws
 * @param used keys that the job goes by; by default both where it trains in simulation, and none where it trains for real
 */
export async function withTrustedHorizon(
  context: JobContext,
  used: readonly AutoKey[] = context.scenario.config.train.mode === 'dream' ? ['horizon', 'realRatio'] : [],
): Promise<JobContext> {
  const { scenario, inputs, log } = context;
  const { rollout, replay, name } = scenario.config;
  const { fidelity: path } = inputs;
  // Without a report the job finds out for itself how far its model is to be trusted.
  if (path === undefined) return context;
  const said = { horizon: rollout.horizon, realRatio: replay.realRatio };
  if (!used.some((key) => said[key] === 'auto')) {
    const expected = 'none, as what this job goes by (of rollout.horizon and replay.realRatio) is not auto';
    throw reverieError('FLAG_INVALID', { flag: '--fidelity', value: path, expected });
  }
  const version = await modelVersion(context);
  const trust = trustedSteps(await readFidelityReport(path), { scenario: name, version, path });
  if (trust.steps === 0)
    throw reverieError('INPUT_INVALID', {
      problem: `The fidelity report "${path}" trusts not even one simulated step of ${trust.subject}.`,
      hint: 'Judge exactly this model: reverie fidelity SCENARIO, with the --model that is then used; or give numbers in place of auto.',
    });
  const rows = `${Number((100 * trust.realRatio).toPrecision(3))} % real rows`;
  log(`Trusted by the report on ${trust.subject}: ${trust.steps} simulated steps, ${rows}.`);
  const settled = {
    ...scenario.config,
    rollout: { ...rollout, horizon: rollout.horizon === 'auto' ? trust.steps : rollout.horizon },
    replay: { ...replay, realRatio: replay.realRatio === 'auto' ? trust.realRatio : replay.realRatio },
  };
  return { ...context, scenario: { ...scenario, config: settled } };
}

/** Of the model that will be simulated with. */
async function modelVersion({ scenario, inputs }: Asking): Promise<string> {
  const loaded = await loadWorldModel(
    findInput(inputs, 'model') ?? broughtModel(scenario) ?? requireInput(inputs, 'model'),
  );
  await loaded.close();
  return loaded.modelVersion;
}
