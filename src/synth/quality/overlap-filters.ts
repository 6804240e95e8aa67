// Filters of what episodes share: nothing of what is evaluated on may be trained on, and nothing is said twice.

import type { ToolsTask, UserSpec } from '../../env/tools/domain.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { drop, type Filter, type Judgement, KEEP } from './filter.js';
import { bottomK, folded, gramHashes, jaccard, mix32, spokenText, wordsOf } from './text-hash.js';

interface EvaluationTexts {
  /** Tasks that are evaluated on. */
  readonly tasks: readonly ToolsTask[];
  /** All other tasks: what families of them share counts as manner of speaking. */
  readonly others?: readonly ToolsTask[];
  /** Further texts, as of benchmark files. */
  readonly texts: Iterable<string>;
}

/**
 * An episode goes if it belongs to a family that is evaluated, or shares a run of `words` words with an evaluation task or a
 * further text. What several families of training tasks say by themselves is the domain's manner of speaking ("my employee
 * number is") and leaks nothing. Episodes of the test split are what is evaluated, and are not judged.
 */
export function decontaminationFilter({ tasks, others = [], texts }: EvaluationTexts, words: number): Filter {
  const families = new Set(tasks.map((task) => task.family));
  // A text of fewer words has no run of that length: its one shorter gram would never be met.
  const gramsOf = (text: string) => {
    const all = wordsOf(text);
    return all.length >= words ? gramHashes(all, words) : [];
  };
  const grams = new Set(tasks.flatMap((task) => textsOf(task.user)).flatMap(gramsOf));
  for (const gram of mannerOfSpeaking(others, words)) grams.delete(gram);
  for (const text of texts) for (const gram of gramsOf(text)) grams.add(gram);
  const judge = (record: EpisodeRecord): Judgement => {
    if (record.split === 'test') return KEEP;
    if (families.has(record.family)) return drop('its family is evaluated on');
    const own = gramHashes(wordsOf(spokenText(record)), words);
    const isShared = own.some((gram) => grams.has(gram));
    return isShared ? drop(`shares ${words} words in a row with what is evaluated on`) : KEEP;
  };
  return { name: 'decontamination', judge };
}

/** Runs of words that tasks of two families or more have. */
function mannerOfSpeaking(tasks: readonly ToolsTask[], words: number): number[] {
  const families = new Map<number, Set<string>>();
  for (const { user, family } of tasks) {
    const grams = textsOf(user).flatMap((text) => gramHashes(wordsOf(text), words));
    for (const gram of grams) families.set(gram, (families.get(gram) ?? new Set()).add(family));
  }
  return [...families].filter(([, users]) => users.size >= 2).map(([gram]) => gram);
}

function textsOf({ opening = '', goal, script = [] }: UserSpec): string[] {
  return [opening, goal, ...script.map(({ say }) => say)];
}

const BANDS = 16;
const BAND_ROWS = 4;
const SKETCH = 512;

/**
 * Drops an episode whose user and agent text overlaps with an earlier one's in at least `threshold` of their 3-grams; the earlier
 * row stays. MinHash with bands (Broder 1997; Leskovec et al., Mining of Massive Datasets, 3.4) finds those worth comparing.
 * Episodes of one group start alike by design and are not compared with one another.
 */
export function nearDuplicateFilter(threshold: number): Filter {
  const kept: { readonly group: number; readonly sketch: Float64Array }[] = [];
  const bands = Array.from({ length: BANDS }, () => new Map<number, number[]>());
  const judge = (record: EpisodeRecord): Judgement => {
    const sketch = bottomK(gramHashes(wordsOf(spokenText(record)), 3), SKETCH);
    const keys = bandKeys(sketch);
    const isTwin = (at: number) =>
      !(record.group >= 0 && kept[at].group === record.group) && jaccard(sketch, kept[at].sketch, SKETCH) >= threshold;
    if (keys.some((key, band) => bands[band].get(key)?.some(isTwin)))
      return drop('nearly the same as an earlier episode');
    keys.forEach((key, band) => {
      const bucket = bands[band].get(key);
      if (bucket) bucket.push(kept.length);
      else bands[band].set(key, [kept.length]);
    });
    kept.push({ group: record.group, sketch });
    return KEEP;
  };
  return { name: 'near-duplicates', judge };
}

/** One number for each band: two texts that agree in a whole band of minima are candidates. */
function bandKeys(grams: Float64Array): number[] {
  const short = Array.from(grams, folded);
  return Array.from({ length: BANDS }, (_, band) => {
    let key = band;
    for (let row = 0; row < BAND_ROWS; row++) {
      const seed = mix32(band * BAND_ROWS + row + 1);
      let least = 0xffffffff;
      for (const gram of short) least = Math.min(least, mix32(gram ^ seed));
      key = mix32(Math.imul(key, 31) + least);
    }
    return key;
  });
}
