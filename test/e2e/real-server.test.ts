// A server of somebody else's as the real side of a scenario, by the command line: recorded, evaluated in, shadowed, judged against.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonLines } from '../data.js';
import { PythonServers, pythonOf } from '../env/servers/python-server.js';
import { temporaryFolder } from '../temporary-folder.js';
import { reverie, set } from './reverie.js';

const python = await pythonOf('openenv');

describe.skipIf(python === undefined)("a scenario on OpenEnv's own echo server", () => {
  const folder = temporaryFolder('real');
  let servers: PythonServers;
  let url: string;
  beforeAll(async () => {
    servers = new PythonServers(python!, 'openenv_servers.py');
    url = await servers.start('echo 8');
    const scenario = [
      'family: tools',
      'name: echo',
      `domain: { openenv: "${url}" }`,
      'agent: { kind: random, steps: 4 }',
      'synth: { episodes: 4 }',
    ];
    writeFileSync(join(folder, 'scenario.yaml'), scenario.join('\n'));
  }, 60_000);
  afterAll(() => servers?.close());

  it('is recorded: the same again for the same seed', async () => {
    for (const out of ['one', 'two']) {
      const { code, stderr } = await reverie(['collect', '.', '--out', out], folder);
      expect([code, stderr]).toEqual([0, expect.anything()]);
    }
    const [one, two] = ['one', 'two'].map((out) => jsonLines(join(folder, out, 'data', 'episodes.jsonl')));
    expect(one).toHaveLength(4);
    const told = (episodes: typeof one) => episodes.map(({ messages, verdict }) => ({ messages, verdict }));
    expect(told(one)).toEqual(told(two));
    for (const { source, verdict, steps } of one) {
      expect(source).toBe('real');
      const paid = steps.reduce((sum: number, { reward }: { reward: number }) => sum + reward, 0);
      expect(verdict.reward).toBeCloseTo(paid);
    }
  });

  it('is evaluated in, and its death between rows stops nothing', async () => {
    const run = reverie(['eval', '.', '--out', 'eval', '--set', 'synth.episodes=20', '--json'], folder);
    let isOver = false;
    void run.then(() => {
      isOver = true;
    });
    // A server that is not there at the beginning is an error.
    const begun = join(folder, 'eval', 'journal', 'rollouts.journal');
    while (!isOver && !existsSync(begun)) await new Promise((resolve) => setTimeout(resolve, 5));
    await servers.restart(url, 'echo 8');
    const { code, stdout } = await run;
    expect(code).toBe(0);
    expect(JSON.parse(stdout.trim().split('\n').at(-1)!)).toMatchObject({ episodes: 20, failed: {} });
  });

  it('is what models are judged against', async () => {
    const few = ['fidelity.questions=5', 'fidelity.episodes=2', 'fidelity.sections=[one-step,k-steps]'];
    const flags = set('model.backends=[real]', ...few);
    const { code, stderr } = await reverie(['fidelity', '.', '--out', 'judged', ...flags], folder);
    expect([code, stderr]).toEqual([0, expect.anything()]);
    const report = JSON.parse(readFileSync(join(folder, 'judged', 'fidelity.json'), 'utf8'));
    expect(JSON.stringify(report)).toContain('as its server answered them');
  });
});
