import type { JobContext } from '../../../src/run/job.js';
import { trainJob } from '../../../src/run/pipeline/train.js';

/** The training job, broken off as it tells its n-th event: within a round, as a kill would. */
export function brokenOffAt(n: number): typeof trainJob {
  return (context: JobContext) => {
    const { metrics } = context;
    const write = metrics.write.bind(metrics);
    let told = 0;
    metrics.write = (event) => {
      if (++told === n) throw new Error('broken off');
      write(event);
    };
    return trainJob(context);
  };
}
