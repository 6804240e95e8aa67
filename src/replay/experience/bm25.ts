// Lexical search over steps: BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009) with two
// weighted fields merged into one count (BM25F, Robertson et al. 2004), on typed arrays.
//
// Logs of tools are templated: few distinct terms, each in a large share of all documents, which is where general search
// engines take seconds. So a query walks whole lists, the most telling first, and stops as soon as no document outside a
// small set can still be among the best; that set is then scored exactly from the terms of its documents. Contributions
// are whole numbers (of 2^-17), so that a sum does not depend on its order and the answer is that of a full scan.

const K1 = 1.2;
const B = 0.75;
const SCALE = 2 ** 17;
/** With more terms than this, or larger weights, a sum might leave 31 bits. */
const MAX_QUERY_TERMS = 64;
export const MAX_QUERY_WEIGHT = 4;
const MAX_LENGTH = 4095;
/** A look whether the rest can be left out costs about as much as walking this many postings a document. */
const LOOK_COST = 3;
/** Scoring a document anew costs this many times as much, a term, as walking a posting. */
const RESCORE_COST = 4;

/** A term of a query: its weight in the query, at most 4, times its inverse document frequency. */
export interface QueryTerm {
  readonly term: number;
  readonly weight: number;
}

/** Inverse document frequency that is never negative: ln(1 + (n - df + 0.5) / (df + 0.5)). */
export function inverseDocumentFrequency(documents: number, frequency: number): number {
  return Math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5));
}

/** The terms that are searched for: the 64 of largest weight, ties in the order given. */
export function strongestTerms(terms: readonly QueryTerm[]): readonly QueryTerm[] {
  return [...terms].sort((a, b) => b.weight - a.weight).slice(0, MAX_QUERY_TERMS);
}

/** What a term adds to a document's score, as a whole number; `norm` as in `lengthNorm`. */
function contribution(weight: number, count: number, norm: number): number {
  return ((weight * (K1 + 1) * SCALE * count) / (count + norm)) | 0;
}

/** k1 (1 - b + b length / averageLength). */
function lengthNorm(length: number, averageLength: number): number {
  return K1 * (1 - B + (B * length) / averageLength);
}

interface Part {
  readonly weight: number;
  readonly postings: Postings;
  /** No document gets more from this term. */
  readonly bound: number;
}

export class Bm25Index {
  private readonly postings: (Postings | undefined)[] = [];
  private readonly documents = new DocumentTerms();
  private totalLength = 0;
  private longest = 0;
  private shortest = MAX_LENGTH;
  private table = new Int32Array(0);
  private scores = new Int32Array(0);
  /** By term: its weight in the query that is being answered. */
  private weights = new Float64Array(0);

  get size(): number {
    return this.documents.size;
  }

  /** Sum of the documents' weighted lengths, those with `visible[d] = 0` left out. */
  length(visible?: Uint8Array): number {
    if (visible === undefined) return this.totalLength;
    let sum = 0;
    for (let d = 0; d < this.size; d++) if (visible[d] !== 0) sum += this.documents.lengths[d];
    return sum;
  }

  /** Number of documents that hold a term, those with `visible[d] = 0` left out. */
  frequency(term: number, visible?: Uint8Array): number {
    const postings = this.postings[term];
    if (postings === undefined || visible === undefined) return postings?.length ?? 0;
    let sum = 0;
    for (let i = 0; i < postings.length; i++) sum += visible[postings.documents[i]];
    return sum;
  }

  /** Adds a document of distinct terms with weighted counts; answers its number. */
  add(terms: ReadonlyMap<number, number>): number {
    let length = 0;
    for (const count of terms.values()) length += Math.min(count, 255);
    length = Math.min(length, MAX_LENGTH);
    for (const [term, count] of terms) this.documents.push(term, Math.min(count, 255));
    const document = this.documents.end(length);
    for (const [term, count] of terms) {
      this.postings[term] ??= new Postings();
      this.postings[term].push(document, Math.min(count, 255), length);
    }
    this.totalLength += length;
    this.longest = Math.max(this.longest, length);
    this.shortest = Math.min(this.shortest, length);
    return document;
  }

  /**
   * Up to `k` documents with any of the terms, best first. Ties go to the smaller `order[d]`, then to the older.
   * `averageLength` is that of all documents the weights were made from.
   */
  search(terms: readonly QueryTerm[], k: number, averageLength: number, filter: Filter = {}): Ranked[] {
    const norms = Float64Array.from({ length: this.longest + 1 }, (_, length) => lengthNorm(length, averageLength));
    const parts = this.partsOf(terms, norms);
    const top = new TopRanked(k, filter.order);
    const scores = this.clearedScores();
    let rest = parts.reduce((sum, part) => sum + part.bound, 0);
    let restPostings = parts.reduce((sum, part) => sum + part.postings.length, 0);
    let walked = 0;
    for (const part of parts) {
      if (walked >= this.size * LOOK_COST && restPostings > this.size * LOOK_COST) {
        walked = 0;
        const few = this.candidates(k, rest, restPostings, filter);
        if (few !== undefined) return this.rescore(few, terms, norms, top);
      }
      this.accumulate(part, norms, scores);
      rest -= part.bound;
      restPostings -= part.postings.length;
      walked += part.postings.length;
    }
    this.offerAll(top, filter.visible);
    return top.ranked();
  }

  private partsOf(terms: readonly QueryTerm[], norms: Float64Array): Part[] {
    const parts: Part[] = [];
    for (const { term, weight } of terms) {
      const postings = this.postings[term];
      if (postings === undefined) continue;
      parts.push({ weight, postings, bound: contribution(weight, postings.maxCount, norms[postings.minLength]) + 1 });
    }
    return parts.sort((a, b) => b.bound - a.bound);
  }

  private accumulate({ weight, postings }: Part, norms: Float64Array, scores: Int32Array): void {
    const { documents, counts, length } = postings;
    const { lengths } = this.documents;
    const table = this.contributions(weight, postings.maxCount, norms);
    const stride = norms.length;
    for (let i = 0; i < length; i++) {
      const d = documents[i];
      scores[d] += table[counts[i] * stride + lengths[d]];
    }
  }

  /** Contribution by count and length: few pairs, and many documents of each. */
  private contributions(weight: number, maxCount: number, norms: Float64Array): Int32Array {
    const stride = norms.length;
    const size = (maxCount + 1) * stride;
    if (this.table.length < size) this.table = new Int32Array(size);
    for (let count = 1; count <= maxCount; count++) {
      for (let length = this.shortest; length < stride; length++)
        this.table[count * stride + length] = contribution(weight, count, norms[length]);
    }
    return this.table;
  }

  /** The documents that can still be among the best `k`, if scoring them is less work than walking on. */
  private candidates(k: number, rest: number, restPostings: number, { visible }: Filter): number[] | undefined {
    const best = new TopRanked(k);
    this.offerAll(best, visible);
    const threshold = best.threshold - rest;
    if (threshold <= 0) return undefined;
    const limit = (restPostings * this.size) / this.documents.entries / RESCORE_COST;
    const found: number[] = [];
    for (let d = 0; d < this.size; d++) {
      if (this.scores[d] < threshold || !isSeen(d, visible)) continue;
      if (found.push(d) > limit) return undefined;
    }
    return found;
  }

  private offerAll(top: TopRanked, visible: Uint8Array | undefined): void {
    const { scores, size } = this;
    let threshold = Math.max(1, top.threshold);
    for (let d = 0; d < size; d++) {
      if (scores[d] < threshold || !isSeen(d, visible)) continue;
      top.offer(d, scores[d]);
      threshold = Math.max(1, top.threshold);
    }
  }

  private rescore(found: number[], terms: readonly QueryTerm[], norms: Float64Array, top: TopRanked): Ranked[] {
    if (this.weights.length < this.postings.length) this.weights = new Float64Array(this.postings.length * 2);
    const { starts, lengths, terms: held, counts } = this.documents;
    for (const { term, weight } of terms) this.weights[term] = weight;
    for (const d of found) {
      let score = 0;
      for (let i = starts[d]; i < starts[d + 1]; i++) {
        const weight = this.weights[held[i]];
        if (weight > 0) score += contribution(weight, counts[i], norms[lengths[d]]);
      }
      top.offer(d, score);
    }
    for (const { term } of terms) this.weights[term] = 0;
    return top.ranked();
  }

  private clearedScores(): Int32Array {
    if (this.scores.length < this.size) this.scores = new Int32Array(this.size * 2);
    else this.scores.fill(0, 0, this.size);
    return this.scores;
  }
}

export interface Filter {
  /** 1 for the documents that may be answered; absent: all. */
  readonly visible?: Uint8Array;
  /** What decides ties before insertion does. */
  readonly order?: Int32Array;
}

function isSeen(document: number, visible: Uint8Array | undefined): boolean {
  return visible === undefined || visible[document] !== 0;
}

/** A whole-number score as it is shown. */
export function shownScore(score: number): number {
  return score / SCALE;
}

interface Ranked {
  readonly document: number;
  readonly score: number;
}

/** The best k of many scored documents: a heap whose root is the worst that is kept. */
class TopRanked {
  private readonly heap: Ranked[] = [];

  /** `order[d]` decides ties before the document's number does; smaller is better. */
  constructor(
    private readonly k: number,
    private readonly order?: Int32Array,
  ) {}

  /** No document with a smaller score is among the best; 0 while fewer than k are there. */
  get threshold(): number {
    return this.heap.length < this.k ? 0 : this.heap[0].score;
  }

  /** Takes the document if it is among the best so far; scores of 0 and less never are. */
  offer(document: number, score: number): void {
    if (score <= 0 || this.k === 0) return;
    if (this.heap.length < this.k) {
      this.heap.push({ document, score });
      this.up(this.heap.length - 1);
    } else if (this.isBetter(document, score, this.heap[0])) {
      this.heap[0] = { document, score };
      this.down();
    }
  }

  /** Best first. */
  ranked(): Ranked[] {
    return [...this.heap].sort((a, b) => (this.isBetter(a.document, a.score, b) ? -1 : 1));
  }

  private isBetter(document: number, score: number, other: Ranked): boolean {
    if (score !== other.score) return score > other.score;
    const byOrder = this.order === undefined ? 0 : this.order[document] - this.order[other.document];
    return byOrder !== 0 ? byOrder < 0 : document < other.document;
  }

  private isWorse(a: Ranked, b: Ranked): boolean {
    return this.isBetter(b.document, b.score, a);
  }

  private up(from: number): void {
    for (let child = from; child > 0; ) {
      const parent = (child - 1) >> 1;
      if (!this.isWorse(this.heap[child], this.heap[parent])) return;
      this.swap(child, parent);
      child = parent;
    }
  }

  private down(): void {
    for (let parent = 0; ; ) {
      let worst = parent;
      for (const child of [2 * parent + 1, 2 * parent + 2]) {
        if (child < this.heap.length && this.isWorse(this.heap[child], this.heap[worst])) worst = child;
      }
      if (worst === parent) return;
      this.swap(worst, parent);
      parent = worst;
    }
  }

  private swap(a: number, b: number): void {
    [this.heap[a], this.heap[b]] = [this.heap[b], this.heap[a]];
  }
}

/** Documents of one term, in order of insertion. */
class Postings {
  documents = new Uint32Array(4);
  /** Weighted number of times; at most 255. */
  counts = new Uint8Array(4);
  length = 0;
  /** What bounds the score of any document in here. */
  maxCount = 0;
  minLength = Number.POSITIVE_INFINITY;

  push(document: number, count: number, documentLength: number): void {
    this.documents = grown(this.documents, this.length + 1);
    this.counts = grown(this.counts, this.length + 1);
    this.documents[this.length] = document;
    this.counts[this.length++] = count;
    if (count > this.maxCount) this.maxCount = count;
    if (documentLength < this.minLength) this.minLength = documentLength;
  }
}

/** Terms of each document, one after the other. */
class DocumentTerms {
  terms = new Uint32Array(64);
  counts = new Uint8Array(64);
  /** Document d holds entries starts[d] to starts[d + 1]. */
  starts = new Uint32Array(16);
  /** Weighted length of each document. */
  lengths = new Uint16Array(16);
  size = 0;
  /** Terms pushed in all. */
  entries = 0;

  push(term: number, count: number): void {
    this.terms = grown(this.terms, this.entries + 1);
    this.counts = grown(this.counts, this.entries + 1);
    this.terms[this.entries] = term;
    this.counts[this.entries++] = count;
  }

  /** Ends the document whose terms were pushed since the last; answers its number. */
  end(length: number): number {
    this.starts = grown(this.starts, this.size + 2);
    this.lengths = grown(this.lengths, this.size + 1);
    this.lengths[this.size] = length;
    this.starts[++this.size] = this.entries;
    return this.size - 1;
  }
}

/** The array itself if it holds `needed` values, else a copy of at least twice its length. */
export function grown<T extends Uint8Array | Uint16Array | Uint32Array | Int32Array>(array: T, needed: number): T {
  if (needed <= array.length) return array;
  const larger = new (array.constructor as new (length: number) => T)(Math.max(needed, array.length * 2));
  larger.set(array);
  return larger;
}
