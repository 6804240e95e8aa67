// All filters together: order, counts, determinism, and what a dataset's report says.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { qualitySchema, splitOf } from '../../../src/synth/quality/quality-config.js';
import { QualityPipeline } from '../../../src/synth/quality/quality-pipeline.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { call, parcelDomain, parcelTask, record, type Turn, USUAL } from '../episode-records.js';

const words = (from: number, count = 40) => Array.from({ length: count }, (_, i) => `w${from + i}`).join(' ');
const talk = (from: number, row?: number): EpisodeRecord =>
  record({ turns: [{ user: words(from) }, { say: 'I see.' }], ...(row !== undefined && { row }) });

const pipelineOf = (config: object = {}, change = {}) =>
  new QualityPipeline({ config: qualitySchema.parse(config), domain: parcelDomain(change) });

describe('the quality pipeline', () => {
  it('judges rows as they come and counts what each filter did', () => {
    const pipeline = pipelineOf();
    const wrong: Turn[] = [...USUAL, { user: 'Now teleport it.' }, call('teleport', {}), { say: 'Done.' }];
    const kept = [
      pipeline.judge(talk(0)),
      pipeline.judge(talk(2)),
      pipeline.judge(record({ turns: wrong })),
      pipeline.judge(record({ split: 'validation' })),
    ];
    expect(kept.map((one) => one !== undefined)).toEqual([true, false, true, false]);
    const report = pipeline.report();
    expect(report.imitated).toBe(1);
    expect([report.in, report.out, report.splits]).toEqual([4, 2, { train: 2, validation: 0, test: 0 }]);
    const did = Object.fromEntries(report.filters.map(({ name, repaired, dropped }) => [name, { repaired, dropped }]));
    expect(did).toMatchObject({
      structure: { repaired: {}, dropped: {} },
      schema: { repaired: { 'cut before a call that does not fit its schema': 1 } },
      'near-duplicates': { dropped: { 'nearly the same as an earlier episode': 2 } },
    });
    expect(report.filters.map((filter) => filter.in)).toEqual([4, 4, 4, 4, 4, 4, 4, 4, 2]);
    expect(report.filters.at(-2)?.out).toBe(2);
  });

  it('knows what is evaluated on: tasks of the test split and files that are named', () => {
    const folder = temporaryFolder('quality');
    const file = join(folder, 'benchmark.txt');
    writeFileSync(file, `Question: ${words(700, 9)}`);
    const tasks = [parcelTask('t', { split: 'test', user: { goal: words(300, 10) } })];
    const pipeline = pipelineOf({ decontaminate: { files: [file] } }, { tasks });
    const kept = [0, 270, 668, 100].filter((at) => pipeline.judge(talk(at)) !== undefined);
    expect(kept).toEqual([0, 100]);
    rmSync(folder, { recursive: true });
    expect(() => pipelineOf({ decontaminate: { files: [file] } })).toThrow('benchmark.txt');
  });

  it('can be turned off filter by filter, and refuses keys it does not know', () => {
    const off = {
      structure: false,
      schema: false,
      provenance: false,
      claims: false,
      decontaminate: { words: false },
      nearDuplicates: false,
    };
    const names = pipelineOf(off)
      .report()
      .filters.map(({ name }) => name);
    expect(names).toEqual(['cut-off', 'policy', 'imitation']);
    expect(qualitySchema.safeParse({ nearDuplicate: 1 }).success).toBe(false);
    expect(qualitySchema.safeParse({ splits: { validation: 0.6, test: 0.6 } }).success).toBe(false);
  });
});

describe('splits', () => {
  const shares = { validation: 0.1, test: 0.2 };

  it('go by family, keep to their shares, and yield to a task that says its own', () => {
    const splits = Array.from({ length: 4000 }, (_, i) => splitOf({ family: `family-${i}` }, shares));
    const share = (name: string) => splits.filter((split) => split === name).length / splits.length;
    expect(share('test')).toBeCloseTo(0.2, 1);
    expect(share('validation')).toBeCloseTo(0.1, 1);
    expect(splitOf({ family: 'family-1' }, shares)).toBe(splits[1]);
    expect(splitOf({ family: 'family-1', split: 'validation' }, shares)).toBe('validation');
  });
});
