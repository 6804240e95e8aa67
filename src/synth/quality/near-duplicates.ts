// Filter: an episode that says nearly the same as an earlier one is dropped; the earlier row stays. It works row by row:
// MinHash with bands (Broder 1997; Leskovec et al., Mining of Massive Datasets, 3.4) finds those worth comparing, and
// 3-gram Jaccard decides.

import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { agentTurns, drop, type Filter, type Judgement, KEEP } from './filter.js';
import { bottomK, gramHashes, jaccard, mix32, spokenText, wordsOf } from './text-hash.js';

const BANDS = 16;
const BAND_ROWS = 4;
const SKETCH = 512;

interface Kept {
  readonly row: number;
  readonly group: number;
  readonly sketch: Float64Array;
}

/**
 * Drops an episode whose user and agent text overlaps with an earlier one's in at least `threshold` of their 3-grams.
 * Episodes of one group start alike by design and are not compared with one another.
 */
export function nearDuplicateFilter(threshold: number): Filter {
  const kept: Kept[] = [];
  const bands = Array.from({ length: BANDS }, () => new Map<number, number[]>());
  const judge = (record: EpisodeRecord): Judgement => {
    const sketch = bottomK(gramHashes(wordsOf(spokenText(record)), 3), SKETCH);
    const keys = bandKeys(sketch);
    const isTwin = (at: number) =>
      !(record.group >= 0 && kept[at].group === record.group) && jaccard(sketch, kept[at].sketch, SKETCH) >= threshold;
    for (const [band, key] of keys.entries()) {
      const twin = bands[band].get(key)?.find(isTwin);
      if (twin !== undefined)
        return drop(KIND, [{ message: lastTurn(record), kind: KIND, because: likeRow(kept[twin]) }]);
    }
    keys.forEach((key, band) => {
      const bucket = bands[band].get(key);
      if (bucket) bucket.push(kept.length);
      else bands[band].set(key, [kept.length]);
    });
    kept.push({ row: record.row, group: record.group, sketch });
    return KEEP;
  };
  return { name: 'near-duplicates', judge };
}

const KIND = 'nearly the same as an earlier episode';

function likeRow({ row }: Kept): string {
  return `it says nearly what the episode of row ${row} says`;
}

function lastTurn(record: EpisodeRecord): number {
  return agentTurns(record).at(-1)?.index ?? 0;
}

/** One number for each band: two texts that agree in a whole band of minima are candidates. */
function bandKeys(grams: Float64Array): number[] {
  const folded = Array.from(grams, (gram) => mix32(gram ^ Math.floor(gram / 2 ** 32)));
  return Array.from({ length: BANDS }, (_, band) => {
    let key = band;
    for (let row = 0; row < BAND_ROWS; row++) {
      const seed = mix32(band * BAND_ROWS + row + 1);
      let least = 0xffffffff;
      for (const gram of folded) least = Math.min(least, mix32(gram ^ seed));
      key = mix32(Math.imul(key, 31) + least);
    }
    return key;
  });
}
