// Texts as sets of numbers: words, and hashes of runs of n words. Comparing texts is comparing such sets.

import { canonicalJson } from '../../core/canonical-json.js';
import type { ToolsTask, UserSpec } from '../../env/tools/domain.js';
import { callsOf, type Message } from '../../env/tools/message.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { drop, type Filter, type Judgement, KEEP } from './filter.js';

/** Words in lower case: runs of letters and digits, whatever stands between them. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** 32 bits of a text: FNV-1a and the finaliser of MurmurHash3. */
function hash32(text: string, seed = 0): number {
  let h = 0x811c9dc5 ^ seed;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return mix32(h);
}

/** Spreads 32 bits over 32 bits: one to one. */
function mix32(value: number): number {
  let h = value;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** 53 bits as 32. */
export function folded(hash: number): number {
  return mix32(hash ^ Math.floor(hash / 2 ** 32));
}

/** 53 bits of a text, as an integer: few enough collisions to count millions of different ones. */
export function hash53(text: string): number {
  return joined(hash32(text), hash32(text, 0x5bd1e995));
}

/** Hashes (53 bits) of all runs of `n` words, in order; a text shorter than `n` words has one. */
export function gramHashes(words: readonly string[], n: number): number[] {
  if (words.length === 0) return [];
  const low = words.map((word) => hash32(word));
  const high = words.map((word) => hash32(word, 0x5bd1e995));
  const runs = Math.max(1, words.length - n + 1);
  const length = Math.min(n, words.length);
  return Array.from({ length: runs }, (_, from) => {
    let a = 0;
    let b = 0;
    for (let i = from; i < from + length; i++) {
      a = mix32(Math.imul(a, 31) + low[i]);
      b = mix32(Math.imul(b, 33) + high[i]);
    }
    return joined(a, b);
  });
}

function joined(low: number, high: number): number {
  return (high & 0x1fffff) * 2 ** 32 + low;
}

/** The `k` smallest different values, ascending. */
function bottomK(values: Iterable<number>, k: number): Float64Array {
  return Float64Array.from(new Set(values)).sort().slice(0, k);
}

/** Share of the union of two sets that is in both (Jaccard), from their bottom-k sketches. */
function jaccard(a: Float64Array, b: Float64Array, k: number): number {
  let both = 0;
  let seen = 0;
  for (let i = 0, j = 0; seen < k && (i < a.length || j < b.length); seen++) {
    if (j >= b.length || a[i] < b[j]) i++;
    else if (i >= a.length || b[j] < a[i]) j++;
    else {
      both++;
      i++;
      j++;
    }
  }
  return seen === 0 ? 1 : both / seen;
}

/** Counts different numbers, exactly up to `limit`, then within a per cent or so. */
export class DistinctCounter {
  private kept = new Set<number>();
  /** Hashes at or above it are no longer kept. */
  private bound = 1;

  constructor(private readonly limit = 65_536) {}

  add(hash: number): void {
    if (folded(hash) / 2 ** 32 >= this.bound) return;
    this.kept.add(hash);
    if (this.kept.size > 2 * this.limit) this.halve();
  }

  get count(): number {
    return Math.round(this.kept.size / this.bound);
  }

  private halve(): void {
    this.bound /= 2;
    this.kept = new Set([...this.kept].filter((hash) => folded(hash) / 2 ** 32 < this.bound));
  }
}

/** User's and agent's text, and the agent's calls with their arguments, in order. */
export function spokenText(record: EpisodeRecord): string {
  const partOf = (message: Message): string => {
    if (message.role === 'user') return message.content;
    if (message.role !== 'assistant') return '';
    const calls = callsOf(message).map((call) => `${call.name} ${canonicalJson(call.arguments)}`);
    return [message.content ?? '', ...calls].join('\n');
  };
  return record.messages.map(partOf).join('\n');
}

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
