// Agents of text learn in a small game of ours: by imitation and as a group, and again to the same bytes.

import { describe, expect, it } from 'vitest';
import { playTexts, type RunDrift, roundsOf, textGroups } from '../../src/algorithms/index.js';
import { Rng } from '../../src/core/rng.js';
import { rulesResponder, ScriptedUser, ToolsEpisodeEnvironment, textEnvironment } from '../../src/env/index.js';
import { attics, atticTraining } from '../rl/text/attic-training.js';

const clone = { tasks: 2, epochs: 30, lr: 3e-3 };

describe('rounds', () => {
  const where = (mode: 'dream' | 'interleaved' | 'dream-then-real', dreamShare?: number) =>
    roundsOf({ mode, rounds: 8, realRounds: 2, gatherEvery: 4, dreamShare })
      .map((round) => round.where[0])
      .join('');

  it('are dreamt as far as is asked for, and real evenly between', () => {
    expect([undefined, 0.75, 0.5, 0.25, 0].map((share) => where('dream', share))).toEqual([
      ...['dddddddd', 'rdddrddd', 'rdrdrdrd', 'rrrdrrrd', 'rrrrrrrr'],
    ]);
    expect(where('dream-then-real', 0.5)).toBe('ddddddddrr');
    // A dream is made of its records before the first round, whichever that is.
    const gathers = roundsOf({ mode: 'interleaved', rounds: 8, realRounds: 0, gatherEvery: 4, dreamShare: 0.5 });
    expect(gathers.flatMap((round, i) => (round.gathers ? [i] : []))).toEqual([0, 4]);
  });
});

describe('training in a game of text', () => {
  it('by GiGPO wins nearly always, where imitation alone did not', async () => {
    const { training, learner, told } = await atticTraining({ estimator: 'gigpo', clone, rounds: 10 });
    await textGroups(training);
    const [nothing, cloning, rounds] = training.progress.evaluations;
    expect([nothing.after, cloning.after, rounds.after]).toEqual(['nothing', 'cloning', 'rounds']);
    expect(rounds.wins).toBeGreaterThan(cloning.wins);
    expect(rounds.wins).toBeGreaterThanOrEqual(14);
    expect(training.progress.clonedSteps).toBe(10);
    const updates = told.filter(({ kind }) => kind === 'update');
    expect(updates).toHaveLength(10);
    expect(training.progress.realSteps).toBe(updates.at(-1)!.realSteps);
    await learner.close();
  });

  it('by PPO with a critic wins more than imitation, and the critic errs less and less', async () => {
    const { training, learner, told } = await atticTraining({ estimator: 'ppo', clone, rounds: 12 });
    await textGroups(training);
    const [, cloning, rounds] = training.progress.evaluations;
    expect(rounds.wins).toBeGreaterThan(cloning.wins);
    const errors = told.flatMap(({ kind, valueError }) => (kind === 'update' ? [valueError as number] : []));
    expect(errors.at(-1)!).toBeLessThan(errors[0] / 2);
    await learner.close();
  });

  it('by VinePPO wins more than imitation, and steps of what was lived on count like all others', async () => {
    const { training, learner, told } = await atticTraining({ estimator: 'vineppo', clone, rounds: 8, forks: 2 });
    await textGroups(training);
    const [, cloning, rounds] = training.progress.evaluations;
    expect(rounds.wins).toBeGreaterThan(cloning.wins);
    const updates = told.filter(({ kind }) => kind === 'update');
    expect(updates.reduce((sum, { forks }) => sum + (forks as number), 0)).toBeGreaterThan(0);
    const lived = updates.reduce(
      (sum, { episodes, meanLength }) => sum + (episodes as number) * (meanLength as number),
      0,
    );
    expect(training.progress.realSteps).toBeGreaterThan(lived + training.progress.clonedSteps);
    await learner.close();
  });

  it('by imitating its own wins wins more than by imitation alone, and keeps the shortest of each task', async () => {
    const { training, learner, told, wins } = await atticTraining({ estimator: 'rest', clone, rounds: 8 });
    await textGroups(training);
    const [, cloning, rounds] = training.progress.evaluations;
    expect(rounds.wins).toBeGreaterThan(cloning.wins);
    expect(wins.get('demonstrations')!.map(({ task }) => task)).toEqual(['book', 'torch']);
    const updates = told.filter(({ kind }) => kind === 'update');
    expect(updates.map(({ imitated }) => imitated !== undefined)).toEqual([
      ...[false, false, false, true],
      ...[false, false, false, true],
    ]);
    expect(updates.every(({ silentGroups, groups }) => silentGroups === groups)).toBe(true);
    expect(updates.at(-1)!.imitated).toBe(2);
    await learner.close();
  });

  it('is paid for progress on the way where that is asked for, and as much in all whichever way is taken', async () => {
    const { training, learner } = await atticTraining();
    const [environment] = training.parts.environments;
    const shaping = { weight: 1, gamma: 1 };
    const starts = [1, 2, 3].map((seed) => ({ task: 'book', seed, rng: Rng.fromSeed(seed) }));
    const played = await playTexts(learner.policy, starts, { environments: [environment], shaping });
    for (const { steps, reward } of played) {
      const sum = steps.reduce((total, step) => total + step.reward, 0);
      expect(sum).toBeCloseTo(reward!, 9);
    }
    await learner.close();
  });

  it('with a version lag is drawn by the policy of so many rounds before, and goes on to the same bytes', async () => {
    const lagging = { estimator: 'gigpo', clone, rounds: 5, versionLag: 2, evalEvery: 2 };
    const whole = await atticTraining(lagging);
    const { training, learner, told } = whole;
    const after: Float32Array[] = [];
    const drawing: Float32Array[] = [];
    const policyOf = learner.policyOf.bind(learner);
    learner.policyOf = (weights) => {
      drawing.push(weights);
      return policyOf(weights);
    };
    let kept: Pick<typeof training, 'progress' | 'older'> & { state: ReturnType<typeof learner.state> };
    training.ports.checkpoint = async () => {
      after[training.progress.round] = learner.weights;
      if (training.progress.round === 3)
        kept = structuredClone({ progress: training.progress, older: training.older, state: learner.state() });
    };
    await textGroups(training);
    // The first round by the learner of the moment, the others by weights that were kept.
    expect(drawing.map((weights, i) => weights === after[[0, 0, 1, 2][i]])).toEqual([true, true, true, true]);
    expect(new Set(after).size).toBe(6);
    const updates = told.filter(({ kind }) => kind === 'update');
    expect(updates.map((event) => event.drawnBy)).toEqual([0, 0, 0, 1, 2]);
    const drifts = updates.map(({ drift }) => drift as RunDrift);
    expect(drifts[0]).toMatchObject({ ratio: 1, kl: 0, clipFraction: 0 });
    for (const { kl } of drifts.slice(1)) expect(kl).toBeGreaterThan(0);
    expect(training.progress.drift!.choices).toBe(drifts.reduce((sum, { choices }) => sum + choices, 0));
    expect(training.older.size).toBe(0);

    const resumed = await atticTraining(lagging);
    resumed.learner.restore(kept!.state);
    expect([...kept!.older.keys()]).toEqual([1, 2]);
    await textGroups({ ...resumed.training, progress: kept!.progress, older: kept!.older });
    expect(resumed.learner.state()).toEqual(learner.state());
    expect(kept!.progress).toEqual(training.progress);
    await Promise.all([learner.close(), resumed.learner.close()]);
  });

  it('with a version lag ends what it lives when it cannot learn, and tells why', async () => {
    const { training, learner } = await atticTraining({ rounds: 2, versionLag: 1 });
    learner.update = async () => Promise.reject(new Error('diverged'));
    const signals: AbortSignal[] = [];
    const [first] = training.parts.environments;
    const reset = first.reset.bind(first);
    first.reset = (start, signal) => {
      signals.push(signal!);
      return reset(start, signal);
    };
    await expect(textGroups(training)).rejects.toThrow('diverged');
    expect(signals.at(-1)!.aborted).toBe(true);
    await learner.close();
  });

  it('gives the same bytes again', async () => {
    const run = async () => {
      const { training, learner, told } = await atticTraining({ clone: { ...clone, epochs: 5 }, rounds: 1 });
      await textGroups(training);
      const state = learner.state();
      await learner.close();
      return { told, state, progress: training.progress };
    };
    expect(await run()).toEqual(await run());
  });

  it('refuses a world that does not say which commands do something', async () => {
    const { training, learner } = await atticTraining({ rounds: 1 });
    const domain = { ...attics(), initialState: {}, rules: undefined };
    const silent = {
      ...domain,
      tasks: [{ ...domain.tasks[0], initialOperations: [], user: { opening: 'Go!', goal: 'go' } }],
    };
    const responder = rulesResponder(attics());
    const tools = new ToolsEpisodeEnvironment({
      id: 'silent',
      domain: silent as never,
      responder,
      user: new ScriptedUser(),
    });
    const evalEnvironments = [textEnvironment(tools)];
    const parts = { ...training.parts, evalEnvironments, evalTasks: silent.tasks as never };
    await expect(textGroups({ ...training, parts })).rejects.toThrow(
      expect.objectContaining({ code: 'TEXT_COMMANDS_UNKNOWN' }),
    );
    await learner.close();
  });
});
