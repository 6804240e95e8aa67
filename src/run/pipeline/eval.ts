// `reverie eval`: whole real episodes with the policy of a checkpoint.

import { Rng } from '../../core/rng.js';
import { makeEnvironment } from '../../env/make-environment.js';
import { evaluatePolicy, summariseReturns } from '../../rl/evaluate.js';
import { vectorSet } from '../evaluation-set.js';
import type { EvalResult, JobContext } from '../job.js';
import { agentFor, requireInput } from './inputs.js';

export async function evalJob(context: JobContext): Promise<EvalResult> {
  const { scenario, seed, signal, metrics, progress } = context;
  const { episodes, deterministic } = scenario.config.eval;
  const checkpoint = requireInput(context.inputs, 'checkpoint');
  const env = await makeEnvironment(scenario.config.env, { folder: scenario.folder });
  const agent = await agentFor(env, checkpoint);
  try {
    const settings = scenario.config.eval;
    const panel = await vectorSet(context, { policies: { agent: agent.policy.version }, settings });
    const phase = progress.phase('evaluate', episodes, 'episodes');
    const returns: number[] = [];
    const lengths: number[] = [];
    const seeds = Rng.fromSeed(seed).split('eval');
    for (let episode = 0; episode < episodes; episode++) {
      signal.throwIfAborted();
      const options = { episodes: 1, seed: seeds.split('episode', episode).uint32(), deterministic };
      const one = await evaluatePolicy(env, agent.policy, options);
      returns.push(one.returns[0]);
      lengths.push(one.lengths[0]);
      metrics.write({ kind: 'episode', episode, return: one.returns[0], length: one.lengths[0] });
      phase.set(episode + 1, `return ${one.returns[0].toFixed(1)}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
    phase.end();
    const summary = summariseReturns(returns, lengths);
    return { job: 'eval', family: 'vector', wallSeconds: metrics.wallSeconds, panel, checkpoint, returns, ...summary };
  } finally {
    await agent.close();
    await env.close();
  }
}
