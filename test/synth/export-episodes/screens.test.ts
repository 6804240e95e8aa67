// Steps on screens as a dataset: pictures, trees, actions and the elements that these name, read back.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parquetReadObjects } from 'hyparquet';
import { afterAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { elementText } from '../../../src/env/screens/screen-tree.js';
import type { EpisodeRecord } from '../../../src/replay/index.js';
import { pagesDomain } from '../../env/screens/fixture.js';
import { prediction, record } from '../episode-records.js';
import { exported, type Row } from './exported.js';

const home = mkdtempSync(join(tmpdir(), 'reverie-screens-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const data = join(home, 'data');
mkdirSync(join(data, 'screenshots'), { recursive: true });
const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0, 255]);
writeFileSync(join(data, 'screenshots', 'a.png'), png);

const NAMES = ["O'Neil", 'say "so"', 'a \\ b\n\'"'];
const tree = `RootWebArea 'Order'\n${NAMES.map((name, i) => `\t${elementText(String(i), { role: 'button', name, children: [] })}`).join('\n')}`;
const picture = (image: string) => ({ image, width: 500, height: 320, boxes: { 1: [1, 2, 3, 4.5] as const } });

/** Four turns: one that is done, one that is refused, one on a picture that is gone, one without any. */
function lived(): EpisodeRecord {
  const click = (bid: string, at: number, isError = false) => ({
    message: 2 + 2 * at,
    action: { content: null, toolCalls: [{ id: `c${at}`, name: 'click', arguments: { bid } }] },
    predictions: [prediction({ isError, observation: isError ? 'Error: no' : `${tree}\n\t[9] link 'step ${at}'` })],
    reward: 0,
    stateHash: '',
  });
  const opening = { role: 'user' as const, content: `Press it.\n\nTwice.\n\n${tree}` };
  return {
    ...record({ reward: 1, split: 'test' }),
    messages: [{ role: 'system', content: 'policy' }, opening, { role: 'assistant', content: null }],
    picture: picture('screenshots/a.png'),
    steps: [
      { ...click('1', 0), picture: picture('screenshots/a.png') },
      { ...click('7', 1, true), picture: picture('screenshots/gone.png') },
      click('2', 2),
      click('9', 3),
    ],
  };
}

it('holds a row a step, with its picture and the elements that its action names', async () => {
  const domain = pagesDomain('order');
  const folder = join(home, 'screens');
  const { rows, adapted, card } = await exported(folder, 'screens', [lived()], { domain, data });
  expect(rows).toBe(3);
  expect(Object.keys(adapted).sort()).toEqual([
    'a picture is not beside the episodes any more',
    'a turn is left out that is not one action that was carried out',
  ]);
  const file = readFileSync(join(folder, 'data', 'test-00000-of-00001.parquet'));
  const buffer = file.buffer.slice(file.byteOffset, file.byteOffset + file.length);
  const [first, gone, bare]: Row[] = await parquetReadObjects({ file: buffer, utf8: false });
  expect(first.images).toEqual([{ bytes: png, path: 'a.png' }]);
  expect(first.goal).toBe('Press it.\n\nTwice.');
  expect(first.observation).toBe(tree);
  expect(first.targets).toEqual([{ argument: 'bid', bid: '1', role: 'button', name: NAMES[1], bbox: [1, 2, 3, 4.5] }]);
  const [, user, agent] = first.messages;
  expect(user.content.map(({ type }: Row) => type)).toEqual(['image', 'text']);
  expect(agent.content).toEqual([{ type: 'text', text: "click('1')" }]);
  // After a refusal the screen is what it was.
  expect(gone).toMatchObject({ images: [], action: "click('2')", observation: `${tree}\n\t[9] link 'step 0'` });
  expect(gone.targets[0]).toMatchObject({ name: NAMES[2], bbox: undefined });
  expect(gone.messages[1].content).toHaveLength(1);
  expect(gone.messages[1].content[0].text).toContain("Done so far:\nclick('1')\n\nRootWebArea");
  expect(bare).toMatchObject({ width: null, targets: [{ role: 'link', name: 'step 2' }] });

  const features = parse(card.split('---')[1]).dataset_info[0].features as { name: string }[];
  expect(features.map(({ name }) => name)).toEqual(Object.keys(first));
  expect(features).toContainEqual({ name: 'images', list: 'image' });
});

it('has no rows of worlds without screens', async () => {
  const { rows } = await exported(join(home, 'none'), 'screens', [record({})]);
  expect(rows).toBe(0);
});
