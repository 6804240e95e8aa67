// TRL's own trainers take two steps on exported rows, with a tiny model of random weights; what they learn is read back from
// what their collators give them. pip brings torch with it, which is some gigabytes: only where REVERIE_TRL_SPEC=1.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTALL_TIME, type PythonClient, pythonClient } from '../../serve/python-client.js';
import { call, record, USUAL } from '../episode-records.js';
import { agentTexts, exported, type Row } from './exported.js';

const script = fileURLToPath(new URL('./train-trl.py', import.meta.url));
/** Milliseconds; most of it goes into importing TRL. */
const TRAINING_TIME = 300_000;
const END = '<|im_end|>\n';
const TRAINED = { steps: 2, finite: true };

const say = (text: string) => ({ say: text });
const start = [{ user: 'Where is P100?' }, call('get_parcel', { parcel_id: 'P100' }, 'here')];
const weighed = call('get_parcel', { parcel_id: 'P100', weight: 0.7, volume: 1 / 3 });

const records = [
  record({ turns: USUAL }),
  record({ turns: USUAL, masked: [2] }),
  record({ turns: USUAL, masked: [4] }),
  record({ turns: [{ user: 'Hei 包裹' }, weighed, say('Ja.')] }),
  record({ turns: [...start, call('list_shelves', {}, 'two'), say('On one.')], group: 3 }),
  record({ turns: [...start, say('Who knows?'), { user: 'You!' }, say('No.')], group: 3, reward: 0, lostStep: 1 }),
];

/** What its fast parser makes of these numbers. */
const asDatasetsReads = (text: string) =>
  text.replace('0.7,', '0.7000000000000001,').replace('0.3333333333333333', '0.33333333330000003');

describe.skipIf(process.env['REVERIE_TRL_SPEC'] !== '1')("TRL's trainers", () => {
  let root: string;
  let trl: PythonClient | string;
  let found: Row;
  /** What the agent said in each episode, and whether it may be learnt. */
  let turns: [text: string, isLearnt: boolean][][];

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'reverie-trl-'));
    trl = await pythonClient('trl-spec');
    if (typeof trl === 'string') return;
    const folders = Object.fromEntries(['trl'].map((format) => [format, join(root, format)]));
    await exported(folders['trl'], 'trl', records);
    // The lost episode is no example.
    turns = records.slice(0, -1).map((each) => agentTexts(each).map(({ text, isLearnt }) => [text + END, isLearnt]));
    const env = { HF_HUB_OFFLINE: '1', HF_DATASETS_OFFLINE: '1', HF_DATASETS_DISABLE_PROGRESS_BARS: '1' };
    found = await trl.run(script, { env, ...folders, output: join(root, 'out') });
  }, INSTALL_TIME + TRAINING_TIME);
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const learntTurns = () => turns.flatMap((of) => of.filter(([, isLearnt]) => isLearnt).map(([text]) => text));

  it("SFTTrainer learns the agent's turns of `messages`, up to the first masked one, and knows the tools", (context) => {
    if (typeof trl === 'string') return context.skip(trl);
    const upToMasked = turns.map((of) => {
      const masked = of.findIndex(([, isLearnt]) => !isLearnt);
      // The training template of Qwen2.5 learns the line break after the role, too.
      return of.slice(0, masked < 0 ? of.length : masked).map(([text]) => `\n${asDatasetsReads(text)}`);
    });
    expect(upToMasked.map((of) => of.length)).toEqual([3, 0, 1, 2, 3]);
    expect(found.messages).toMatchObject({ ...TRAINED, learnt: upToMasked.filter((of) => of.length > 0) });
    for (const text of found.messages.whole) {
      expect(text).toContain('{"type": "function", "function": {"name": "move_parcel"');
    }
  });

  it('SFTTrainer learns each turn of `prompt_completion` that is not masked, and nothing else', (context) => {
    if (typeof trl === 'string') return context.skip(trl);
    const learnt = learntTurns().map((text) => [asDatasetsReads(text)]);
    expect(found.prompt_completion).toMatchObject({ ...TRAINED, learnt });
  });

  it("SFTTrainer learns numbers exactly where Python's own parser reads them", (context) => {
    if (typeof trl === 'string') return context.skip(trl);
    expect(found.exact).toMatchObject({ ...TRAINED, learnt: learntTurns().map((text) => [text]) });
  });

  it('DPOTrainer compares the turns in which two episodes part', (context) => {
    if (typeof trl === 'string') return context.skip(trl);
    expect(found.preference_turns).toEqual({
      ...TRAINED,
      chosen: [['<tool_call>\n{"name": "list_shelves", "arguments": {}}\n</tool_call><|im_end|>\n']],
      rejected: [[`Who knows?${END}`]],
    });
  });

  it('KTOTrainer learns turns, of a lost episode the one that lost it', (context) => {
    if (typeof trl === 'string') return context.skip(trl);
    const { learnt, labels } = found.unpaired_turns;
    expect(found.unpaired_turns).toMatchObject(TRAINED);
    expect(learnt.filter((_: Row, at: number) => !labels[at])).toEqual([[`Who knows?${END}`]]);
    expect(learnt.length).toBe(learntTurns().length + 1);
  });

  it('RewardTrainer compares whole episodes', (context) => {
    if (typeof trl === 'string') return context.skip(trl);
    const { chosen, rejected } = found.preference;
    expect(found.preference).toMatchObject(TRAINED);
    expect([chosen.length, rejected.length]).toEqual([1, 1]);
    expect(chosen[0].endsWith(`On one.${END}`)).toBe(true);
    expect(rejected[0].endsWith(`No.${END}`)).toBe(true);
  });
});
