// Training: against plain Adam in float64, in one Loop or step by step, on one thread or two; and what it refuses.

import { describe, expect, test } from 'vitest';
import * as nn from './nn.js';
import { decayOf, descendPlainly, drawRun, leastSquares, type ProblemRun, part, trainerSpec } from './regression.js';

const PROBLEMS = [['least squares', leastSquares()]] as const;

describe.each(PROBLEMS)('%s', (name, problem) => {
  test('agrees with textbook AdamW in float64 for ten steps', async () => {
    const lambda = 0.1;
    const trainer = await nn.buildTrainer(trainerSpec(name, problem, decayOf(lambda)));
    const run = drawRun(problem, 10);
    const { metrics, state } = await trainer.run(run);
    await trainer.release();
    const plain = await descendPlainly(problem, run, lambda);
    plain.losses.forEach((loss, i) => {
      expect(metrics.loss[i]).toBeCloseTo(loss, 4);
    });
    plain.theta.forEach((value, i) => {
      expect(state.theta[i]).toBeCloseTo(value, 4);
    });
    expect(plain.losses[9]).not.toBeCloseTo(plain.losses[0], 2);
  });

  test('one run of many steps and many runs of one step give the same bytes', async () => {
    const spec = trainerSpec(name, problem);
    const run = drawRun(problem, 12);
    const trainer = await nn.buildTrainer(spec);
    const whole = await trainer.run(run);
    const again = await trainer.run(run);
    let state = run.state;
    const losses: number[] = [];
    for (let step = 0; step < run.steps; step++) {
      const single = await trainer.run(part(run, state, step, step + 1));
      state = single.state as ProblemRun['state'];
      losses.push(single.metrics.loss[0]);
    }
    expect(again).toEqual(whole);
    expect(state).toEqual(whole.state);
    expect(losses).toEqual([...whole.metrics.loss]);
  });
});

test('learns', async () => {
  const problem = leastSquares();
  const trainer = await nn.buildTrainer(trainerSpec('learner', problem));
  const { metrics } = await trainer.run(drawRun(problem, 600));
  expect(metrics.loss[0]).toBeGreaterThan(0.2);
  expect(metrics.loss[599]).toBeLessThan(0.02);
});

describe('refusals', () => {
  const problem = leastSquares();
  const build = () => nn.buildTrainer(trainerSpec('careful', problem));

  test('a value that is not finite: the error names trainer, metric and step, and the given state stays', async () => {
    const trainer = await build();
    const run = drawRun(problem, 5);
    run.perStep.alpha[2] = Number.NaN;
    const before = { theta: run.state.theta.slice(), m: run.state.m.slice(), v: run.state.v.slice() };
    await expect(trainer.run(run)).rejects.toMatchObject({
      code: 'NON_FINITE_VALUE',
      message: expect.stringMatching(/metric "loss".*NaN.*step 3 of trainer "careful"/),
    });
    expect(run.state).toEqual(before);
    run.perStep.alpha[2] = 1e-3;
    expect((await trainer.run(run)).metrics.loss).toHaveLength(5);
  });

  test('a state that is not finite though every metric is', async () => {
    const trainer = await build();
    const run = drawRun(problem, 1);
    run.perStep.alpha[0] = Number.POSITIVE_INFINITY;
    await expect(trainer.run(run)).rejects.toMatchObject({
      code: 'NON_FINITE_VALUE',
      message: expect.stringContaining('state "theta"'),
    });
  });

  test.each([
    [
      'a missing state',
      (run: ProblemRun) => ({ ...run, state: { theta: run.state.theta, m: run.state.m } }),
      /state "v"/,
    ],
    ['an unknown input', (run: ProblemRun) => ({ ...run, inputs: { ...run.inputs, z: run.inputs.x } }), /input "z"/],
    ['no steps', (run: ProblemRun) => ({ ...run, steps: 0 }), /0 steps/],
  ])('%s', async (_, spoil, message) => {
    const trainer = await build();
    await expect(trainer.run(spoil(drawRun(problem, 5)))).rejects.toMatchObject({
      code: 'DATA_MISMATCH',
      message: expect.stringMatching(message),
    });
  });

  test('a body that forgets state or invents it', async () => {
    const spec: nn.TrainerSpec = {
      name: 'forgetful',
      state: { w: [2], c: [1] },
      body: ({ state }) => ({ state, metrics: {} }),
    };
    const { run, release } = await nn.buildTrainer(spec);
    const kept = { w: Float32Array.of(1, 2), c: Float32Array.of(3) };
    expect((await run({ state: kept, steps: 2 })).state).toEqual(kept);
    await release();
    const forget: nn.TrainerSpec = { ...spec, body: ({ state }) => ({ state: { w: state.w }, metrics: {} }) };
    const invent: nn.TrainerSpec = { ...spec, body: ({ state }) => ({ state: { ...state, u: state.w }, metrics: {} }) };
    await expect(nn.buildTrainer(forget)).rejects.toMatchObject({
      code: 'DATA_MISMATCH',
      message: expect.stringContaining('"c"'),
    });
    await expect(nn.buildTrainer(invent)).rejects.toMatchObject({
      code: 'DATA_MISMATCH',
      message: expect.stringContaining('"u"'),
    });
  });
});
