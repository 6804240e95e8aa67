// Every file and every command of docs/tutorial-desk.md, in its order, in a folder of its own.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { reverie, startReverie } from '../e2e/reverie.js';
import { freePort } from '../free-port.js';
import { temporaryFolder } from '../temporary-folder.js';

const PAGE = readFileSync(fileURLToPath(new URL('../../docs/tutorial-desk.md', import.meta.url)), 'utf8');
const files = [...PAGE.matchAll(/^[^\n]*`(desk\/[\w.]+)`:\n\n```\w+\n(.*?)^```$/gms)];
const commands = [...PAGE.matchAll(/^```bash\n(.*?)^```$/gms)].flatMap((match) => match[1].trim().split('\n'));

let folder: string;

beforeAll(() => {
  folder = temporaryFolder('desk');
  mkdirSync(join(folder, 'desk'));
  for (const [, name, text] of files) writeFileSync(join(folder, name), text);
});

describe('a desk without code', () => {
  it('has the files and commands this test knows', () => {
    expect(files.map(([, name]) => name.slice(5))).toEqual([
      ...['policy.md', 'tools.yaml', 'state.json', 'state.schema.json', 'rules.yaml', 'tasks.yaml', 'scenario.yaml'],
    ]);
    expect(commands.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
      ...['reverie check-env', 'reverie audit', 'reverie synth', 'reverie serve', 'curl -s'],
    ]);
  });

  it.each([
    [0, /sound|passed/],
    [1, /fit to give rewards/],
    [2, /answered by +\d+ rules/],
  ])('runs command %s', async (at, said) => {
    const { code, stdout, stderr } = await reverie(commands[at].split(' ').slice(1), folder);
    expect([code, stdout + stderr]).toEqual([0, expect.stringMatching(said)]);
  });

  it('has made a dataset of exact rewards', () => {
    expect(existsSync(join(folder, 'runs/desk/report.html'))).toBe(true);
    const rows = readFileSync(join(folder, 'runs/desk/data/episodes.jsonl'), 'utf8').trim().split('\n');
    expect(rows.every((row) => [0, 1, null].includes(JSON.parse(row).verdict.reward))).toBe(true);
  });

  it('is served', async () => {
    const port = String(await freePort());
    const { child, outcome } = startReverie(commands[3].replace('8123', port).split(' ').slice(1), folder);
    const ready = new Promise((resolve) => child.stdout!.on('data', (text) => /Ctrl-C/.test(text) && resolve(true)));
    await ready;
    const { status } = await fetch(commands[4].split(' ').at(-1)!.replace('8123', port));
    expect(status).toBe(200);
    child.kill('SIGTERM');
    expect((await outcome).code).toBe(0);
  }, 60_000);

  it('reports a mistake with file, line and expression', async () => {
    const file = join(folder, 'desk/rules.yaml');
    const rules = readFileSync(file, 'utf8');
    writeFileSync(file, rules.replace('require: bike.free', 'require: bike.fre'));
    const { code, stderr } = await reverie(['check-env', './desk'], folder);
    writeFileSync(file, rules);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/rules\.yaml", line 22: .*"bike\.fre": there is no field "fre" \(did you mean "free"\?\)/),
    ]);
  });
});
