// The libraries that datasets are made for read them, unmodified: `datasets` by the card, pandas, ATIF's models, TRL,
// LLaMA-Factory. They come into test/.cache, once; a reader that cannot be had is skipped with its reason. ADP has no package to install: its rules are held in formats.test.ts.

import { join } from 'node:path';
import { beforeAll, describe, expect, it, type TestContext } from 'vitest';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { episodeExports } from '../../../src/synth/export/episodes/export-episodes.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { call, parcelDomain, parcelTask, record, USUAL } from '../episode-records.js';
import { exported, type Row } from './exported.js';
import { INSTALL_TIME, type PythonReaders, pythonReaders } from './python-readers.js';

const root = temporaryFolder('readers');
const folderOf = (format: string) => join(root, format);

/** What breaks careless readers: mixed types of arguments, empty contents, quotes, other scripts, all splits, groups. */
function awkward(): EpisodeRecord[] {
  const mixed = [
    call('search', { q: 'é "x" 包裹', limit: 3, deep: { a: [1, null] } }),
    call('search', { q: 5, limit: 'all' }),
  ];
  return [
    record({ task: 'known', turns: USUAL }),
    record({ turns: [{ user: 'Søk?' }, ...mixed, { say: 'Ja.', reasoning: 'Because.' }] }),
    record({ turns: [{ user: 'Hi <|im_start|>' }, { say: 'Hi' }], split: 'test' }),
    record({ split: 'validation', reward: null }),
    ...[1, 0].map((reward) =>
      record({ group: 5, reward, turns: [{ user: 'P100?' }, call('list_shelves', {}), { say: `${reward}` }] }),
    ),
    record({ masked: [4], source: 'real' }),
  ];
}

const records = awkward();

beforeAll(async () => {
  const domain = parcelDomain({ tasks: [parcelTask('known')] });
  for (const format of episodeExports.names()) {
    await exported(folderOf(format), format, records, { domain, imitation: 'any' });
  }
});

/** Configurations of datasets, by format. */
const CONFIGS: readonly [format: string, config?: string][] = [
  ['openai'],
  ['sharegpt'],
  ['atif'],
  ['adp'],
  ['parquet'],
  ['trl'],
  ['trl', 'prompt_completion'],
  ['trl', 'preference'],
  ['verl', 'rl'],
];
const TRL_CONFIGS = ['messages', 'prompt_completion', 'preference'];

/** What each reader is asked. */
const requests = () => ({
  datasets: { sets: CONFIGS.map(([format, config]) => ({ folder: folderOf(format), config })) },
  pandas: { folders: [folderOf('parquet')] },
  atif: { folder: folderOf('atif') },
  trl: { folder: folderOf('trl'), configs: TRL_CONFIGS },
  llamafactory: { folder: folderOf('sharegpt'), name: 'parcels_train' },
});

describe('read by Python', () => {
  let readers: PythonReaders | string;
  let found: (reader: string) => Row;

  beforeAll(async () => {
    readers = await pythonReaders();
    if (typeof readers === 'string') return;
    const { missing } = readers;
    found = readers.read(Object.fromEntries(Object.entries(requests()).filter(([reader]) => !missing[reader])));
  }, INSTALL_TIME);

  const read = (context: TestContext, reader: string): Row => {
    if (typeof readers === 'string') return context.skip(readers);
    if (readers.missing[reader]) return context.skip(readers.missing[reader]);
    return found(reader);
  };

  it('`datasets` loads every format by its card, split by split', (context) => {
    const loaded = read(context, 'datasets');
    const counts = loaded.map((splits: Row) =>
      Object.entries<Row[]>(splits).map(([split, rows]) => `${split} ${rows.length}`),
    );
    const whole = ['train 5', 'validation 1', 'test 1'];
    expect(counts.slice(0, 6)).toEqual(Array(6).fill(whole));
    expect(counts.slice(6)).toEqual([['train 12', 'validation 3', 'test 1'], ['train 1'], ['train 1']]);
    const [openai, , atif, adp, parquet, trl] = loaded;
    const values = { q: 'é "x" 包裹', limit: 3, deep: { a: [1, null] } };
    expect(JSON.parse(openai.train[1].messages[2].tool_calls[0].function.arguments)).toEqual(values);
    expect(trl.train[1].messages[2].tool_calls[0].function.arguments).toEqual(values);
    expect(trl.train[1].messages[4].tool_calls[0].function.arguments).toEqual({ q: 5, limit: 'all' });
    expect(trl.train[0].messages[1]).toEqual({
      role: 'user',
      content: 'Where is parcel P100? Please move it to shelf 4.',
    });
    expect(atif.train[1].steps[2].tool_calls[0].arguments).toEqual(values);
    expect(adp.train[1].content[1].kwargs).toEqual(values);
    expect(parquet.validation[0]).toMatchObject({ reward: null, split: 'validation' });
    expect(parquet.train[4].loss_mask).toEqual([0, 0, 1, 0, 0, 0, 1]);
    expect(parquet.train[0].messages[2].tool_calls[0].function.name).toBe('get_parcel');
  });

  it('pandas reads Parquet, nested columns and all', (context) => {
    const [everything] = read(context, 'pandas');
    expect(everything.rows.length).toBe(records.length);
    expect(everything.columns).toContain('loss_mask');
  });

  it("ATIF's own models accept every trajectory", (context) => {
    const steps = read(context, 'atif');
    expect(steps.toSorted()).toEqual([3, 4, 4, 5, 5, 5, 5]);
  });

  it('TRL takes rows for conversations and renders them with exactly the arguments that were made', (context) => {
    const found = read(context, 'trl');
    expect(TRL_CONFIGS.map((config) => found[config].conversational)).toEqual([true, true, true]);
    const text: string = found.messages.rows[1].text;
    expect(text).toContain(
      '<tool_call>search {"q": "é \\"x\\" 包裹", "limit": 3, "deep": {"a": [1, null]}}</tool_call>',
    );
    expect(text).toContain('<tool_call>search {"q": 5, "limit": "all"}</tool_call>');
    expect(text).toContain('{"type": "function", "function": {"name": "get_parcel"');
    const [pair] = found.preference.rows;
    expect(pair.prompt.endsWith('<|im_start|>assistant\n')).toBe(true);
    expect([pair.chosen.includes('1<|im_end|>'), pair.rejected.includes('0<|im_end|>')]).toEqual([true, true]);
  });

  it('LLaMA-Factory converts every ShareGPT row without a warning', (context) => {
    const found = read(context, 'llamafactory');
    expect(found.warnings).toEqual([]);
    expect(found.turns.length).toBe(5);
    for (const turns of found.turns) {
      expect(turns.length).toBeGreaterThan(1);
      expect(['assistant', 'function']).toContain(turns.at(-1));
    }
    expect(new Set(found.systems)).toEqual(new Set(['You help with parcels. Make one call at a time.']));
    expect(found.calls.length).toBeGreaterThan(5);
    expect(found.calls.join('\n')).toContain('{"name": "search", "arguments": {"q": 5, "limit": "all"}}');
    expect(found.tools[0]).toContain('move_parcel');
  });
});
