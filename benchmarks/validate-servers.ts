// Does `reverie validate` find what is wrong with a server, and leave alone what is not? A server of somebody else's gets one known
// defect after another; what has none, and OpenEnv's own server around its echo environment, must pass every check.

import { validateUrl } from '../src/serve/index.js';
import { PLANTED, type ToyOptions, toyServer } from '../test/serve/validate/toy-server.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { PythonPeer } from './python-peer.js';

const OPTIONS = { steps: 6, tasks: 2 };
const OPENENV = '0.3.0';
/** OpenEnv's default is one session at a time, which leaves nothing to see of a crowd. */
const ECHO_SESSIONS = [1, 16];
const SOUND: readonly ToyOptions[] = [{}, { tasks: false }, { capacity: 1 }];

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const falseAlarms = [...(await alarmsOfSound(log)), ...(await alarmsOfEcho(root, log))];
  if (falseAlarms.length > 0) throw new Error(`sound servers fail checks: ${falseAlarms.join('; ')}`);
  const planted = quick ? PLANTED.slice(-3) : PLANTED;
  const defects: { defect: string; check: string; found: boolean }[] = [];
  for (const [defect, check, options] of planted) {
    const server = await toyServer([defect], options);
    const failed = await failedAt(server.url).finally(() => server.stop());
    defects.push({ defect, check, found: failed.some(({ name }) => name === check) });
    log(`${defect}: ${failed.map(({ name }) => name).join(', ') || 'nothing found'}`);
  }
  const value = defects.filter(({ found }) => found).length / defects.length;
  const raw = { defects, falseAlarms: 0, soundServers: SOUND.length + ECHO_SESSIONS.length };
  return { value, low: value, high: value, n: defects.length, raw, versions: { 'openenv-core': OPENENV } };
}

async function alarmsOfSound(log: (line: string) => void): Promise<string[]> {
  const alarms: string[] = [];
  for (const options of SOUND) {
    const server = await toyServer([], options);
    alarms.push(...(await alarmsAt(server.url).finally(() => server.stop())));
    log(`a sound server ${JSON.stringify(options)}: ${alarms.length} false alarms so far`);
  }
  return alarms;
}

async function alarmsOfEcho(root: string, log: (line: string) => void): Promise<string[]> {
  const alarms: string[] = [];
  for (const sessions of ECHO_SESSIONS) {
    const requirements = [`openenv-core==${OPENENV}`];
    const peer = await PythonPeer.start({ name: 'openenv', requirements, script: 'openenv_echo.py', root, log });
    try {
      alarms.push(...(await alarmsAt(await peer.call<string>('start', { sessions }))));
    } finally {
      await peer.close();
    }
    log(`OpenEnv's echo server, ${sessions} sessions: ${alarms.length} false alarms so far`);
  }
  return alarms;
}

async function alarmsAt(url: string): Promise<string[]> {
  return (await failedAt(url)).map(({ name, detail }) => `${name}: ${detail}`);
}

async function failedAt(url: string) {
  return (await validateUrl(url, OPTIONS)).checks.filter(({ status }) => status === 'failed');
}
