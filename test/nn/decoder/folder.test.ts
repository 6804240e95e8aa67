// A decoder's folder: what was saved comes back to the byte, and what is damaged or belongs elsewhere is refused by name.

import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { temporaryFolder } from '../../temporary-folder.js';
import * as nn from '../nn.js';
import { householdTexts, TINY } from './fixture.js';

const tokenizer = nn.trainTokenizer(householdTexts(50), { size: 280 });
const decoder = nn.Decoder.create({ ...TINY, vocabSize: tokenizer.size }, Rng.fromSeed(1));

const root = temporaryFolder('folder');
let saved = '';
beforeAll(async () => {
  saved = join(root, 'saved');
  await nn.saveDecoder(saved, decoder, tokenizer);
});
afterAll(() => decoder.sessions.release());

/** A copy of the folder with some files changed, or taken away where the text is undefined. */
async function changed(name: string, files: Record<string, (text: Buffer) => string | Uint8Array | undefined>) {
  const folder = join(root, name);
  await cp(saved, folder, { recursive: true });
  for (const [file, change] of Object.entries(files)) {
    const content = change(await readFile(join(folder, file)));
    if (content === undefined) await rm(join(folder, file));
    else await writeFile(join(folder, file), content);
  }
  return folder;
}

const gone = () => undefined;

test('comes back to the byte, and is the same when saved again', async () => {
  const loaded = await nn.loadDecoder(saved);
  expect(loaded.decoder.theta).toEqual(decoder.theta);
  expect(loaded.decoder.config).toEqual(decoder.config);
  expect(loaded.tokenizer.toJson()).toBe(tokenizer.toJson());
  const again = join(root, 'again');
  await nn.saveDecoder(again, loaded.decoder, loaded.tokenizer);
  for (const file of ['model.safetensors', 'decoder.json']) {
    expect(await readFile(join(again, file))).toEqual(await readFile(join(saved, file)));
  }
});

describe('is refused', () => {
  const cases: [string, Parameters<typeof changed>[1], RegExp][] = [
    ['with a changed byte', { 'model.safetensors': (b) => b.fill(1, 9000, 9001) }, /model.safetensors was changed/],
    ['without weights', { 'model.safetensors': gone }, /no such file/],
    ['with a changed manifest', { 'decoder.json': (b) => String(b).replace('280', '281') }, /seal/],
  ];
  test.each(cases)('%s', async (name, files, message) => {
    await expect(nn.loadDecoder(await changed(name, files))).rejects.toThrow(message);
  });
});
