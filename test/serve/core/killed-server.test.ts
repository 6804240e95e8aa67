// A server is killed while clients step, again and again. Every session goes on exactly where its last answer left it, and
// a request that is sent again is no second step.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { compiledUrl } from '../../../src/core/threads.js';
import { loadAnyScenario } from '../../../src/run/scenario.js';
import { openServable, type Servable } from '../../../src/run/servable.js';
import { temporaryFolder } from '../../temporary-folder.js';

const NAMES = ['pendulum', 'helpdesk'];
const SESSIONS = 4;
const STEPS = 12;
const KILLS = 2;

const compiled = (path: string) =>
  compiledUrl(new URL(`../../../src/${path}.ts`, import.meta.url).href, `./${path.split('/').at(-1)}.js`);

const MODULES = JSON.stringify(['run/scenario', 'run/servable', 'serve/core/sessions'].map(compiled));
const PROGRAM = fileURLToPath(new URL('killed-server.mjs', import.meta.url));

// biome-ignore lint/suspicious/noExplicitAny: what came over the wire
type Answer = any;

/** The server as its clients see it: what was asked when it died is never answered. */
class Server {
  private readonly waiting = new Map<number, { resolve: (answer: Answer) => void; reject: (error: Error) => void }>();
  private asked = 0;

  private constructor(private readonly child: ChildProcess) {
    child.once('exit', () => {
      for (const { reject } of this.waiting.values()) reject(new Error('killed'));
    });
  }

  static async start(persist: string, folder: string): Promise<Server> {
    const argv = [PROGRAM, persist, folder, MODULES, ...NAMES];
    const child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
    const server = new Server(child);
    const lines = createInterface({ input: child.stdout! });
    const [line] = await Promise.race([once(lines, 'line'), once(child, 'exit')]);
    if (line !== 'ready') throw new Error(`the server did not start: ${line}`);
    lines.on('line', (line) => {
      const { n, answer } = JSON.parse(line);
      server.waiting.get(n)?.resolve(answer);
      server.waiting.delete(n);
    });
    return server;
  }

  ask(verb: string, args: object): Promise<Answer> {
    const n = this.asked++;
    return new Promise((resolve, reject) => {
      this.waiting.set(n, { resolve, reject });
      this.child.stdin!.write(`${JSON.stringify({ n, verb, args })}\n`, () => {});
    });
  }

  async kill(): Promise<void> {
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
  }
}

interface Client {
  readonly id: string;
  readonly env: string;
  readonly seed: number;
  readonly actions: readonly unknown[];
  /** Answers in order; the first is the reset's. */
  readonly answers: Answer[];
}

function clients(): Client[] {
  const rng = Rng.fromSeed(5);
  return Array.from({ length: SESSIONS }, (_, i) => {
    const env = NAMES[i % NAMES.length];
    const call = (n: number) => ({
      content: null,
      toolCalls: [{ id: `c${n}`, name: 'no_such_tool', arguments: { n } }],
    });
    const kinds: Record<string, (n: number) => unknown> = {
      pendulum: () => [rng.int(3) - 1],
      helpdesk: call,
    };
    const action = kinds[env];
    return {
      id: `session ${i}`,
      env,
      seed: 40 + i,
      actions: Array.from({ length: STEPS }, (_, n) => action(n)),
      answers: [],
    };
  });
}

/** Goes on until all is done or the server dies. */
async function live(server: Server, { id, seed, actions, answers }: Client): Promise<void> {
  try {
    if (answers.length === 0) answers.push(await server.ask('reset', { id, seed, requestId: 'reset' }));
    while (answers.length <= actions.length) {
      const n = answers.length - 1;
      answers.push(await server.ask('step', { id, action: actions[n], requestId: `step ${n}` }));
      if (answers.at(-1).terminated || answers.at(-1).truncated) return;
    }
  } catch (error) {
    expect((error as Error).message).toBe('killed');
  }
}

const folder = temporaryFolder('killed');
const served = new Map<string, Servable>();
beforeAll(async () => {
  for (const name of NAMES) {
    const options = { folder: join(folder, 'own'), real: true, log: () => {} };
    served.set(name, await openServable(await loadAnyScenario(name), options));
  }
});
afterAll(async () => {
  for (const one of served.values()) await one.close();
});

/** What the same client is answered by an environment of its own, which nobody kills. */
async function undisturbed({ env: name, seed, actions, answers }: Client): Promise<unknown[]> {
  const env = await served.get(name)!.make();
  const seen: unknown[] = [(await env.reset({ seed })).observation];
  for (const action of actions.slice(0, answers.length - 1)) {
    const decoded = Array.isArray(action) ? Float32Array.from(action) : action;
    seen.push((await env.step(decoded)).observation);
  }
  await env.close();
  return seen;
}

it('loses and doubles nothing', async () => {
  const persist = join(folder, 'sessions');
  const rng = Rng.fromSeed(6);
  const all = clients();
  let server = await Server.start(persist, folder);
  for (const { id, env } of all) await server.ask('open', { id, env });
  for (let kill = 0; kill < KILLS; kill++) {
    const living = Promise.all(all.map((client) => live(server, client)));
    const wanted = Math.min(...all.map(({ answers }) => answers.length)) + 2 + rng.int(3);
    // In the middle of whatever is going on by then.
    while (all[rng.int(SESSIONS)].answers.length < wanted) await new Promise((resolve) => setTimeout(resolve, 1));
    await server.kill();
    await living;
    server = await Server.start(persist, folder);
    for (const { id, answers } of all) {
      const { stepCount, status } = await server.ask('state', { id });
      if (answers.length === 0) continue;
      expect(status).not.toBe('idle');
      // At most the one step whose answer was under way when the server died.
      expect([answers.length - 1, answers.length]).toContain(stepCount);
    }
  }
  await Promise.all(all.map((client) => live(server, client)));
  await server.kill();
  for (const client of all) {
    expect(client.answers.length).toBeGreaterThan(1);
    expect(client.answers.map(({ stepCount }) => stepCount)).toEqual(client.answers.map((_, n) => n));
    const expected = JSON.parse(JSON.stringify(await undisturbed(client)));
    expect(client.answers.map(({ observation }) => observation)).toEqual(expected);
  }
}, 120_000);
