// Retrieval by vectors over both sides of a store. The default embedder is learnt from the real steps, anew whenever
// these changed, so that it is the same whatever was dreamt; one of your own is asked in `prepare`, ahead of retrieval.

import { reverieError } from '../../core/errors.js';
import type { Filter } from './bm25.js';
import { type Embedder, embeddedText, HashedTrigramEmbedder } from './embedder.js';
import type { RetrievalQuery } from './experience.js';
import { grown } from './postings.js';
import type { Side } from './side.js';
import { type Ranked, TopRanked } from './top-ranked.js';

const BATCH = 256;
const REMEMBERED_QUERIES = 1000;

export interface Hit extends Ranked {
  readonly side: Side;
}

export class VectorLookup {
  private indexes: VectorIndex[];
  private fitted: { embedder: HashedTrigramEmbedder; realSteps: number } | undefined;
  private readonly queries = new Map<string, Float32Array>();
  private turn: Promise<unknown> = Promise.resolve();

  /** `sides`: the real one first. */
  constructor(
    private readonly sides: readonly Side[],
    private readonly embedder: Embedder | undefined,
  ) {
    this.indexes = sides.map(() => new VectorIndex());
  }

  /** Embeds the query and all steps that came since. */
  prepare(query: RetrievalQuery): Promise<void> {
    const { embedder } = this;
    if (embedder === undefined) return Promise.resolve();
    const result = this.turn.then(async () => {
      for (const [at, side] of this.sides.entries()) await this.embedMissing(embedder, side, this.indexes[at]);
      await this.embedQuery(embedder, embeddedText(query));
    });
    this.turn = result.catch(() => undefined);
    return result;
  }

  hits(query: RetrievalQuery, k: number, filters: readonly (Filter | undefined)[]): Hit[] {
    const vector = this.embedder === undefined ? this.fittedVector(query) : this.queries.get(embeddedText(query));
    if (vector === undefined)
      throw reverieError('SETTING_INVALID', {
        problem: `Experience: a query was not prepared: await prepare(query).`,
        hint: 'See ExperienceStep and RetrievalQuery for what each field must hold.',
      });
    return this.sides.flatMap((side, at) => {
      const filter = filters[at];
      if (filter === undefined) return [];
      return this.indexes[at].search(vector, k, filter).map((ranked) => ({ ...ranked, side }));
    });
  }

  private fittedVector(query: RetrievalQuery): Float32Array {
    const [real] = this.sides;
    if (this.fitted?.realSteps !== real.size) {
      const texts = Array.from({ length: real.size }, (_, n) => embeddedText(real.log.read(n)));
      this.fitted = { embedder: new HashedTrigramEmbedder(texts), realSteps: real.size };
      this.indexes = this.sides.map(() => new VectorIndex());
    }
    const { embedder } = this.fitted;
    for (const [at, side] of this.sides.entries()) {
      const index = this.indexes[at];
      while (index.size < side.size) index.add(embedder.embedNow(embeddedText(side.log.read(index.size))));
    }
    return embedder.embedNow(embeddedText(query));
  }

  private async embedMissing(embedder: Embedder, side: Side, index: VectorIndex): Promise<void> {
    while (index.size < side.size) {
      const count = Math.min(BATCH, side.size - index.size);
      const texts = Array.from({ length: count }, (_, i) => embeddedText(side.log.read(index.size + i)));
      for (const vector of await embedded(embedder, texts)) index.add(vector);
    }
  }

  private async embedQuery(embedder: Embedder, text: string): Promise<void> {
    if (this.queries.has(text)) return;
    const [vector] = await embedded(embedder, [text]);
    if (this.queries.size >= REMEMBERED_QUERIES) this.queries.delete(this.queries.keys().next().value as string);
    this.queries.set(text, vector);
  }
}

async function embedded(embedder: Embedder, texts: readonly string[]): Promise<Float32Array[]> {
  const vectors = await embedder.embed(texts);
  if (vectors.length === texts.length) return vectors;
  const problem = `gave ${vectors.length} vectors for ${texts.length} texts`;
  throw reverieError('SETTING_INVALID', {
    problem: `Experience: ${`embedder ${embedder.version}`} ${problem}.`,
    hint: 'See ExperienceStep and RetrievalQuery for what each field must hold.',
  });
}

// Nearest vectors by cosine, every one looked at: exact, and fast enough for some ten thousand steps (about 8 ms for
// 20,000 of 384 dimensions). Beyond that an approximate index pays; `usearch` is the one that was measured to be good,
// and it is left out because it needs Node 22.

class VectorIndex {
  size = 0;
  private dimensions = 0;
  private values = new Float32Array(0);

  /** Adds a vector, scaled to unit length; answers its number. Throws SETTING_INVALID for another length or NaN. */
  add(vector: Float32Array): number {
    if (this.dimensions === 0) this.dimensions = vector.length;
    const unit = this.unit(vector);
    this.values = grown(this.values, (this.size + 1) * this.dimensions);
    this.values.set(unit, this.size * this.dimensions);
    return this.size++;
  }

  /** Up to `k` vectors with a positive cosine, nearest first; ties as in `TopRanked`. */
  search(query: Float32Array, k: number, { visible, order }: Filter = {}): Ranked[] {
    const top = new TopRanked(k, order);
    if (this.size === 0) return [];
    const unit = this.unit(query);
    for (let row = 0; row < this.size; row++) {
      if (visible === undefined || visible[row] !== 0) top.offer(row, this.dot(unit, row * this.dimensions));
    }
    return top.ranked();
  }

  private dot(query: Float32Array, at: number): number {
    const { values, dimensions } = this;
    let [even, odd] = [0, 0];
    let i = 0;
    for (; i + 1 < dimensions; i += 2) {
      even += query[i] * values[at + i];
      odd += query[i + 1] * values[at + i + 1];
    }
    return i < dimensions ? even + odd + query[i] * values[at + i] : even + odd;
  }

  private unit(vector: Float32Array): Float32Array {
    const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
    if (vector.length === this.dimensions && Number.isFinite(length))
      return length === 0 ? vector : vector.map((value) => value / length);
    const problem = `has ${vector.length} values of length ${length}; all must be finite and ${this.dimensions}`;
    throw reverieError('SETTING_INVALID', {
      problem: `Experience: a vector of the embedder ${problem}.`,
      hint: 'See ExperienceStep and RetrievalQuery for what each field must hold.',
    });
  }
}
