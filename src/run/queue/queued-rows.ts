// A run whose rows are lived elsewhere: the coordinator of its queue, and for a queue in this process also its worker.

import { join } from 'node:path';
import type { Responder, ToolsTask } from '../../env/index.js';
import { openQueue, parseQueueUrl, type RolloutQueue } from '../../synth/index.js';
import type { JobContext } from '../job.js';
import type { Elsewhere } from '../pipeline/tools/lived-rows.js';
import type { ToolsParts } from '../pipeline/tools/parts.js';
import { makeProgress } from '../progress.js';
import type { ToolsScenario } from '../scenario.js';
import { describedJob } from './queue-job.js';
import { RowCoordinator } from './row-coordinator.js';
import { work } from './work.js';

type Context = JobContext<ToolsScenario>;

/** The queue a run was given, or undefined. @throws QUEUE_UNREACHABLE */
export async function openRunQueue({ queue, log }: Context): Promise<RolloutQueue | undefined> {
  return queue === undefined ? undefined : openQueue(queue, { onTrouble: log });
}

export interface QueuedRowsSettings {
  readonly queue: RolloutQueue;
  /** Tasks that were made for the job. */
  readonly tasks: readonly ToolsTask[];
  readonly withheld: string | undefined;
  readonly responder: Responder;
  /** Version of the judge, where there is one. */
  readonly judge: string | undefined;
  /** Told every second. */
  readonly onTick: () => void;
}

export class QueuedRows implements Elsewhere {
  readonly live: Elsewhere['live'];
  readonly concurrency: number;

  private constructor(
    private readonly coordinator: RowCoordinator,
    private readonly ownWorker: OwnWorker | undefined,
  ) {
    this.live = coordinator.live;
    this.concurrency = coordinator.concurrency;
  }

  static async begin(context: Context, parts: ToolsParts, settings: QueuedRowsSettings): Promise<QueuedRows> {
    const { queue, tasks, withheld, responder, judge = null, onTick } = settings;
    const { domain, user, agent, budget } = parts;
    const versions = { domain: domain.version, responder: responder.version, user: user.version, agent: agent.version };
    const description = await describedJob(context, { tasks, withheld, versions: { ...versions, judge } });
    const { queue: url = '', workers: window, log } = context;
    const coordinator = await RowCoordinator.begin({ queue, url, description, budget, window, log, onTick });
    return new QueuedRows(coordinator, ownWorker(context, coordinator));
  }

  get note(): string {
    return this.coordinator.note;
  }

  known(row: number): void {
    this.coordinator.known(row);
  }

  async close(): Promise<void> {
    await this.coordinator.close();
    await this.ownWorker?.stop();
  }
}

interface OwnWorker {
  stop(): Promise<void>;
}

/** Nobody else can come to a queue in this process. */
function ownWorker(
  { queue = '', out, workers, scenario, log }: Context,
  coordinator: RowCoordinator,
): OwnWorker | undefined {
  if (parseQueueUrl(queue).engine !== 'in-process') return undefined;
  const end = new AbortController();
  const options = {
    queue,
    dir: join(out, 'worker'),
    files: scenario.folder,
    grace: 0,
    ...(workers === 0 ? {} : { concurrency: workers }),
  };
  const quiet = { ...makeProgress({ stream: process.stderr, quiet: true }), log };
  const ended = work(options, quiet, end.signal).catch((error) => coordinator.fail(error));
  return {
    stop: async () => {
      end.abort();
      await ended;
    },
  };
}
