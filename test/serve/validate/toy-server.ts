// A small OpenEnv server that owes nothing to ours, as somebody else's would: aim at a target, five shots, the last one
// counts. With defects to be found, one at a time.

import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { Rng } from '../../../src/core/rng.js';

export type Defect =
  | 'no-schema'
  | 'observation-off-schema'
  | 'episode-id-lost'
  | 'step-count-stuck'
  | 'reward-nan'
  | 'reward-text'
  | 'reward-bool'
  | 'reward-out-of-range'
  | 'reward-at-reset'
  | 'ignores-seed'
  | 'one-seed'
  | 'steps-unseeded'
  | 'shared-state'
  | 'state-of-another'
  | 'remembers'
  | 'pays-for-nothing'
  | 'pays-at-random'
  | 'solution-in-card'
  | 'solution-in-observation'
  | 'task-broken'
  | 'verifier-moody'
  | 'shared-stream'
  | 'shared-scratch'
  | 'seed-lost-in-a-crowd';

const SHOTS = 5;
const TASKS = 3;

interface Episode {
  id: string | null;
  steps: number;
  target: number;
  noise: Rng;
}

/** What no seed decides: other each time. */
let whim = 0;

/** What sessions of a defective server share. */
interface Shared {
  noise: Rng;
  aim: number;
  live: number;
}

class Session {
  private episode: Episode = { id: null, steps: 0, target: 0, noise: Rng.fromSeed(0) };
  private resets = 0;

  constructor(
    private readonly defects: ReadonlySet<Defect>,
    private readonly shared: Shared,
  ) {}

  reset({ seed = 0, index = 0, episode_id = null }: { seed?: number; index?: number; episode_id?: string | null }) {
    if (this.has('task-broken') && index > 0) throw new Error('no such task');
    const isLost = this.has('seed-lost-in-a-crowd') && this.shared.live > 4;
    const drawn = this.has('ignores-seed') || isLost ? whim++ : this.has('one-seed') ? 0 : seed;
    const noise = Rng.fromSeed(drawn).split('noise', this.has('remembers') ? this.resets : 0);
    this.resets++;
    this.shared.noise = Rng.fromSeed(drawn);
    const target = 3 + index + noise.uniform();
    this.episode = { id: this.has('episode-id-lost') ? 'x' : episode_id, steps: 0, target, noise };
    return this.reply(this.has('reward-at-reset') ? 1 : null, false);
  }

  /** One that keeps its action where others keep theirs finds another one's there once it has waited. */
  async step({ values: [given] }: { values: number[] }) {
    const { episode } = this;
    let aim = given;
    if (this.has('shared-scratch')) {
      this.shared.aim = given;
      await new Promise((resolve) => setTimeout(resolve, 3));
      aim = this.shared.aim;
    }
    episode.steps++;
    const done = episode.steps === SHOTS;
    return this.reply(this.rewardOf(aim, done), done, aim);
  }

  get state() {
    const { id, steps } = this.episode;
    return { episode_id: id, step_count: this.has('step-count-stuck') ? 0 : steps };
  }

  private rewardOf(aim: number, done: boolean): unknown {
    if (this.has('reward-nan')) return Number.NaN;
    if (this.has('reward-text')) return '1';
    if (this.has('reward-bool')) return done;
    if (this.has('reward-out-of-range')) return done ? 7 : 0;
    if (!done) return 0;
    if (this.has('verifier-moody')) return whim++ % 2;
    if (this.has('pays-for-nothing')) return aim === 0 ? 1 : 0;
    if (this.has('pays-at-random')) return aim === 0 ? 0 : 1;
    return Math.abs(aim - this.episode.target) < 0.1 ? 1 : 0;
  }

  private reply(reward: unknown, done: boolean, aim = 0) {
    const { steps } = this.episode;
    const noise = this.has('shared-stream') ? this.shared.noise : this.episode.noise;
    const wind = this.has('steps-unseeded') && steps > 0 ? whim++ / 1000 : noise.uniform() + aim;
    const observation: Record<string, unknown> = { wind, left: SHOTS - steps };
    if (this.has('observation-off-schema')) observation['extra'] = 1;
    if (this.has('solution-in-observation')) observation['ground_truth'] = this.episode.target;
    return { observation, reward, done };
  }

  private has(defect: Defect): boolean {
    return this.defects.has(defect);
  }
}

/** Each defect with the check that has to find it. */
export const PLANTED: readonly [defect: Defect, check: string, options?: ToyOptions][] = [
  ['no-schema', 'schemas'],
  ['observation-off-schema', 'observations'],
  ['episode-id-lost', 'state'],
  ['step-count-stuck', 'state'],
  ['reward-nan', 'rewards'],
  ['reward-text', 'rewards'],
  ['reward-bool', 'rewards'],
  ['reward-out-of-range', 'rewards'],
  ['reward-at-reset', 'rewards'],
  ['ignores-seed', 'seed-control'],
  ['one-seed', 'seed-control', { tasks: false }],
  ['steps-unseeded', 'determinism'],
  ['shared-state', 'concurrency'],
  ['state-of-another', 'concurrency'],
  ['remembers', 'determinism'],
  ['pays-for-nothing', 'floor-gap'],
  ['pays-at-random', 'floor-gap'],
  ['solution-in-card', 'no-leakage'],
  ['solution-in-observation', 'no-leakage'],
  ['task-broken', 'declarations'],
  ['verifier-moody', 'determinism'],
  ['shared-stream', 'concurrency'],
  ['seed-lost-in-a-crowd', 'concurrency'],
  ['shared-scratch', 'concurrency'],
];

export interface ToyServer {
  readonly url: string;
  stop(): Promise<void>;
}

export interface ToyOptions {
  /** Whether it has a Task API; without, seeds alone tell episodes apart. */
  readonly tasks?: boolean;
  /** Sessions at once; any number unless given. */
  readonly capacity?: number;
}

export async function toyServer(
  defects: readonly Defect[],
  { tasks = true, capacity = Number.POSITIVE_INFINITY }: ToyOptions = {},
): Promise<ToyServer> {
  const has = new Set(defects);
  const http = createServer(async (request, response) => {
    const body = await bodyOf(request);
    const [status, answer] = routeOf(String(request.url), body, has, tasks);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  const sockets = new WebSocketServer({ server: http, path: '/ws' });
  const common: Shared = { noise: Rng.fromSeed(0), aim: 0, live: 0 };
  const shared = new Session(has, common);
  let latest = shared;
  sockets.on('connection', (socket) => {
    if (common.live >= capacity) {
      send(socket, 'error', { message: 'Server at capacity', code: 'CAPACITY_REACHED' });
      socket.close();
      return;
    }
    common.live++;
    const session = has.has('shared-state') ? shared : new Session(has, common);
    latest = session;
    socket.on('error', () => undefined);
    socket.on('close', () => {
      common.live--;
    });
    socket.on('message', (data) => {
      void answer(socket, String(data), session, has.has('state-of-another') ? () => latest : undefined);
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    stop: async () => {
      for (const client of sockets.clients) client.terminate();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

async function answer(socket: WebSocket, text: string, session: Session, other?: () => Session): Promise<void> {
  const { type, data } = JSON.parse(text);
  try {
    if (type === 'close') socket.close();
    else if (type === 'state') send(socket, 'state', (other?.() ?? session).state);
    else send(socket, 'observation', type === 'reset' ? session.reset(data ?? {}) : await session.step(data));
  } catch (error) {
    send(socket, 'error', { message: (error as Error).message, code: 'EXECUTION_ERROR' });
  }
}

/** As Python does: NaN is written as it is. */
function send(socket: WebSocket, type: string, data: object): void {
  const text = JSON.stringify({ type, data });
  socket.send('reward' in data && Number.isNaN(data.reward) ? text.replace('"reward":null', '"reward":NaN') : text);
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text === '' ? {} : JSON.parse(text);
}

function routeOf(
  url: string,
  body: Record<string, unknown>,
  has: ReadonlySet<Defect>,
  tasks: boolean,
): [status: number, answer: unknown] {
  const routes: Record<string, unknown> = {
    '/health': { status: 'healthy' },
    '/metadata': { name: 'toy', description: 'Aim.' },
    '/schema': schemas(has),
    ...(tasks ? taskRoutes(body, has) : {}),
  };
  return url in routes ? [200, routes[url]] : [404, { detail: 'Not Found' }];
}

function schemas(has: ReadonlySet<Defect>) {
  const number = { type: 'number' };
  return {
    action: {
      title: 'AimAction',
      type: 'object',
      properties: {
        values: { type: 'array', items: { ...number, minimum: -1, maximum: 6 }, minItems: 1, maxItems: 1 },
      },
      required: ['values'],
    },
    observation: has.has('no-schema')
      ? null
      : {
          type: 'object',
          properties: {
            wind: number,
            left: { type: 'integer' },
            ...(has.has('solution-in-observation') ? { ground_truth: number } : {}),
          },
          required: ['wind', 'left'],
          additionalProperties: false,
        },
  };
}

function taskRoutes({ start = 0, stop = TASKS }: { start?: number; stop?: number }, has: ReadonlySet<Defect>) {
  const cards = Array.from({ length: TASKS }, (_, index) => {
    return {
      id: `aim-${index}`,
      split: 'train',
      index,
      ...(has.has('solution-in-card') ? { solution: 3 + index } : {}),
    };
  });
  return {
    '/toy/splits': [{ name: 'train', type: 'train' }],
    '/toy/task_range': { tasks: cards.slice(start, stop) },
  };
}
