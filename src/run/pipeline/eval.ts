// `reverie eval`: whole real episodes with the policy of a checkpoint.

import { Rng } from '../../core/rng.js';
import { makeEnvironment } from '../../env/environments.js';
import { evaluatePolicy, summariseReturns } from '../../rl/evaluate.js';
import { vectorSet } from '../evaluation-set.js';
import { formatNumber, formatSpread } from '../format.js';
import type { JobContext } from '../job.js';
import { publish } from '../report-page.js';
import { agentFor, requireInput } from './inputs.js';

export type EvalResult = Awaited<ReturnType<typeof evalJob>>;

export async function evalJob(context: JobContext) {
  const { scenario, seed, signal, metrics, progress } = context;
  const { episodes, deterministic } = scenario.config.eval;
  const checkpoint = requireInput(context.inputs, 'checkpoint');
  const env = await makeEnvironment(scenario.config.env, { folder: scenario.folder });
  const agent = await agentFor(env, checkpoint);
  try {
    const settings = scenario.config.eval;
    const evaluationSet = await vectorSet(context, { policies: { agent: agent.policy.version }, settings });
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
    const { meanReturn, stdReturn, minReturn, maxReturn, meanLength } = summary;
    const spread = `${formatSpread(meanReturn, stdReturn)} over ${episodes} real episodes`;
    const rows = [
      ['return', `${spread}, ${formatNumber(minReturn)} to ${formatNumber(maxReturn)}`],
      ['mean length', `${formatNumber(meanLength)} steps`],
    ] as const;
    const report = await publish(
      context,
      { title: `Evaluation: ${scenario.config.name}`, blocks: [{ kind: 'facts', rows }] },
      evaluationSet,
    );
    const { wallSeconds } = metrics;
    return { job: 'eval', family: 'vector', wallSeconds, evaluationSet, checkpoint, returns, ...summary, report };
  } finally {
    await agent.close();
    await env.close();
  }
}
