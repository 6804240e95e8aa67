import { expect, test } from 'vitest';
import {
  adamScalars,
  adamStep,
  buildTrainer,
  gradients,
  mlp,
  mlpSpecs,
  ParamLayout,
  reduceMean,
  square,
  sub,
} from '../../src/nn/index.js';
import { Rng } from '../../src/rng.js';

test('smoke', async () => {
  const layout = new ParamLayout(mlpSpecs('net', [3, 16, 16, 2]));
  const B = 32;
  const trainer = await buildTrainer({
    name: 'smoke',
    state: { theta: [layout.size], m: [layout.size], v: [layout.size] },
    inputs: {},
    perStep: {
      x: { dtype: 'float32', shape: [B, 3] },
      y: { dtype: 'float32', shape: [B, 2] },
      alpha: { dtype: 'float32', shape: [] },
      epsilon: { dtype: 'float32', shape: [] },
    },
    body: ({ state, perStep }) => {
      const p = layout.unpack(state.theta);
      const loss = reduceMean(square(sub(mlp(p, 'net', perStep.x, 3, 'swish'), perStep.y)));
      const [grad] = gradients(loss, [state.theta]);
      return {
        state: adamStep({
          theta: state.theta,
          m: state.m,
          v: state.v,
          grad,
          alpha: perStep.alpha,
          epsilon: perStep.epsilon,
        }),
        metrics: { loss },
      };
    },
  });
  const rng = Rng.fromSeed(1);
  const steps = 200;
  const x = rng.fillNormal(new Float32Array(steps * B * 3));
  const y = new Float32Array(steps * B * 2).map((_, i) => Math.sin(x[Math.floor(i / 2) * 3] + (i % 2)));
  const s = Array.from({ length: steps }, (_, i) => adamScalars(i + 1, 1e-2));
  const out = await trainer.run({
    state: { theta: layout.init(rng), m: new Float32Array(layout.size), v: new Float32Array(layout.size) },
    perStep: { x, y, alpha: Float32Array.from(s, (v) => v.alpha), epsilon: Float32Array.from(s, (v) => v.epsilon) },
    steps,
  });
  console.log(out.metrics.loss[0], out.metrics.loss[199]);
  expect(out.metrics.loss[199]).toBeLessThan(0.05);
});
