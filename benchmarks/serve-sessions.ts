// How many sessions one core serves while each step waits a second: OpenEnv's WebSocket protocol, ours and OpenEnv's own
// server on the same core one after the other, the client on the other core. Both servers are new for each number and get the
// same steps to warm up. A number of sessions is carried if at least 99.9 % of the steps are answered and the 99th percentile of
// a step is at most 2 s.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { WebSocket } from 'ws';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, median } from './measure.js';
import { PythonPeer } from './python-peer.js';
import { askSocket, closeSockets, openSockets } from './serve-sockets.js';
import type { WaitWish } from './serve-wait-server.js';

const WAIT_SECONDS = 1;
const STEPS = 8;
/** Steps that each session takes first and that are not timed: how fast a process is that has just begun is not asked. */
const WARM_UP = 2;
const LADDER = [512, 1024, 2048, 4096, 8192];
const OK_SHARE = 0.999;
const P99_SECONDS = 2;
/** Above this, whoever has not answered is counted as failed. */
const PATIENCE_SECONDS = 30;
const SERVER_CORE = 0;

interface Rung {
  readonly sessions: number;
  readonly okShare: number;
  readonly p50Seconds: number;
  readonly p99Seconds: number;
  readonly stepsPerSecond: number;
  readonly carried: boolean;
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const ladder = quick ? [16, 32] : LADDER;
  const rounds = quick ? 1 : 3;
  const ours: Rung[][] = [];
  const reference: Rung[][] = [];
  for (let round = 0; round < rounds; round++) {
    ours.push(await climbed('ours', () => startOurs(Math.max(...ladder)), ladder, log));
    reference.push(await climbed('OpenEnv', () => startReference(root, Math.max(...ladder), log), ladder, log));
  }
  const ratios = ours.map((rungs, round) => carried(rungs) / carried(reference[round]));
  const raw = {
    waitSeconds: WAIT_SECONDS,
    stepsEach: STEPS,
    warmUpStepsEach: WARM_UP,
    cores: 'the server has one, the client the other',
    ours,
    openEnv: reference,
    oursSessions: ours.map(carried),
    openEnvSessions: reference.map(carried),
  };
  return { ...bootstrap(ratios, median), n: rounds, raw, versions: { 'openenv-core': '0.3.0' } };
}

/** The most sessions that were carried; at least one, so that a ratio is defined. */
function carried(rungs: readonly Rung[]): number {
  return Math.max(1, ...rungs.filter((rung) => rung.carried).map(({ sessions }) => sessions));
}

interface Started {
  readonly url: string;
  stop(): Promise<void>;
}

/** Rung after rung until one is not carried. */
async function climbed(
  name: string,
  start: () => Promise<Started>,
  ladder: readonly number[],
  log: (line: string) => void,
): Promise<Rung[]> {
  const rungs: Rung[] = [];
  for (const sessions of ladder) {
    const server = await start();
    try {
      const rung = await measured(server.url, sessions);
      rungs.push(rung);
      const { okShare, p99Seconds, stepsPerSecond } = rung;
      log(
        `${name}, ${sessions} sessions: ${(100 * okShare).toFixed(2)} % ok, p99 ${p99Seconds.toFixed(2)} s, ${Math.round(stepsPerSecond)} steps/s`,
      );
      if (!rung.carried) break;
    } finally {
      await server.stop();
    }
  }
  return rungs;
}

async function measured(url: string, sessions: number): Promise<Rung> {
  const sockets = await openSockets(url, sessions);
  try {
    const resets = await Promise.allSettled(sockets.map((socket) => askSocket(socket, { type: 'reset', data: {} })));
    const isReset = resets.map(({ status }) => status === 'fulfilled');
    const isWarm = await Promise.all(sockets.map((socket, i) => (isReset[i] ? live(socket, WARM_UP, []) : false)));
    const seconds: number[] = [];
    const started = performance.now();
    await Promise.all(sockets.map((socket, i) => (isWarm[i] ? live(socket, STEPS, seconds) : false)));
    const wall = (performance.now() - started) / 1000;
    seconds.sort((a, b) => a - b);
    const at = (share: number) => seconds[Math.min(seconds.length - 1, Math.floor(share * seconds.length))] ?? Infinity;
    const okShare = seconds.length / (sessions * STEPS);
    const [p50Seconds, p99Seconds] = [at(0.5), at(0.99)];
    const isCarried = okShare >= OK_SHARE && p99Seconds <= P99_SECONDS;
    return { sessions, okShare, p50Seconds, p99Seconds, stepsPerSecond: seconds.length / wall, carried: isCarried };
  } finally {
    closeSockets(sockets);
  }
}

/** Steps one session, noting how long each answered step took; one that fails or is silent too long ends. Whether it took all. */
async function live(socket: WebSocket, steps: number, seconds: number[]): Promise<boolean> {
  for (let step = 0; step < steps; step++) {
    const started = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('silent')), PATIENCE_SECONDS * 1000);
    });
    try {
      await Promise.race([askSocket(socket, { type: 'step', data: { values: [0] } }), silence]);
      seconds.push((performance.now() - started) / 1000);
    } catch {
      return false;
    } finally {
      clearTimeout(timer);
    }
  }
  return true;
}

async function startOurs(sessions: number): Promise<Started> {
  const script = fileURLToPath(new URL('./serve-wait-server.js', import.meta.url));
  const child = spawn('taskset', ['-c', String(SERVER_CORE), process.execPath, script], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.send({ waitSeconds: WAIT_SECONDS, sessions } satisfies WaitWish);
  const [url] = (await once(child, 'message')) as [string];
  const stop = async () => {
    const exit = once(child, 'exit');
    child.disconnect();
    await exit;
  };
  return { url, stop };
}

async function startReference(root: string, sessions: number, log: (line: string) => void): Promise<Started> {
  const peer = await PythonPeer.start({
    name: 'openenv',
    requirements: ['openenv-core==0.3.0'],
    script: 'openenv_wait.py',
    root,
    log,
  });
  const url = await peer.call<string>('start', { wait: WAIT_SECONDS, sessions, core: SERVER_CORE });
  return { url, stop: () => peer.close() };
}
