// Ours around an environment whose step waits a second, as one with a language model or a browser behind it does: the
// server of serve.sessions, in a process of its own. Told by its parent how long and how many; answers with its URL.

import { tmpdir } from 'node:os';
import type { VectorEnvironment } from '../src/core/environment.js';
import { unboundedSpace } from '../src/env/space-values.js';
import type { Servable } from '../src/run/servable.js';
import { startServer } from '../src/serve/index.js';

export interface WaitWish {
  readonly waitSeconds: number;
  readonly sessions: number;
}

const space = unboundedSpace(3);
const actionSpace = unboundedSpace(1);

function waiting(waitSeconds: number): VectorEnvironment {
  let steps = 0;
  const observation = () => Float32Array.of(steps > 0 ? 1 : 0, 0, steps);
  return {
    id: 'wait',
    family: 'vector',
    observationSpace: space,
    actionSpace,
    reset: () => {
      steps = 0;
      return { observation: observation(), info: {} };
    },
    step: async () => {
      await new Promise((resolve) => setTimeout(resolve, waitSeconds * 1000));
      steps += 1;
      return { observation: observation(), reward: 0.5, terminated: false, truncated: false, info: {} };
    },
    snapshot: () => ({ env: 'wait', state: steps }),
    restore: ({ state }) => {
      steps = state as number;
      return observation();
    },
    close: () => {},
  };
}

async function start({ waitSeconds, sessions }: WaitWish): Promise<string> {
  const served: Servable = {
    name: 'wait',
    family: 'vector',
    description: 'Waits at every step.',
    source: 'real',
    version: '1',
    observationSpace: space,
    actionSpace,
    tools: [],
    policy: '',
    tasks: [],
    make: async () => waiting(waitSeconds),
    close: async () => {},
  };
  const { url } = await startServer({
    scenarios: [],
    environments: [served],
    folder: tmpdir(),
    port: 0,
    limits: { slots: sessions },
    log: () => {},
  });
  return url;
}

process.on('message', async (wish: WaitWish) => process.send!(await start(wish)));
process.on('disconnect', () => process.exit());
