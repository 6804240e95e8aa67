// A process that lives episodes of chance in its own headless Chromium, one after the other, and tells of each. Its parent watches
// what it and its browser take of the machine.

import { actionLine } from '../src/env/screens/screen-actions.js';
import { rulesResponder } from '../src/env/tools/rules-responder.js';
import { admissibleIn } from '../src/env/tools/text-environment.js';
import { TextPolicyAgent } from '../src/training/text-play.js';
import { openScreens, screenEnvironmentOf, tasksOf, uniform } from './screen-walks.js';

export interface SoakWish {
  readonly root: string;
  readonly names?: readonly string[];
  readonly episodes: number;
  readonly worker: number;
}

/** `lost` is the reason of an episode that did not come to its end; `over` comes once, when the browser is closed. */
export type SoakReport =
  | { readonly kind: 'episode'; readonly steps: number; readonly lost?: string }
  | { readonly kind: 'over' };

const STEPS = 6;

async function live({ root, names, episodes, worker }: SoakWish): Promise<void> {
  const domain = await openScreens({ root, names, seeds: 1, browser: 'chromium' });
  const tasks = tasksOf(domain);
  const environment = screenEnvironmentOf(domain, rulesResponder(domain), STEPS);
  const agent = new TextPolicyAgent(uniform, { lineOf: actionLine });
  for (let episode = 0; episode < episodes; episode++) {
    const task = tasks[episode % tasks.length];
    const seed = worker * episodes + episode;
    let steps = 0;
    try {
      await environment.reset({ task: task.id, seed });
      for (let over = false; !over; steps++) {
        const offered = admissibleIn(domain, environment.state);
        if (offered === undefined || offered.lines.length === 0) break;
        const query = { messages: environment.messages, tools: domain.tools, task, seed, step: steps };
        const { action } = await agent.act({ ...query, admissible: () => offered });
        const { terminated, truncated } = await environment.step(action);
        over = terminated || truncated;
      }
      tell({ kind: 'episode', steps });
    } catch (error) {
      tell({ kind: 'episode', steps, lost: `${task.id}: ${(error as Error).message}` });
    }
  }
  domain.close();
  tell({ kind: 'over' });
}

function tell(report: SoakReport): void {
  process.send!(report);
}

process.once('message', (wish: SoakWish) => void live(wish));
// Stays until its parent has looked for processes that its browser left.
process.on('disconnect', () => process.exit());
