// Turns as the tokens they were: appended where the next prompt goes on from them, never tokenised again.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TurnTokens } from '../../../src/env/index.js';
import type { EpisodeRecord } from '../../../src/replay/index.js';
import { tokenSequences } from '../../../src/synth/export/episodes/tokens.js';
import { record } from '../episode-records.js';
import { exported, parquetRows } from './exported.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reverie-tokens-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const first: TurnTokens = { prompt: [1, 2], reply: [3, 4], logprobs: [-0.1, -0.2], weightVersion: '7' };
/** Goes on from the first: an answer of a tool is 5, 6. */
const second: TurnTokens = { prompt: [1, 2, 3, 4, 5, 6], reply: [8], logprobs: [-0.3], weightVersion: '8' };
/** Its template left out what was thought in the first turn. */
const otherwise: TurnTokens = { prompt: [1, 2, 4, 5, 6], reply: [9], logprobs: [-0.4] };

const learnt = (tokens: TurnTokens) => ({ tokens, isLearnt: true });

describe('sequences of tokens', () => {
  it('append a turn whose prompt goes on from all before it; what the agent did not write has mask 0', () => {
    expect(tokenSequences([learnt(first), learnt(second)])).toEqual([
      {
        prompt: [1, 2],
        response: [3, 4, 5, 6, 8],
        mask: [1, 1, 0, 0, 1],
        logprobs: [-0.1, -0.2, 0, 0, -0.3],
        weightVersions: ['7', '8'],
      },
    ]);
  });

  it('begin anew where the past is shown otherwise, so that each turn keeps the prompt it was written after', () => {
    const [one, two, ...none] = tokenSequences([learnt(first), learnt(otherwise)]);
    expect(none).toEqual([]);
    expect([one.prompt, one.response]).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect([two.prompt, two.response, two.weightVersions]).toEqual([[1, 2, 4, 5, 6], [9], [null]]);
    expect(tokenSequences([learnt(second), learnt(first)])).toHaveLength(2);
  });

  it('keep the tokens of a turn that is not to be learnt, with mask 0', () => {
    const [{ mask }] = tokenSequences([{ tokens: first, isLearnt: false }, learnt(second)]);
    expect(mask).toEqual([0, 0, 0, 0, 1]);
  });

  it('have no log-probabilities at all where one turn has none', () => {
    const { logprobs: _, ...silent } = second;
    expect(tokenSequences([learnt(first), learnt(silent)])[0].logprobs).toBeNull();
  });
});

describe('export of tokens', () => {
  const turns = [first, second, { ...second, prompt: [...second.prompt, 8, 10], reply: [11] }];
  const told = (spec: Parameters<typeof record>[0] = {}): EpisodeRecord => {
    const made = record({ reward: 1, ...spec });
    return { ...made, steps: made.steps.map((step, index) => ({ ...step, tokens: turns[index] })) };
  };

  it('writes what TRL and verl take; unjudged episodes keep null and are not imitated', async () => {
    const records = [told({ group: 3 }), told({ reward: null }), record()];
    const { tables, adapted } = await exported(folder, 'tokens', records);
    expect(tables).toEqual({ trl: 1, verl: 2 });
    expect(adapted).toMatchObject({ 'left out: not every turn of the agent has token ids (`agent.tokens`)': 1 });
    const [trl] = await parquetRows(folder, 'data/trl/train-00000-of-00001.parquet');
    expect(trl.input_ids).toEqual([1, 2, 3, 4, 5, 6, 8, 10, 11]);
    expect(trl.assistant_masks).toEqual([0, 0, 1, 1, 0, 0, 1, 0, 1]);
    const [judged, open] = await parquetRows(folder, 'data/verl/train-00000-of-00001.parquet');
    expect(judged).toMatchObject({ prompt_ids: [1, 2], response_ids: [3, 4, 5, 6, 8, 10, 11], reward: 1, group: 3 });
    expect(judged.response_mask).toHaveLength(judged.response_ids.length);
    expect(judged.response_logprobs).toEqual([-0.1, -0.2, 0, 0, -0.3, 0, -0.3]);
    expect(judged.weight_versions).toEqual(['7', '8', '8']);
    expect(open).toMatchObject({ reward: null, group: null, part: 0 });
  });
});
