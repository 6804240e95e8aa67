// PETS: planning in a learned world (Chua et al. 2018, 1805.12114, algorithm 1). A little is lived at random, the model is
// fitted to all of it, the agent plans in the model at every real step, the model is fitted again. A policy is taught what
// the agent did on the way (Levine & Koltun 2013), for whoever has no time to plan.

import type { ReplayBuffer } from '../replay/buffer.js';
import type { Demonstrations } from '../rl/bc/bc.js';
import { PLANNED } from '../rl/icem.js';
import type { PlanningLearner } from '../rl/learner.js';
import type { Training } from './training.js';

export async function pets(training: Training, learner: PlanningLearner): Promise<void> {
  while (!training.isFinished()) {
    const rng = training.beginRound();
    if (training.knowsNothing()) await training.collectAtRandom(rng.split('live'));
    else await training.collect(learner.planner(await training.model(rng.split('first fit'))), rng.split('live'));

    await training.fit(rng.split('fit'));

    const planned = plannedRows(training.parts.real);
    const { distilUpdates } = learner.config;
    if (planned.rows > 0 && distilUpdates > 0) {
      const metrics = await learner.update(planned, distilUpdates, rng.split('teach'));
      training.countUpdates(distilUpdates);
      training.tell('update', { ...metrics });
    }
    training.endRound();

    if (training.isEvaluationDue()) await training.evaluate(learner.planner(await training.model(rng)));
    await training.checkpoint();
  }
}

/** The real rows that a planner lived: what a policy can be taught. */
function plannedRows(real: ReplayBuffer): Demonstrations {
  const { obs, action, origin } = real.columns();
  const isPlanned = real.originList().map(({ policyVersion }) => policyVersion.startsWith(PLANNED));
  const rows = Array.from({ length: real.size }, (_, row) => row).filter((row) => isPlanned[origin[row]]);
  return { rows: rows.length, obs: picked(obs, rows, real.obsDim), action: picked(action, rows, real.actionDim) };
}

function picked(column: Float32Array, rows: readonly number[], width: number): Float32Array {
  const out = new Float32Array(rows.length * width);
  for (const [to, row] of rows.entries()) out.set(column.subarray(row * width, (row + 1) * width), to * width);
  return out;
}
