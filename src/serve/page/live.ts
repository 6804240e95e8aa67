// What the live page shows: counts, environments, and the sessions used last.

import type { ToolsStepInfo } from '../../env/tools/tools-family.js';
import { type SessionEvent, sessionKey } from '../core/session-contract.js';
import type { Sessions } from '../core/sessions.js';
import type { LiveView } from './wire.js';

/** Sessions listed at once. */
const LISTED = 100;

const emptyTally = () => ({ steps: 0, episodes: 0, failures: 0, answered: {} as Record<string, number> });

/** Counts what happens in sessions as it happens, by environment. */
export class LiveLog {
  /** Changes with every event. */
  revision = 0;
  private readonly byEnv: ReadonlyMap<string, ReturnType<typeof emptyTally>>;
  private readonly listener = (event: SessionEvent) => this.count(event);

  constructor(
    private readonly sessions: Sessions,
    private readonly version: string,
  ) {
    this.byEnv = new Map([...sessions.environments.keys()].map((name) => [name, emptyTally()]));
    sessions.events.on('event', this.listener);
  }

  close(): void {
    this.sessions.events.off('event', this.listener);
  }

  view(): LiveView {
    const { environments, counts } = this.sessions;
    const open = this.sessions.list();
    const latest = open.toSorted((a, b) => b.lastUsedAt - a.lastUsedAt).slice(0, LISTED);
    return {
      version: this.version,
      at: Date.now(),
      counts,
      environments: [...environments.values()].map(({ name, family, source, description, tasks }) => {
        const sessions = open.filter((one) => one.env === name).length;
        return { name, family, source, description, tasks: tasks.length, sessions, ...this.byEnv.get(name)! };
      }),
      sessions: latest.map((one) => {
        return { ...one, key: sessionKey(one.owner, one.id), source: environments.get(one.env)!.source };
      }),
      sessionsInAll: open.length,
    };
  }

  private count(event: SessionEvent): void {
    this.revision++;
    const { env } = event.session;
    const tally = this.byEnv.get(env)!;
    if (event.kind === 'reset') tally.episodes++;
    else if (event.kind === 'failed') tally.failures++;
    else if (event.kind === 'step') {
      tally.steps++;
      const { predictions } = event.turn.info as Partial<ToolsStepInfo>;
      const backends = predictions?.map(({ backend }) => backend) ?? [this.sessions.environments.get(env)!.source];
      // Without calls the user answers.
      for (const backend of backends.length === 0 ? ['user'] : backends) {
        tally.answered[backend] = (tally.answered[backend] ?? 0) + 1;
      }
    }
  }
}
