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
  | 'step-count-stuck'
  | 'reward-nan'
  | 'ignores-seed'
  | 'steps-unseeded'
  | 'shared-state'
  | 'pays-for-nothing'
  | 'solution-in-observation'
  | 'task-broken'
  | 'tools-without-schema';

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

class Session {
  private episode: Episode = { id: null, steps: 0, target: 0, noise: Rng.fromSeed(0) };

  constructor(private readonly defects: ReadonlySet<Defect>) {}

  reset({ seed = 0, index = 0, episode_id = null }: { seed?: number; index?: number; episode_id?: string | null }) {
    if (this.has('task-broken') && index > 0) throw new Error('no such task');
    const noise = Rng.fromSeed(this.has('ignores-seed') ? whim++ : seed).split('noise');
    this.episode = { id: episode_id, steps: 0, target: 3 + index + noise.uniform(), noise };
    return this.reply(null, false);
  }

  step({ type, values: [aim] = [0] }: { type?: string; values?: number[] }) {
    if (type === 'list_tools') return { observation: { tools: [{ name: 'aim' }] }, reward: null, done: false };
    const { episode } = this;
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
    if (!done) return 0;
    if (this.has('pays-for-nothing')) return aim === 0 ? 1 : 0;
    return Math.abs(aim - this.episode.target) < 0.1 ? 1 : 0;
  }

  private reply(reward: unknown, done: boolean, aim = 0) {
    const { steps } = this.episode;
    const wind = this.has('steps-unseeded') && steps > 0 ? whim++ / 1000 : this.episode.noise.uniform() + aim;
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
  ['step-count-stuck', 'state'],
  ['reward-nan', 'rewards'],
  ['ignores-seed', 'seed-control'],
  ['steps-unseeded', 'determinism'],
  ['shared-state', 'concurrency'],
  ['pays-for-nothing', 'floor-gap'],
  ['solution-in-observation', 'no-leakage'],
  ['task-broken', 'declarations'],
  ['tools-without-schema', 'schemas'],
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
  /** Connections at once; more get no handshake. */
  readonly connections?: number;
}

export async function toyServer(
  defects: readonly Defect[],
  { tasks = true, capacity = Number.POSITIVE_INFINITY, connections = Number.POSITIVE_INFINITY }: ToyOptions = {},
): Promise<ToyServer> {
  const has = new Set(defects);
  const http = createServer(async (request, response) => {
    const body = await bodyOf(request);
    const [status, answer] = routeOf(String(request.url), body, has, tasks);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  const verifyClient = () => sockets.clients.size < connections;
  const sockets: WebSocketServer = new WebSocketServer({ server: http, path: '/ws', verifyClient });
  const shared = new Session(has);
  sockets.on('connection', (socket) => {
    if (sockets.clients.size > capacity) {
      send(socket, 'error', { message: 'Server at capacity', code: 'CAPACITY_REACHED' });
      socket.close();
      return;
    }
    const session = has.has('shared-state') ? shared : new Session(has);
    socket.on('error', () => undefined);
    socket.on('message', (data) => answer(socket, String(data), session));
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

function answer(socket: WebSocket, text: string, session: Session): void {
  const { type, data } = JSON.parse(text);
  try {
    if (type === 'close') socket.close();
    else if (type === 'state') send(socket, 'state', session.state);
    else send(socket, 'observation', type === 'reset' ? session.reset(data ?? {}) : session.step(data));
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
    ...(tasks ? taskRoutes(body) : {}),
  };
  return url in routes ? [200, routes[url]] : [404, { detail: 'Not Found' }];
}

function schemas(has: ReadonlySet<Defect>) {
  const number = { type: 'number' };
  return {
    action: {
      title: has.has('tools-without-schema') ? 'Action' : 'AimAction',
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

function taskRoutes({ start = 0, stop = TASKS }: { start?: number; stop?: number }) {
  const cards = Array.from({ length: TASKS }, (_, index) => {
    return { id: `aim-${index}`, split: 'train', index };
  });
  return {
    '/toy/splits': [{ name: 'train', type: 'train' }],
    '/toy/task_range': { tasks: cards.slice(start, stop) },
  };
}
