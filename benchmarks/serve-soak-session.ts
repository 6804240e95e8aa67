// One client of serve.soak: lives episodes on the server and, beside them, in an environment of its own, its twin. What
// the server answers must be, to the last digit, what the twin does.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import type { VectorEnvironment } from '../src/core/environment.js';
import { Rng } from '../src/core/rng.js';
import { makeEnvironment } from '../src/env/make-environment.js';
import type { ToolsTask } from '../src/env/tools/domain.js';
import { makeDomain } from '../src/env/tools/domains.js';
import type { ToolsAction, ToolsEnvironment } from '../src/env/tools/tools-family.js';
import { loadToolsScenario } from '../src/run/scenario.js';
import { openServable } from '../src/run/servable.js';
import { askSocket, openSockets, type Reply } from './serve-sockets.js';

/** Every so many is a client of the help desk. */
const DESK_EVERY = 20;
const STEP_SECONDS = 2;
/** Share of episodes after which a client leaves and another comes. */
const LEAVES = 0.2;
const GOOD_BYE = 'Done. Good-bye.';

export interface SoakCounts {
  steps: number;
  episodes: number;
  reconnects: number;
  readonly disagreements: string[];
}

/** Environments like the server's, without a server. */
export interface SoakTwins {
  readonly deskTasks: readonly ToolsTask[];
  pendulum(): Promise<VectorEnvironment>;
  desk(): Promise<ToolsEnvironment>;
  close(): Promise<void>;
}

export async function soakTwins(): Promise<SoakTwins> {
  const folder = mkdtempSync(join(tmpdir(), 'reverie-soak-'));
  const scenario = await loadToolsScenario('helpdesk');
  const domain = await makeDomain(scenario.config.domain, { folder: scenario.folder });
  const desk = await openServable(scenario, { folder, log: () => {} });
  return {
    deskTasks: domain.tasks.filter(({ reference }) => reference !== undefined),
    pendulum: () => makeEnvironment({ id: 'pendulum' }),
    desk: async () => (await desk.make()) as ToolsEnvironment,
    close: async () => {
      await desk.close();
      domain.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export class SoakSession {
  private readonly rng: Rng;
  private socket: WebSocket | undefined;

  constructor(
    private readonly index: number,
    private readonly url: string,
    private readonly twins: SoakTwins,
    private readonly counts: SoakCounts,
  ) {
    this.rng = Rng.fromSeed(11).split('client', index);
  }

  async live(until: number): Promise<void> {
    const isDesk = this.index % DESK_EVERY === 0;
    const [pendulum, desk] = isDesk ? [undefined, await this.twins.desk()] : [await this.twins.pendulum(), undefined];
    await sleep(1000 * STEP_SECONDS * this.rng.uniform());
    while (performance.now() < until) {
      await this.connect(isDesk);
      await (desk === undefined ? this.swing(pendulum!, until) : this.serve(desk, until));
      this.counts.episodes++;
      if (this.rng.uniform() < LEAVES) this.leave();
    }
    this.leave();
  }

  private async connect(isDesk: boolean): Promise<void> {
    if (this.socket !== undefined) return;
    [this.socket] = await openSockets(`${this.url}/envs/${isDesk ? 'helpdesk' : 'pendulum'}`, 1);
    this.counts.reconnects++;
  }

  private leave(): void {
    this.socket?.close();
    this.socket = undefined;
  }

  private async swing(twin: VectorEnvironment, until: number): Promise<void> {
    const seed = this.rng.int(1 << 30);
    const { observation } = await twin.reset({ seed });
    this.same(await this.ask('reset', { seed }), { values: Array.from(observation) }, null);
    for (let done = false; !done && performance.now() < until; ) {
      await this.pause();
      const action = Float32Array.of(4 * this.rng.uniform() - 2);
      const next = await twin.step(action);
      done = next.terminated || next.truncated;
      const reply = await this.ask('step', { values: Array.from(action) });
      this.same(reply, { values: Array.from(next.observation) }, next.reward, done);
    }
  }

  /** A task's reference calls, then words to the user until it has nothing more to say. */
  private async serve(twin: ToolsEnvironment, until: number): Promise<void> {
    const task = this.twins.deskTasks[this.rng.int(this.twins.deskTasks.length)];
    const seed = this.rng.int(1 << 30);
    await twin.reset({ seed, task: task.id });
    await this.ask('reset', { seed, task: task.id });
    const { calls, say = GOOD_BYE } = task.reference!;
    for (let step = 0, done = false; !done && performance.now() < until; step++) {
      await this.pause();
      const call = calls[step] ?? {
        name: 'respond_to_user',
        arguments: { content: step === calls.length ? say : GOOD_BYE },
      };
      const next = await twin.step(actionOf(call, step));
      done = next.terminated || next.truncated;
      const told = next.observation.messages.at(-1)?.content ?? '';
      const reply = await this.ask('step', { type: 'call_tool', tool_name: call.name, arguments: call.arguments });
      this.sameAnswer(reply, told, next.reward, done);
    }
  }

  private ask(type: 'reset' | 'step', data: object): Promise<Reply> {
    this.counts.steps += type === 'step' ? 1 : 0;
    return askSocket(this.socket!, { type, data });
  }

  private pause(): Promise<void> {
    return sleep(1000 * STEP_SECONDS * (0.5 + this.rng.uniform()));
  }

  private same({ data }: Reply, observation: { values: number[] }, reward: number | null, done = false): void {
    const found = { values: (data.observation as { values?: number[] }).values, reward: data.reward, done: data.done };
    const wanted = { ...observation, reward, done };
    if (JSON.stringify(found) !== JSON.stringify(wanted)) this.differ(found, wanted);
  }

  private sameAnswer({ data }: Reply, told: string, reward: number, done: boolean): void {
    const { result } = data.observation as { result?: { data?: string } };
    const isTold = result?.data === undefined || result.data === told || done;
    if (!isTold || (data.reward ?? 0) !== reward || data.done !== done) {
      this.differ({ said: result?.data, reward: data.reward, done: data.done }, { said: told, reward, done });
    }
  }

  private differ(found: object, wanted: object): void {
    this.counts.disagreements.push(`client ${this.index}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
  }
}

function actionOf(call: { name: string; arguments: object }, step: number): ToolsAction {
  const { content } = call.arguments as { content?: string };
  if (call.name === 'respond_to_user') return { content: content! };
  return { content: null, toolCalls: [{ id: `call_${step}`, name: call.name, arguments: call.arguments as never }] };
}
