// `reverie synth --aim RUN`: new tasks of what an agent could not do, in the tasks, the columns and the report; and what each filter
// removed, in report, card and result.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reverie } from './reverie.js';

let folder: string;
const at = (...path: string[]) => join(folder, ...path);
const text = (...path: string[]) => readFileSync(at(...path), 'utf8');
const result = (run: string) => JSON.parse(text(run, 'result.json'));
const synth = (out: string, ...more: string[]) =>
  reverie(
    [
      'synth',
      'helpdesk',
      '--set',
      'synth.episodes=40',
      '--set',
      'agent.failures=0.5',
      '--out',
      out,
      '--quiet',
      ...more,
    ],
    folder,
  );

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-aimed-'));
  expect(await synth('first')).toMatchObject({ code: 0 });
  const aimed = ['--aim', 'first', '--set', 'tasks.variation.count=4'];
  expect(await synth('aimed', ...aimed)).toMatchObject({ code: 0 });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Lived {
  readonly task: string;
  readonly aim?: string;
  readonly lostBy?: string;
}
const episodes = (run: string) =>
  text(run, 'data', 'episodes.jsonl')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Lived);

describe('what lost episodes', () => {
  it('is told by the episode, the result and the report', () => {
    const { deficits, lostBy } = result('first');
    expect(deficits.length).toBeGreaterThan(1);
    const lost = deficits.reduce((sum: number, { lost }: { lost: number }) => sum + lost, 0);
    expect(lost).toBeGreaterThanOrEqual(Object.values<number>(lostBy).reduce((a, b) => a + b, 0));
    expect(new Set(episodes('first').flatMap(({ lostBy }) => lostBy ?? [])).size).toBeGreaterThan(1);
    expect(text('first', 'report.html')).toContain('What the agent cannot do yet');
  });

  it('is what new tasks are aimed at, the same for the same seed', async () => {
    const { tasks } = JSON.parse(text('aimed', 'tasks.json'));
    expect(tasks.length).toBe(4);
    const known = result('first').deficits.map(({ name }: { name: string }) => name);
    for (const { origin } of tasks) expect(known).toContain(origin.aim);
    const made = new Map(tasks.map(({ id, origin }: { id: string; origin: { aim: string } }) => [id, origin.aim]));
    for (const { task, aim } of episodes('aimed')) expect(aim).toBe(made.get(task));
    expect(result('aimed').newTasks).toBe(4);
  });

  it('has to be of the same domain', async () => {
    const { code, stderr } = await reverie(['synth', 'cellar', '--aim', 'first', '--out', 'other', '--quiet'], folder);
    expect([code, stderr]).toEqual([1, expect.stringContaining('AIM_EMPTY')]);
  });
});

describe('what filters removed', () => {
  it('stands in report, card, page and result, with the same counts', () => {
    const { removed, accepted, imitated } = result('first');
    const kinds = removed.map(({ kind }: { kind: string }) => kind);
    expect(kinds).toEqual(
      expect.arrayContaining(['a mistake made on purpose', 'a failed call', 'its reward is below 1']),
    );
    const unfit = removed.filter(({ filter }: { filter: string }) => filter === 'imitation');
    expect(unfit.reduce((sum: number, { episodes }: { episodes: number }) => sum + episodes, 0)).toBe(
      accepted - imitated,
    );
    const [report, card, page] = [
      text('first', 'report.html'),
      text('first', 'datasets', 'openai', 'README.md'),
      text('first', 'datasets', 'openai', 'REMOVED.md'),
    ];
    expect(report).toContain('What each filter removed');
    for (const { kind, turns, episodes } of removed) {
      expect(card).toContain(`${turns} turns of ${episodes} episodes: ${kind}`);
      expect(page).toContain(
        `: ${kind}\n\n${turns} turns of ${episodes} episodes. The first ${Math.min(10, episodes)}:`,
      );
    }
  });
});
