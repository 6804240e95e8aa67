// Every command of docs/tutorial-hotel.md, in its order, in a folder of its own.

import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { reverie, startReverie } from '../e2e/reverie.js';
import { freePort } from '../free-port.js';
import { temporaryFolder } from '../temporary-folder.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE = readFileSync(join(ROOT, 'docs/tutorial-hotel.md'), 'utf8');
const blocks = [...PAGE.matchAll(/^```bash\n(.*?)^```$/gms)].map((match) => match[1].trim().split('\n'));

const folder = temporaryFolder('hotel');

beforeAll(() => {
  cpSync(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true });
});

/** Runs a line of the page and answers what it printed. */
async function run(line: string): Promise<string> {
  const [program, ...args] = line.split(' ');
  if (program === 'cp') {
    cpSync(join(folder, args[1]), join(folder, args[2]), { recursive: true });
    return '';
  }
  expect(program).toBe('reverie');
  const { code, stdout, stderr } = await reverie(args, folder);
  if (code !== 0) throw new Error(`${line} ended with ${code}:\n${stdout}${stderr}`);
  return stdout;
}

describe('the hotel from three logs', () => {
  it('has the commands this test knows', () => {
    expect(blocks.map((lines) => lines.map((line) => line.split(' ').slice(0, 2).join(' ')))).toEqual([
      ['cp -r', 'reverie induce'],
      ['reverie audit'],
      ['reverie synth'],
      ['reverie validate', 'reverie serve'],
      ['curl -s'],
      ['reverie induce'],
    ]);
  });

  it('finds rules and says so in the words of the page', async () => {
    await run(blocks[0][0]);
    const found = await run(blocks[0][1]);
    const shown = /```text\n(.*?)```/s.exec(PAGE)![1].trim().split('\n');
    const plain = (line: string) => line.replace(/\s+/g, ' ').trim();
    for (const line of shown) expect(plain(found)).toContain(plain(line));
    expect(found).toContain('3 tasks proposed.');
  });

  it('writes the rule that the page shows, is fit to give rewards, and makes a dataset', async () => {
    const shown = [...PAGE.matchAll(/```text\n(.*?)```/gs)][1][1].trim();
    expect(readFileSync(join(folder, 'hotel/rules.yaml'), 'utf8').replace(/\s+/g, ' ')).toContain(shown);
    expect(await run(blocks[1][0])).toContain('fit to give rewards');
    const made = await run(blocks[2][0]);
    expect(made).toMatch(/answered by +\d+ rules/);
    expect(existsSync(join(folder, 'runs/hotel/report.html'))).toBe(true);
    const rows = readFileSync(join(folder, 'runs/hotel/data/episodes.jsonl'), 'utf8').trim().split('\n');
    const rewards = new Set(rows.map((row) => JSON.parse(row).verdict.reward));
    expect([...rewards]).toEqual(expect.arrayContaining([0, 1]));
  });

  it('is served, and sound', async () => {
    expect(await run(blocks[3][0])).toContain('hotel: sound');
    const port = String(await freePort());
    const args = blocks[3][1].replace('8123', port).split(' ').slice(1);
    const { child, outcome } = startReverie(args, folder);
    const ready = new Promise((resolve) => child.stdout!.on('data', (text) => /Ctrl-C/.test(text) && resolve(true)));
    const url = blocks[4][0].split(' ').at(-1)!.replace('8123', port);
    await expect
      .poll(
        () =>
          fetch(url).then(
            (response) => response.status,
            () => 0,
          ),
        { timeout: 30_000 },
      )
      .toBe(200);
    await ready;
    child.kill('SIGTERM');
    expect((await outcome).code).toBe(0);
  }, 60_000);

  it('keeps what is there when logs are read again', async () => {
    expect(await run(blocks[5][0])).toContain('Left as they are: rules.yaml');
  });
});
