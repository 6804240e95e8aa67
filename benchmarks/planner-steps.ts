// Real steps to threshold: SAC from scratch ÷ an agent that plans in the model it learns (PETS, by iCEM), on the pendulum and
// the cart-pole swing-up. Five seeds an arm, not paired: per body the ratio of medians; the value is the lesser body's. Both
// are evaluated as often, by as many episodes. Every finished run is kept, so that a study that was stopped goes on with it.

import { Rng } from '../src/core/rng.js';
import type { Arm, ArmRun } from '../src/run/pipeline/arms.js';
import { adjustScenario, loadScenario } from '../src/run/scenario.js';
import { SCRATCH_ARM } from '../src/training/warm-start.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { median } from './measure.js';
import { runArms } from './training-arms.js';

const RESAMPLES = 10_000;
const PLANNER_ARM = 'planner';

/** Of both arms. */
const SHARED = ['train.evalEvery=100', 'train.evalEpisodes=3', 'train.stopAtThreshold=true'];
const SAC = ['train.mode=real', 'train.stepsPerRound=50', 'train.realSteps=12000', 'train.initialRandomSteps=200'];
const PETS = ['rl.algorithm=pets', 'train.stepsPerRound=100', 'train.realSteps=2000', 'train.initialRandomSteps=200'];

/** What a plan must see: a swing up takes longer than a pendulum's push. */
const BODIES = [
  { scenario: 'pendulum', sac: ['train.updatesPerStep=1'], pets: ['rl.horizon=30'] },
  { scenario: 'cartpole-swingup', sac: ['train.updatesPerStep=2'], pets: ['rl.horizon=40', 'rl.candidates=64'] },
];

export async function run(context: BenchmarkContext): Promise<Measurement> {
  const seeds = Array.from({ length: context.quick ? 1 : 5 }, (_, i) => 100 + i);
  const bodies: { scenario: string; sac: number[]; planner: number[]; value: number; low: number; high: number }[] = [];
  for (const body of BODIES) {
    const scenario = await loadScenario(body.scenario, context.quick ? { profile: 'smoke' } : {});
    const arm = async (name: string, set: readonly string[]): Promise<Arm> => {
      return { name, scenario: await adjustScenario(scenario, { set: [...set] }) };
    };
    const sets = context.quick
      ? { sac: ['train.mode=real'], pets: ['rl.algorithm=pets', 'rl.horizon=3', 'train.evalEpisodes=1'] }
      : { sac: [...SHARED, ...SAC, ...body.sac], pets: [...SHARED, ...PETS, ...body.pets] };
    const arms = [await arm(SCRATCH_ARM, sets.sac), await arm(PLANNER_ARM, sets.pets)];
    const request = { id: `planner.steps-${body.scenario}`, scenario, arms, seeds, finalEpisodes: 1 };
    const { runs } = await runArms(request, context);
    const [sac, planner] = [SCRATCH_ARM, PLANNER_ARM].map((name) => stepsOf(runs, name));
    bodies.push({ scenario: body.scenario, sac, planner, ...ratioOfMedians(sac, planner) });
    context.log(JSON.stringify(bodies.at(-1)));
  }
  const { value, low, high } = bodies.reduce((a, b) => (b.value < a.value ? b : a));
  return { value, low, high, n: seeds.length, raw: { seeds, shared: SHARED, sac: SAC, pets: PETS, bodies } };
}

/** A run that never got there counts as its whole budget. */
function stepsOf(runs: readonly ArmRun[], arm: string): number[] {
  return runs.filter((run) => run.arm === arm).map(({ result }) => result.realStepsToThreshold ?? result.realSteps);
}

function ratioOfMedians(sac: readonly number[], planner: readonly number[]) {
  const rng = Rng.fromSeed(0).split('bootstrap');
  const resample = (values: readonly number[]) => values.map(() => values[rng.int(values.length)]);
  const ratios = Float64Array.from(
    { length: RESAMPLES },
    () => median(resample(sac)) / median(resample(planner)),
  ).sort();
  const at = (share: number) => ratios[Math.round(share * (RESAMPLES - 1))];
  return { value: median(sac) / median(planner), low: at(0.025), high: at(0.975) };
}
