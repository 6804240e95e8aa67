import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  formatCount,
  formatDuration,
  formatNumber,
  formatPercent,
  formatRate,
  formatSpread,
} from '../../src/run/format.js';
import { makeProgress } from '../../src/run/progress.js';
import { recordingStream, screenAfter } from './streams.js';

afterEach(() => vi.unstubAllEnvs());

it('progress off a terminal is one plain line about every ten seconds, and one at the end', () => {
  const stream = recordingStream();
  let ms = 0;
  const progress = makeProgress({ stream, now: () => ms });
  const phase = progress.phase('train', 1000, 'steps');
  for (let step = 1; step <= 1000; step++) {
    ms += 25;
    phase.advance(1, `return ${step}`);
  }
  phase.end();
  progress.close();
  const lines = stream.text().trimEnd().split('\n');
  expect(lines).toHaveLength(3);
  expect(lines[0]).toBe('train: 400/1000 steps · 40 steps/s · 15 s left · return 400');
  expect(lines[2]).toBe('train: 1000/1000 steps · 40 steps/s · in 25 s · return 1000');
  expect(stream.text()).not.toContain('\u001b');
});

it('the rate and the time left are of the last minute: random steps are quicker than those that learn', () => {
  const stream = recordingStream();
  let ms = 0;
  const phase = makeProgress({ stream, now: () => ms }).phase('train', 5000, 'steps');
  for (let step = 1; step <= 1100; step++) {
    ms += step <= 1000 ? 1 : 2000;
    phase.set(step);
  }
  const last = stream.text().trimEnd().split('\n').at(-1);
  expect(last).toBe('train: 1100/5000 steps · 0.5 steps/s · 2 h 10 min left');
});

describe('a narrow terminal', () => {
  afterEach(() => vi.useRealTimers());

  it.each([60, 100])('of %i columns shows every finished line whole, broken between words', (columns) => {
    vi.stubEnv('NO_COLOR', '');
    vi.stubEnv('TERM', 'xterm');
    vi.useFakeTimers();
    const stream = recordingStream(true, columns);
    const progress = makeProgress({ stream });
    const note = 'return 421 ± 12, worth dreaming in, 3 refits of the model and 2 of the learner, return 0.6';
    const first = progress.phase('train in the model', 20_000, 'steps');
    const second = progress.phase('fit model', 4, 'epochs');
    first.set(12_000, note);
    second.set(2, note);
    vi.advanceTimersByTime(300);
    expect(screenAfter(stream.text(), columns)).toHaveLength(2);
    progress.log(`A line that tells something at length: ${note}`);
    second.end(note);
    vi.advanceTimersByTime(300);
    first.end(note);
    progress.close();
    const screen = screenAfter(stream.text(), columns);
    expect(screen.every((line) => [...line].length <= columns)).toBe(true);
    const told = screen.join(' ').replaceAll(/\s+/g, ' ').trim();
    expect(told.split(note)).toHaveLength(4);
    expect(told).not.toMatch(/[━─…]/);
  });
});

it('numbers read as people write them', () => {
  expect([950, 9999, 12_345, 1_250_000, 3e9].map(formatCount)).toEqual(['950', '9999', '12.3 k', '1.25 M', '3 G']);
  expect([4.21, 37.4, 185, 7620].map(formatDuration)).toEqual(['4.2 s', '37 s', '3 min 05 s', '2 h 07 min']);
  expect([0.012345, 4.5678, 789.12, 0, 1e-7].map(formatNumber)).toEqual(['0.0123', '4.57', '789', '0', '1.00e-7']);
  expect([formatRate(40_000, 'steps'), formatRate(1.234, ''), formatRate(0, 'x')]).toEqual([
    '40 k steps/s',
    '1.23/s',
    '',
  ]);
  // Nearly all is not all; what is all but for a rounding is.
  expect([null, Number.NaN, 0, 0.045, 0.83, 0.996, 0.9999, 1 - 2 ** -52, 1].map(formatPercent)).toEqual([
    '–',
    '–',
    '0 %',
    '4.5 %',
    '83 %',
    '> 99 %',
    '> 99 %',
    '100 %',
    '100 %',
  ]);
  expect(formatSpread(421.3, 12.06)).toBe('421 ± 12.1');
  expect(formatSpread(421.3, 0, 1)).toBe('421');
});
