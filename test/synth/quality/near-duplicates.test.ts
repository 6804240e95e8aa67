// The filter that drops episodes that say the same as earlier ones.

import { describe, expect, it } from 'vitest';
import { nearDuplicateFilter } from '../../../src/synth/quality/overlap-filters.js';
import { parcelDomain, record } from '../episode-records.js';

const context = { domain: parcelDomain(), taskOf: () => undefined };
const words = (from: number, count: number) => Array.from({ length: count }, (_, i) => `w${from + i}`).join(' ');
const said = (text: string, group = -1) => record({ turns: [{ user: text }, { say: 'Yes.' }], group });

describe('the near-duplicate filter', () => {
  it('drops the later of two that overlap by the threshold, and neither of two that do not', () => {
    const filter = nearDuplicateFilter(0.8);
    const judge = (text: string, group?: number) => filter.judge(said(text, group), context);
    expect(judge(words(0, 100))).toEqual({ keep: true });
    expect(judge(words(0, 95))).toEqual({ keep: false, reason: 'nearly the same as an earlier episode' });
    expect(judge(words(40, 100))).toEqual({ keep: true });
    expect(judge(words(41, 100))).toMatchObject({ keep: false });
  });

  it('compares no episodes of one group with one another, but with others', () => {
    const filter = nearDuplicateFilter(0.8);
    const judge = (group: number) => filter.judge(said(words(0, 50), group), context);
    expect(judge(3)).toEqual({ keep: true });
    expect(judge(3)).toEqual({ keep: true });
    expect(judge(4)).toMatchObject({ keep: false });
  });

  it('finds pairs at the threshold among many, and answers the same for the same rows', () => {
    const texts = Array.from({ length: 80 }, (_, i) =>
      i % 4 === 3 ? `${words(1000 * (i - 1), 60)} more` : words(1000 * i, 60),
    );
    const rows = texts.map((text) => said(text));
    const outcome = () => {
      const filter = nearDuplicateFilter(0.8);
      return rows.map((row) => filter.judge(row, context));
    };
    const first = outcome();
    expect(first.filter((one) => 'keep' in one && !one.keep).length).toBe(20);
    expect(outcome()).toEqual(first);
  });
});
