// Before and after each filter: episodes, turns that are learnt, and what went, with examples that can be read.

import { describe, expect, it } from 'vitest';
import type { EpisodeRecord } from '../../../src/replay/index.js';
import { removedPage, removedTable } from '../../../src/synth/export/episodes/removed.js';
import { QualityPipeline, qualitySchema, stagesOf } from '../../../src/synth/index.js';
import { call, parcelDomain, parcelTask, record, type Turn, USUAL } from '../episode-records.js';

const tickets = { 'TCK-1': { status: 'open' }, 'TCK-2': { status: 'closed' } };
const asked: Turn = { user: 'Please close TCK-1.' };
const failed = call('get_parcel', { parcel_id: 'TCK-1' }, 'Error: locked', { isError: true });

function reported(rows: readonly EpisodeRecord[]) {
  const tasks = rows.map(({ task }) => parcelTask(task));
  const domain = parcelDomain({ initialState: { tickets }, tasks });
  const config = qualitySchema.parse({ nearDuplicates: false, decontaminate: { words: false } });
  const pipeline = new QualityPipeline({ config, domain });
  for (const row of rows) pipeline.judge(row);
  return pipeline.report();
}

const removedOf = (report: ReturnType<typeof reported>, name: string) =>
  stagesOf(report).find((stage) => stage.name === name)!;

describe('what filters removed', () => {
  it('is counted in episodes and in turns of the agent, by kind', () => {
    const claims = record({
      turns: [asked, failed, { say: 'It is done.' }, { user: 'Sure?' }, { say: 'TCK-1 is closed.' }],
    });
    const report = reported([claims, record(), record({ turns: [...USUAL], reward: 0 })]);
    const { in: before, out, turnsIn, turnsOut, removed } = removedOf(report, 'claims');
    expect([before, out, turnsIn, turnsOut]).toEqual([3, 3, 9, 6]);
    expect(Object.entries(removed).map(([kind, { episodes, turns }]) => [kind, episodes, turns])).toEqual([
      ['a claim against the state', 1, 1],
      ['a failed call', 1, 1],
      ['text after a failed call', 1, 1],
    ]);
    const imitation = removedOf(report, 'imitation');
    expect([imitation.in, imitation.out, imitation.turnsIn, imitation.turnsOut]).toEqual([3, 2, 6, 3]);
  });

  it('adds up: what one leaves the next is given, and what went is what its kinds say', () => {
    const cut: Turn[] = [...USUAL, { user: 'And now?' }, call('teleport', {}), { say: 'Done.' }];
    const rows = [record({ turns: cut }), record({ masked: [2] }), record({ reward: null }), record()];
    const report = reported(rows);
    const stages = stagesOf(report);
    expect(stages[0].turnsIn).toBe(
      rows.flatMap(({ messages }) => messages.filter(({ role }) => role === 'assistant')).length,
    );
    for (const [at, { turnsIn, turnsOut, removed }] of stages.entries()) {
      if (at > 0) expect(turnsIn).toBe(stages[at - 1].turnsOut);
      const went = Object.values(removed).reduce((sum, { turns }) => sum + turns, 0);
      expect(turnsIn - turnsOut).toBe(went);
    }
    expect(removedOf(report, 'recipe').removed).toMatchObject({
      'a mistake made on purpose': { episodes: 1, turns: 1 },
    });
    expect(removedOf(report, 'schema').removed['a call that does not fit its schema'].examples[0].because).toContain(
      'teleport',
    );
    // The episode that was cut has lost its reward with its end.
    expect(removedOf(report, 'imitation').removed).toMatchObject({
      'not judged': { episodes: 2 },
    });
  });

  it('is shown: the turn, what came before it, and what the state says', () => {
    const rows = Array.from({ length: 12 }, () =>
      record({ turns: [asked, call('list_shelves', {}, '[1]'), { say: 'TCK-1 is closed.' }] }),
    );
    const kind = removedOf(reported(rows), 'claims').removed['a claim against the state'];
    expect([kind.episodes, kind.examples.length]).toEqual([12, 10]);
    const { messages, turn, because, row, omitted } = kind.examples[0];
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(messages[turn].content).toBe('TCK-1 is closed.');
    expect(because).toBe('the state says of tickets/TCK-1: status is "open", not "closed"');
    expect([row, omitted]).toEqual([rows[0].row, 0]);
  });

  it('leaves out what lies between the wish and the turn, and says how much', () => {
    const looks = [1, 2, 3, 4].map((shelf) => call('list_shelves', {}, `[${shelf}]`));
    const report = reported([record({ turns: [asked, ...looks, { say: 'TCK-1 is closed.' }] })]);
    const [example] = removedOf(report, 'claims').removed['a claim against the state'].examples;
    expect([example.omitted, example.messages.length, example.messages[0].content]).toEqual([
      6,
      4,
      'Please close TCK-1.',
    ]);
  });

  it('makes a table and a page on which nothing that was said counts as markup', () => {
    const evil = record({
      turns: [{ user: '# <b>Close</b>\n| TCK-1 |' }, call('list_shelves', {}), { say: 'TCK-1 is closed.' }],
    });
    const report = reported([evil]);
    expect(removedTable(report)).toContain(
      '| claims | 1 | 1 | 2 | 1 | 1 turns of 1 episodes: a claim against the state',
    );
    const page = removedPage(report);
    expect(page).toContain('## claims: a claim against the state');
    expect(page).toContain('    user: # <b>Close</b>\n    | TCK-1 |');
    expect(page).toContain('    why: the state says of tickets/TCK-1: status is "open", not "closed"');
  });
});
