// `reverie serve` in this process; signals are sent to it as the system would.

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/command-line.js';
import { recordingStream } from '../run/streams.js';
import { temporaryFolder } from '../temporary-folder.js';

const folder = temporaryFolder('serve');

function started(args: readonly string[], env: Record<string, string> = {}) {
  const terminal = { stdout: recordingStream(), stderr: recordingStream(), env };
  const ended = runCommandLine(['serve', ...args, '--port', '0', '--out', join(folder, 'out')], terminal);
  const said = new Promise<string>((resolve) => {
    const write = terminal.stdout.write.bind(terminal.stdout);
    terminal.stdout.write = ((chunk: string) => {
      resolve(String(chunk));
      return write(chunk);
    }) as typeof terminal.stdout.write;
  });
  return { terminal, ended, ready: Promise.race([said, ended.then((code) => Promise.reject(new Error(`${code}`)))]) };
}

async function refused(...args: string[]) {
  const terminal = { stdout: recordingStream(), stderr: recordingStream(), env: {} };
  return { exitCode: await runCommandLine(['serve', ...args], terminal), stderr: terminal.stderr.text() };
}

describe('reverie serve', () => {
  it('says where each protocol is reached, logs to stderr, and ends calmly', async () => {
    // Other files' tests run in this process too, and may listen.
    const listening = process.listenerCount('SIGTERM');
    const { terminal, ended, ready } = started(['pendulum', 'two=pendulum', '--drain-seconds', '1']);
    const said = await ready;
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)![0];
    expect(said).toMatch(/^environment +source +family/);
    for (const part of ['two ', 'openenv', 'ors', 'native', `${url}/openapi.json`, 'Ctrl-C'])
      expect(said).toContain(part);
    expect((await fetch(`${url}/v1/environments`)).status).toBe(200);
    process.emit('SIGTERM', 'SIGTERM');
    expect(await ended).toBe(0);
    const lines = terminal.stderr
      .text()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ msg }) => msg)).toEqual(expect.arrayContaining(['ready', 'request', 'stopped']));
    expect(process.listenerCount('SIGTERM')).toBeLessThanOrEqual(listening);
  });

  it('tells scripts in one line of JSON, and takes the token of the environment', async () => {
    const token = 'token-of-the-environment';
    const { terminal, ended, ready } = started(['pendulum', '--json', '--log-level', 'warn'], { REVERIE_TOKEN: token });
    const { url, pid, environments, endpoints } = JSON.parse(await ready);
    expect({ pid, environments }).toEqual({
      pid: process.pid,
      environments: [{ name: 'pendulum', family: 'vector', source: 'real' }],
    });
    expect(endpoints.map(({ protocol }: { protocol: string }) => protocol)).toContain('openenv');
    expect((await fetch(`${url}/v1/environments`)).status).toBe(401);
    expect((await fetch(`${url}/v1/environments`, { headers: { 'x-api-key': token } })).status).toBe(200);
    process.emit('SIGINT', 'SIGINT');
    expect(await ended).toBe(0);
    expect(terminal.stdout.text().trim().split('\n')).toHaveLength(1);
    expect(terminal.stderr.text()).not.toContain(token);
    expect(terminal.stderr.text()).toContain('stopping');
  });

  it.each([
    [['--port', 'x'], '--port was given as "x"; expected a whole number from 0 to 65535.'],
    [['--max-sessions', '0'], '--max-sessions was given as "0"'],
    [['--step-timeout', '-1'], '--step-timeout was given as "-1"'],
    [['--log-level', 'loud'], '--log-level was given as "loud"; expected one of debug'],
    [['--model', 'a', '--model', 'b'], '--model was given as "b"; expected name=folder'],
    [['--token-file', 'none.yaml'], 'no such file'],
    [['--host', '0.0.0.0'], 'Give --token-file FILE or set REVERIE_TOKEN'],
  ])('refuses %j', async (flags, message) => {
    const { exitCode, stderr } = await refused('pendulum', '--port', '0', ...flags, '--out', join(folder, 'refused'));
    expect(stderr).toContain(message);
    expect(exitCode).toBe(1);
  });
});
