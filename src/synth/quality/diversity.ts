// How different the episodes of a dataset are from one another, measured as they come, in memory that does not grow with
// them (but for names of tools). Low numbers are the mark of a simulator that tells the same story again and again.

import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { bottomK, DistinctCounter, gramHashes, hash53, jaccard, mix32, spokenText, wordsOf } from './text-hash.js';

export interface DiversityReport extends SpreadReport {
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
  private readonly spread = new EmbeddingSpread();
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
      ...this.spread.report(),
    };
  }

  private addWords(words: readonly string[], place: number): void {
    const runs = SIZES.map((size) => (words.length < size ? [] : gramHashes(words, size)));
    runs.forEach((hashes, at) => {
      this.grams[at].all += hashes.length;
      for (const hash of hashes) this.grams[at].different.add(hash);
    });
    this.spread.add([...runs[0], ...runs[1]]);
    // The sample is whoever has the smallest hash of their id: it depends on no order.
    this.sample.push({ place, sketch: bottomK(runs[2], SKETCH) });
    if (this.sample.length > 2 * SAMPLE) this.trimSample();
  }

  private trimSample(): void {
    this.sample = this.sample.sort((a, b) => a.place - b.place).slice(0, SAMPLE);
  }

  private addCalls({ messages }: EpisodeRecord): void {
    const names = messages.flatMap((message) =>
      message.role === 'assistant' ? (message.toolCalls ?? []).map((call) => call.name) : [],
    );
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

// In how many directions texts differ: bags of hashed words as vectors, and the spectrum of their covariance.

interface SpreadReport {
  /** Principal components that hold 90 % of the variance of the embeddings (UI-Simulator, 2510.14969, section 3.5). */
  readonly effectiveDimension: number;
  /** Effective number of different episodes by cosine similarity (Vendi score, 2210.02410). */
  readonly vendi: number;
}

const DIMS = 96;
const SHARE = 0.9;

/** Sums of embeddings and of their outer products: all that the spectrum needs, whatever the number of texts. */
class EmbeddingSpread {
  private texts = 0;
  private readonly sum = new Float64Array(DIMS);
  private readonly products = new Float64Array(DIMS * DIMS);

  /** `features`: hashes of what the text holds, each as often as it does. */
  add(features: readonly number[]): void {
    const vector = embed(features);
    this.texts++;
    for (let i = 0; i < DIMS; i++) {
      this.sum[i] += vector[i];
      for (let j = 0; j <= i; j++) this.products[i * DIMS + j] += vector[i] * vector[j];
    }
  }

  report(): SpreadReport {
    if (this.texts === 0) return { effectiveDimension: 0, vendi: 0 };
    const spread = symmetricEigenvalues(this.matrix(true), DIMS);
    const similarity = symmetricEigenvalues(this.matrix(false), DIMS);
    return { effectiveDimension: dimensionsFor(spread), vendi: effectiveCount(similarity) };
  }

  /** Second moments about the mean, or about zero. */
  private matrix(isCentred: boolean): Float64Array {
    const matrix = new Float64Array(DIMS * DIMS);
    for (let i = 0; i < DIMS; i++) {
      for (let j = 0; j <= i; j++) {
        const mean = isCentred ? (this.sum[i] / this.texts) * (this.sum[j] / this.texts) : 0;
        matrix[i * DIMS + j] = matrix[j * DIMS + i] = this.products[i * DIMS + j] / this.texts - mean;
      }
    }
    return matrix;
  }
}

/** Unit vector: each feature adds to or takes from the place that its hash names (feature hashing, 0902.2206). */
function embed(features: readonly number[]): Float64Array {
  const vector = new Float64Array(DIMS);
  for (const feature of features) {
    const hash = mix32(feature ^ Math.floor(feature / 2 ** 32));
    vector[hash % DIMS] += hash & 0x80000000 ? 1 : -1;
  }
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? vector : vector.map((value) => value / length);
}

function dimensionsFor(eigenvalues: readonly number[]): number {
  const all = eigenvalues.reduce((sum, value) => sum + Math.max(0, value), 0);
  // Equal texts differ in nothing but rounding.
  if (all < 1e-9) return 0;
  let held = 0;
  let dimensions = 0;
  while (held < SHARE * all - 1e-12) held += Math.max(0, eigenvalues[dimensions++]);
  return dimensions;
}

function effectiveCount(eigenvalues: readonly number[]): number {
  const all = eigenvalues.reduce((sum, value) => sum + Math.max(0, value), 0);
  if (all === 0) return 0;
  const shares = eigenvalues.map((value) => value / all).filter((value) => value > 1e-12);
  return Math.exp(-shares.reduce((sum, share) => sum + share * Math.log(share), 0));
}

// Eigenvalues of a small symmetric matrix by Jacobi rotations (Golub & Van Loan, Matrix Computations, 8.5).

const MAX_SWEEPS = 30;

/** Eigenvalues of a row-major [n, n] symmetric matrix, largest first. */
export function symmetricEigenvalues(matrix: Float64Array, n: number): number[] {
  const a = matrix.slice();
  for (let sweep = 0; sweep < MAX_SWEEPS && offDiagonal(a, n) > 1e-20; sweep++) {
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) rotate(a, n, p, q);
  }
  return Array.from({ length: n }, (_, i) => a[i * n + i]).sort((x, y) => y - x);
}

function offDiagonal(a: Float64Array, n: number): number {
  let sum = 0;
  for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) sum += a[i * n + j] ** 2;
  return sum;
}

/** Turns the plane of p and q so that a[p, q] vanishes. */
function rotate(a: Float64Array, n: number, p: number, q: number): void {
  const apq = a[p * n + q];
  if (Math.abs(apq) < 1e-300) return;
  const theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
  const t = (theta >= 0 ? 1 : -1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const c = 1 / Math.sqrt(t * t + 1);
  const s = t * c;
  for (let k = 0; k < n; k++) {
    const akp = a[k * n + p];
    const akq = a[k * n + q];
    a[k * n + p] = c * akp - s * akq;
    a[k * n + q] = s * akp + c * akq;
  }
  for (let k = 0; k < n; k++) {
    const apk = a[p * n + k];
    const aqk = a[q * n + k];
    a[p * n + k] = c * apk - s * aqk;
    a[q * n + k] = s * apk + c * aqk;
  }
}
