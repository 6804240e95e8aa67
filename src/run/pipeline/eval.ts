// `reverie eval`: whole real episodes with the policy of a checkpoint.

import { requirePanel } from '../../core/evaluation-set.js';
import { Rng } from '../../core/rng.js';
import { makeEnvironment } from '../../env/make-environment.js';
import { evaluatePolicy, summariseReturns } from '../../rl/evaluate.js';
import { type EvalResult, interrupted, type JobContext } from '../job.js';
import { wantedPanel } from '../wanted-panel.js';
import { agentOf, learnerFor } from './given-parts.js';
import { requireInput } from './inputs.js';
import { evalPanel } from './vector-panels.js';

export async function evalJob(context: JobContext): Promise<EvalResult> {
  const { config, folder } = context.scenario;
  const checkpoint = requireInput(context.inputs, 'checkpoint');
  const env = await makeEnvironment(config.env, { folder });
  const { learner } = await learnerFor(env, checkpoint);
  const agent = await agentOf(learner, checkpoint);
  const panel = evalPanel(context, agent.policy.version);
  requirePanel(panel, wantedPanel(context));
  const phase = context.progress.phase('evaluate', config.eval.episodes, 'episodes');
  const returns: number[] = [];
  const lengths: number[] = [];
  try {
    const seeds = Rng.fromSeed(context.seed).split('eval');
    for (let episode = 0; episode < config.eval.episodes; episode++) {
      if (context.signal.aborted) interrupted();
      const seed = seeds.split('episode', episode).uint32();
      const options = { episodes: 1, seed, deterministic: config.eval.deterministic };
      const one = await evaluatePolicy(env, agent.policy, options);
      returns.push(one.returns[0]);
      lengths.push(one.lengths[0]);
      context.metrics.write({ kind: 'episode', episode, return: one.returns[0], length: one.lengths[0] });
      phase.set(episode + 1, `return ${one.returns[0].toFixed(1)}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    phase.end();
    const summary = summariseReturns(returns, lengths);
    const { wallSeconds } = context.metrics;
    return { job: 'eval', family: 'vector', wallSeconds, panel, checkpoint, returns, ...summary };
  } finally {
    await agent.close();
    await learner.close();
    await env.close();
  }
}
