// What all formats share: the folder, its shards and splits, the card; and the two plainest formats.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { testData } from '../../data.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { call, record } from '../episode-records.js';
import { exported, jsonLines, parquetRows } from './exported.js';

let root: string;
let folder: string;

beforeEach(() => {
  root = temporaryFolder('episodes');
  folder = join(root, 'set');
});

const frontMatter = (card: string) => parse(card.split('---\n')[1]);

describe('exportEpisodes', () => {
  it('puts each split in files of its own, which the card names', async () => {
    const records = [record(), record({ split: 'test' }), record({ split: 'validation' }), record()];
    const { files, rows, card } = await exported(folder, 'openai', records);
    expect(files).toEqual([
      'data/train-00000-of-00001.jsonl',
      'data/validation-00000-of-00001.jsonl',
      'data/test-00000-of-00001.jsonl',
      'README.md',
    ]);
    expect(rows).toBe(4);
    expect(frontMatter(card)).toMatchObject({
      license: 'cc-by-4.0',
      configs: [
        {
          data_files: [
            { split: 'train', path: 'data/train-00000-of-00001.jsonl' },
            { split: 'validation', path: 'data/validation-00000-of-00001.jsonl' },
            { split: 'test', path: 'data/test-00000-of-00001.jsonl' },
          ],
        },
      ],
    });
  });

  it.each(['openai', 'parquet'] as const)('%s: keeps the order, and makes equal bytes', async (format) => {
    const records = Array.from({ length: 40 }, (_, row) => record({ row }));
    const { files } = await exported(folder, format, records);
    const read = format === 'parquet' ? parquetRows : async (from: string, path: string) => jsonLines(from, path);
    const rows = await read(folder, files[0]);
    expect(rows.length).toBe(40);
    if (format === 'parquet') expect(rows.map((row) => row.row)).toEqual(records.map((one) => one.row));
    const again = join(root, 'again');
    await exported(again, format, records);
    for (const path of files)
      expect(readFileSync(join(again, path)).equals(readFileSync(join(folder, path)))).toBe(true);
  });

  it('leaves nothing behind when the records fail, and refuses a folder that holds something', async () => {
    async function* failing(): AsyncGenerator<EpisodeRecord> {
      for (let row = 0; row < 30; row++) yield record({ row });
      throw new Error('the journal broke');
    }
    await expect(exported(folder, 'parquet', failing())).rejects.toThrow('the journal broke');
    expect(readdirSync(root)).toEqual([]);
    mkdirSync(folder);
    writeFileSync(join(folder, 'mine.txt'), 'mine');
    await expect(exported(folder, 'parquet', [record()])).rejects.toMatchObject({ code: 'OUTPUT_EXISTS' });
    expect(readdirSync(folder)).toEqual(['mine.txt']);
  });
});

it('the card says what was judged by whom, and who answered', async () => {
  const records = [
    record(),
    record({ reward: 0, judge: 'judge-2' }),
    record({ reward: null }),
    record({ source: 'real' }),
  ];
  const { card } = await exported(folder, 'openai', records, {
    card: {
      name: 'Parcels | <b>',
      license: 'mit',
      generation: { temperature: 1 },
    },
  });
  expect(frontMatter(card).tags).toContain('synthetic');
  for (const text of [
    '# Parcels \\| &lt;b>',
    '75 % of the episodes are synthetic: simulators err',
    '3 of 4 episodes were judged. Their mean reward is 0.6667.',
    '| exact checks alone | 2 |',
    '| exact checks and judge judge-2 | 1 |',
    '| not judged (reward is null) | 1 |',
    '| llm | toy-model-1 | 8 |',
    'temperature: 1',
  ])
    expect(card).toContain(text);
});

it('openai writes arguments as text and weighs masked turns with 0', async () => {
  const episode = record({
    turns: [
      { user: 'P100?' },
      {
        call: [{ name: 'get_parcel', arguments: { parcel_id: 'P1' }, answer: 'none', isError: true }],
        reasoning: 'hm',
      },
      { ...call('get_parcel', { parcel_id: 'P100' }, 'here'), text: 'Let me look.' },
      { say: 'Here.' },
      { user: 'Thanks' },
    ],
    masked: [2],
  });
  const { adapted } = await exported(folder, 'openai', [episode]);
  const [row] = jsonLines(folder, 'data/train-00000-of-00001.jsonl');
  expect(row.messages).toEqual(testData('synth/export-episodes/openai-messages.yaml'));
  expect(row.tools[0]).toMatchObject({ type: 'function', function: { name: 'get_parcel' } });
  expect(row.parallel_tool_calls).toBe(false);
  expect(adapted).toEqual({ "messages after the agent's last turn left out": 1, 'thoughts left out': 1 });
});

it('parquet holds everything, read back', async () => {
  const episode = record({
    group: 3,
    parent: { episode: 'f'.repeat(16), step: 2 },
    seed: 2 ** 40,
    masked: [4],
    judge: 'judge-1',
  });
  await exported(folder, 'parquet', [episode, record({ reward: null, turns: [{ user: 'Hi' }, { say: 'Hi' }] })]);
  const [row, other] = await parquetRows(folder, 'data/train-00000-of-00001.parquet');
  expect(row).toMatchObject({
    id: episode.id,
    seed: 2 ** 40,
    group: 3,
    parent_episode: 'f'.repeat(16),
    parent_step: 2,
    reward: 1,
    return: 1,
    judge: 'judge-1',
    outcome: 'judged',
    attempt: `${episode.row}-1`,
    license: 'cc-by-4.0',
    backends: ['llm'],
    model_versions: ['toy-model-1'],
    confidence: 0.9,
    loss_mask: [0, 0, 1, 0, 0, 0, 1],
    step_rewards: [null, null, 0, null, 0, null, 0],
    state_hashes: ['start', 'moved', 'moved'],
    cost: { calls: 2, prompt_tokens: 100, money: 0.01 },
  });
  expect(row.messages.map((message: { role: string }) => message.role).join()).toBe(
    'system,user,assistant,tool,assistant,tool,assistant',
  );
  expect(row.messages[2].tool_calls).toEqual([
    { id: 'call-2-0', type: 'function', function: { name: 'get_parcel', arguments: '{"parcel_id":"P100"}' } },
  ]);
  expect(row.messages[3]).toMatchObject({ tool_call_id: 'call-2-0', name: 'get_parcel', is_error: false });
  expect(row.calls[1]).toMatchObject({
    message: 4,
    tool_call_id: 'call-4-0',
    backend: 'llm',
    why: ['no rule knew the tool'],
  });
  expect(JSON.parse(row.calls[1].operations)).toEqual([{ op: 'replace', path: '/parcels/P100/shelf', value: 4 }]);
  expect(JSON.parse(row.tools)[1].function.name).toBe('move_parcel');
  expect(other).toMatchObject({ reward: null, return: null, group: null, judge: null, confidence: null });
  expect(other.messages[2].content).toBe('Hi');
  expect(other.messages[2].tool_calls ?? null).toBeNull();
});
