import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MetricsWriter, readMetrics } from '../../src/run/metrics.js';
import { temporaryFolder } from '../temporary-folder.js';

function journal() {
  const file = join(temporaryFolder('metrics'), 'metrics.jsonl');
  const clock = { ms: 0 };
  return { file, clock, open: () => new MetricsWriter(file, () => clock.ms) };
}

describe('the metrics journal', () => {
  it('keeps one object an event, with the wall time', () => {
    const { file, clock, open } = journal();
    const writer = open();
    writer.write({ kind: 'eval', realSteps: 250, return: 12.5 });
    clock.ms = 1500;
    writer.write({ kind: 'fit', round: 1, error: Number.NaN });
    writer.close();
    expect(readMetrics(file)).toEqual([
      { kind: 'eval', wallSeconds: 0, realSteps: 250, return: 12.5 },
      { kind: 'fit', wallSeconds: 1.5, round: 1, error: null },
    ]);
  });

  it('drops a torn last line when opened again, and goes on with the clock', () => {
    const { file, clock, open } = journal();
    const first = open();
    clock.ms = 2000;
    first.write({ kind: 'eval', realSteps: 1 });
    first.close();
    appendFileSync(file, '{"kind":"eval","wallSec');
    expect(readMetrics(file)).toHaveLength(1);
    clock.ms = 100_000;
    const second = open();
    clock.ms = 101_000;
    second.write({ kind: 'eval', realSteps: 2 });
    second.close();
    expect(readMetrics(file).map((event) => [event.realSteps, event.wallSeconds])).toEqual([
      [1, 2],
      [2, 3],
    ]);
  });

  it('goes back to a mark, so that a resumed run tells nothing twice', () => {
    const { file, clock, open } = journal();
    const writer = open();
    writer.write({ kind: 'eval', realSteps: 1, note: 'größer' });
    const mark = JSON.parse(JSON.stringify(writer.mark()));
    writer.write({ kind: 'eval', realSteps: 2 });
    writer.close();
    clock.ms = 9000;
    const resumed = open();
    resumed.rewind(mark);
    resumed.write({ kind: 'eval', realSteps: 3 });
    resumed.close();
    expect(readMetrics(file).map((event) => event.realSteps)).toEqual([1, 3]);
    expect(readFileSync(file, 'utf8').endsWith('\n')).toBe(true);
  });

  it('names the line that is damaged elsewhere than at its end', () => {
    const { file } = journal();
    writeFileSync(file, '{"kind":"a","wallSeconds":0}\n{"kind":\n{"kind":"c","wallSeconds":1}\n');
    expect(() => readMetrics(file)).toThrow(expect.objectContaining({ code: 'FILE_INVALID' }));
    expect(() => readMetrics(file)).toThrow(/Line 2/);
  });
});
