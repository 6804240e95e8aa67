// How different the episodes of a dataset are from one another, measured as they come, in memory that does not grow with
// them (but for names of tools). Low numbers are the mark of a simulator that tells the same story again and again.

import { callsOf } from '../../env/tools/message.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { bottomK, DistinctCounter, gramHashes, hash53, jaccard, spokenText, wordsOf } from './text-hash.js';

export interface DiversityReport {
  readonly episodes: number;
  readonly words: number;
  /** Different n-grams of words over all of them, n = 1, 2, 3 (distinct-n, Li et al., 1510.03055). */
  readonly distinct: readonly [number, number, number];
  /** 3-gram Jaccard among a sample of episodes: mean over pairs, and mean of each one's nearest (as in self-BLEU). */
  readonly overlap: { readonly mean: number; readonly nearest: number };
  /** Entropy in bits of runs of 1, 2 and 3 calls. */
  readonly toolEntropy: readonly [number, number, number];
  readonly tools: { readonly called: number; readonly of: number; readonly unused: readonly string[] };
  /** Different parts of the state that were changed (first two keys of each operation's path). */
  readonly entities: number;
  /** Different states reached. */
  readonly states: number;
}

const SIZES = [1, 2, 3] as const;
const SAMPLE = 200;
const SKETCH = 512;

export class DiversityMeter {
  private episodes = 0;
  private words = 0;
  private readonly grams = SIZES.map(() => ({ all: 0, different: new DistinctCounter() }));
  private readonly calls = SIZES.map(() => new Map<string, number>());
  private readonly entities = new DistinctCounter();
  private readonly states = new DistinctCounter();
  private sample: { readonly place: number; readonly sketch: Float64Array }[] = [];

  /** `tools`: names of all tools there are. */
  constructor(private readonly tools: readonly string[]) {}

  add(record: EpisodeRecord): void {
    const words = wordsOf(spokenText(record));
    this.episodes++;
    this.words += words.length;
    this.addWords(words, hash53(record.id));
    this.addCalls(record);
    for (const { stateHash, predictions } of record.steps) {
      if (stateHash !== '') this.states.add(hash53(stateHash));
      for (const { path } of predictions.flatMap((prediction) => prediction.operations)) {
        this.entities.add(hash53(path.split('/').slice(1, 3).join('/')));
      }
    }
  }

  report(): DiversityReport {
    this.trimSample();
    const called = [...this.calls[0].keys()];
    const unused = this.tools.filter((tool) => !this.calls[0].has(tool));
    const [one, two, three] = this.grams.map(({ all, different }) => (all === 0 ? 0 : different.count / all));
    const [single, pairs, triples] = this.calls.map(entropyOf);
    return {
      episodes: this.episodes,
      words: this.words,
      distinct: [one, two, three],
      overlap: overlapOf(this.sample.map(({ sketch }) => sketch)),
      toolEntropy: [single, pairs, triples],
      tools: { called: called.filter((name) => this.tools.includes(name)).length, of: this.tools.length, unused },
      entities: this.entities.count,
      states: this.states.count,
    };
  }

  private addWords(words: readonly string[], place: number): void {
    const runs = SIZES.map((size) => (words.length < size ? [] : gramHashes(words, size)));
    runs.forEach((hashes, at) => {
      this.grams[at].all += hashes.length;
      for (const hash of hashes) this.grams[at].different.add(hash);
    });
    // The sample is whoever has the smallest hash of their id: it depends on no order.
    this.sample.push({ place, sketch: bottomK(runs[2], SKETCH) });
    if (this.sample.length > 2 * SAMPLE) this.trimSample();
  }

  private trimSample(): void {
    this.sample = this.sample.sort((a, b) => a.place - b.place).slice(0, SAMPLE);
  }

  private addCalls({ messages }: EpisodeRecord): void {
    const names = messages.flatMap(callsOf).map((call) => call.name);
    SIZES.forEach((size, at) => {
      for (let from = 0; from + size <= names.length; from++) {
        const run = names.slice(from, from + size).join(' ');
        this.calls[at].set(run, (this.calls[at].get(run) ?? 0) + 1);
      }
    });
  }
}

function overlapOf(sample: readonly Float64Array[]): { mean: number; nearest: number } {
  if (sample.length < 2) return { mean: 0, nearest: 0 };
  const nearest = new Float64Array(sample.length);
  let sum = 0;
  for (let i = 0; i < sample.length; i++) {
    for (let j = 0; j < i; j++) {
      const overlap = jaccard(sample[i], sample[j], SKETCH);
      sum += overlap;
      nearest[i] = Math.max(nearest[i], overlap);
      nearest[j] = Math.max(nearest[j], overlap);
    }
  }
  const pairs = (sample.length * (sample.length - 1)) / 2;
  return { mean: sum / pairs, nearest: nearest.reduce((a, b) => a + b, 0) / sample.length };
}

function entropyOf(counts: ReadonlyMap<string, number>): number {
  const all = [...counts.values()].reduce((a, b) => a + b, 0);
  let entropy = 0;
  for (const count of counts.values()) entropy -= (count / all) * Math.log2(count / all);
  return entropy;
}
