// Models with a memory: dreams and rollouts show them what was lived before they begin.

import { describe, expect, it } from 'vitest';
import type { Policy } from '../../src/core/policy.js';
import { Rng } from '../../src/core/rng.js';
import { ReplayBuffer } from '../../src/replay/buffer.js';
import { drawStarts } from '../../src/synth/rollout/plan.js';
import { Dream } from '../../src/worldmodel/dream.js';
import type { VectorDynamics } from '../../src/worldmodel/dynamics.js';
import { batchOfStarts, beginFrom, type History, type Start } from '../../src/worldmodel/starts.js';
import { branchedRollouts } from '../synth/fixtures.js';
import { RememberingModel, trueCourse } from './remembering.js';

const DIMS = { obsDim: 1, actionDim: 1 };
const model = new RememberingModel();
const rng = Rng.fromSeed(1);

/** Standing at step `at` of a course, having lived all before it. */
function standing(course: Float32Array, actions: Float32Array, at: number): Start {
  return {
    observation: course.slice(at, at + 1),
    history: { obs: course.slice(0, at), action: actions.slice(0, at) },
  };
}

describe('beginFrom', () => {
  const actions = Float32Array.from([0.5, -0.25, 0.125, 1, -1, 0.75]);
  const courses = [trueCourse(0, 0.25, actions), trueCourse(3, -1, actions), trueCourse(-2, 0, actions)];

  it('shows each row its own history, however long it is', async () => {
    const at = [2, 0, 5];
    const { starts, history } = batchOfStarts(
      at.map((step, i) => standing(courses[i], actions, step)),
      DIMS,
    );
    expect([...history.lengths]).toEqual(at);
    const carry = await beginFrom(model, starts, history, rng);
    const next = Float32Array.from(at, (step) => actions[step]);
    const { observation } = await model.imagine(carry, next, rng);
    expect(observation[0]).toBe(courses[0][3]);
    expect(observation[2]).toBe(courses[2][6]);
    // Where nothing was seen, nothing can be remembered: the course began with a speed.
    expect(observation[1]).toBe(3 + actions[0]);
  });

  it('begins a row alone as in a batch, with streams of its own', async () => {
    const led = [1, 4, 3].map((step, i) => standing(courses[i], actions, step));
    const together = batchOfStarts(led, DIMS);
    const streams = () => led.map((_, i) => Rng.fromSeed(i));
    const whole = model.freeze(await beginFrom(model, together.starts, together.history, streams()));
    const alone: Awaited<ReturnType<typeof model.begin>>[] = [];
    for (const one of led) {
      const { starts, history } = batchOfStarts([one], DIMS);
      alone.push(await beginFrom(model, starts, history, [Rng.fromSeed(alone.length)]));
    }
    expect(whole).toEqual(model.freeze(model.join(alone)));
  });
});

describe('dreams of a model that remembers', () => {
  const actions = Float32Array.from([0.5, -0.25, 0.125, 1, -1]);
  const course = trueCourse(0, 0.25, actions);
  const led = standing(course, actions, 3);
  const starts = () => led;

  it('go on as what was lived before them', async () => {
    const dream = new Dream({ model, starts });
    await dream.reset({ seed: 1 });
    const { observation } = await dream.step(actions.slice(3, 4));
    expect(observation[0]).toBe(course[4]);
    const snapshot = JSON.parse(JSON.stringify(await dream.snapshot()));
    const expected = await dream.step(actions.slice(4));
    expect(expected.observation[0]).toBe(course[5]);
    const fork = new Dream({ model, starts });
    await fork.restore(snapshot);
    expect(await fork.step(actions.slice(4))).toEqual(expected);
  });
});

describe('rollouts of a model that remembers', () => {
  const actions = Rng.fromSeed(3).fillUniform(new Float32Array(40), -1, 1);
  const still: Policy = { version: 'still', act: (_obs, rows) => ({ action: new Float32Array(rows) }) };

  /** Two episodes of 20 steps in a ring that has lost the first rows. */
  function recorded(capacity: number): ReplayBuffer {
    const buffer = new ReplayBuffer({ capacity, ...DIMS, source: 'real' });
    for (let episode = 0; episode < 2; episode++) {
      const own = actions.slice(20 * episode, 20 * episode + 20);
      const course = trueCourse(episode, 0.5, own);
      const rows = 20;
      const flags = new Uint8Array(rows);
      const batch = { rows, obs: course.slice(0, rows), action: own, reward: new Float32Array(rows) };
      buffer.append(
        { ...batch, terminated: flags, truncated: flags, nextObs: course.slice(1) },
        {
          ...{ source: 'real', backend: 'real', modelVersion: '', scenario: '', policyVersion: '', seed: 0 },
          episode: new Float64Array(rows).fill(episode),
          step: Uint32Array.from({ length: rows }, (_, step) => step),
        },
      );
    }
    return buffer;
  }

  it('begin from what was lived before, within the episode and as far as it is kept', () => {
    const buffer = recorded(30);
    const { startIds, history } = drawStarts(buffer, 200, Rng.fromSeed(5), 4);
    for (const [row, id] of startIds.entries()) {
      // Rows 10 to 39 are there; an episode begins at row 20.
      const before = id < 20 ? id - 10 : id - 20;
      expect(history!.lengths[row], `row ${id}`).toBe(Math.min(before, 4));
    }
    expect(drawStarts(buffer, 5, Rng.fromSeed(5), 0)).not.toHaveProperty('history');
  });

  it('go on with the speed that was seen, and ends of others change nothing', async () => {
    const buffer = recorded(100);
    const limited: VectorDynamics = new RememberingModel(12);
    const drawn = drawStarts(buffer, 60, Rng.fromSeed(5), limited.context);
    const request = { ...drawn, horizon: 5, rng: Rng.fromSeed(2), policy: still, chunkSize: 16 };
    const { batch, provenance, counts } = await branchedRollouts({ ...request, model: limited });
    expect(counts.terminated).toBeGreaterThan(0);
    expect(counts.outOfHorizon).toBeGreaterThan(0);
    for (let row = 0; row < batch.rows; row++) {
      const id = provenance.parent![row];
      const { obs, step } = buffer.columns();
      const speed = step[id] === 0 ? 0 : Math.fround(obs[id] - obs[id - 1]);
      expect(batch.nextObs[row] - batch.obs[row]).toBeCloseTo(speed, 5);
    }
  });

  it('are refused without a history', async () => {
    const { starts, startIds } = drawStarts(recorded(100), 5, Rng.fromSeed(5), 0);
    const asking = branchedRollouts({ starts, startIds, horizon: 2, rng, policy: still, model });
    await expect(asking).rejects.toMatchObject({ code: 'SETTING_INVALID' });
    await expect(asking).rejects.toThrow(/history/);
    const history: History = {
      steps: 2,
      lengths: Uint32Array.of(3),
      obs: new Float32Array(2),
      action: new Float32Array(2),
    };
    const wrong = branchedRollouts({ starts, startIds, history, horizon: 2, rng, policy: still, model });
    await expect(wrong).rejects.toMatchObject({ code: 'SETTING_INVALID' });
  });
});
