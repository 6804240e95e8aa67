// Small decoders and texts for the tests of decoders.

import { Rng } from '../../../src/core/rng.js';
import * as nn from '../nn.js';

export const TINY: nn.DecoderConfig = {
  ...{ vocabSize: 53, hiddenSize: 48, intermediateSize: 80, layers: 2, heads: 4, kvHeads: 2, headDim: 12 },
  contextLength: 64,
};

/** Random tokens of a vocabulary. */
export function randomTokens(rng: Rng, count: number, vocabSize = TINY.vocabSize): number[] {
  return Array.from({ length: count }, () => rng.int(vocabSize));
}

/** One batch of all documents. */
export function packAll(documents: readonly nn.TrainingDocument[], shape: nn.DecoderTrainer['shape']) {
  const sizes = documents.map(({ tokens }) => tokens.length);
  return nn.layOut(documents, nn.planRows(sizes, documents.keys(), shape), shape);
}

/** Sentences of a few objects in a few places: each says again where the object was put. */
export function householdTexts(count: number, rng = Rng.fromSeed(11)): string[] {
  const objects = ['pencil', 'mug', 'apple', 'book'];
  const places = ['drawer', 'desk', 'fridge', 'shelf'];
  return Array.from({ length: count }, () => {
    const object = objects[rng.int(objects.length)];
    const place = `${places[rng.int(places.length)]} ${1 + rng.int(3)}`;
    return `put ${object} in ${place} => The ${object} is in the ${place}.`;
  });
}

/** A document of a text: it begins, it ends. */
export function documentOf(tokenizer: nn.Tokenizer, text: string): nn.TrainingDocument {
  return { tokens: [tokenizer.special.begin, ...tokenizer.encode(text), tokenizer.special.end] };
}

/** Texts that are hard to cut: spaces of all kinds, scripts, pictures, contractions, digits, halves of pairs. */
export const HARD_TEXTS = [
  ...['', ' ', '  two  spaces ', "don't we'll I'VE", 'a\n\n b\t\tc\r\n', '12345 x1 ½ ٣', 'naïve Ünïcode ﬁ'],
  ...[
    '漢字かな交じり文',
    '🙂👩‍👩‍👧 e\u0301',
    '\u0000\u0001\u007f',
    'x\u0085y\ufeffz\u3000w',
    '<|end|> and <|begin|>',
    '<|en',
  ],
  ...['https://a.b/c?d=e&f=%20#g', 'snake_case-and.dots', '—“quotes”…'],
];
