// Retrieval by words over both sides of a store, with statistics of what the query may see.

import { type Filter, inverseDocumentFrequency, type QueryTerm, shownScore, strongestTerms } from './bm25.js';

import type { RetrievalQuery } from './experience.js';
import type { LexicalTerms } from './lexical-terms.js';
import type { Side } from './side.js';
import type { Hit } from './vector-lookup.js';

export class LexicalLookup {
  constructor(
    private readonly sides: readonly Side[],
    private readonly terms: LexicalTerms,
  ) {}

  hits(query: RetrievalQuery, k: number, filters: readonly (Filter | undefined)[]): Hit[] {
    const seen = this.sides.flatMap((side, at) => {
      const filter = filters[at];
      // Records are the same for every row, so their counts stand, whatever a query leaves out of them.
      const counted = side.source === 'real' ? undefined : filter?.visible;
      return filter === undefined || side.size === 0 ? [] : [{ side, filter, counted }];
    });
    const documents = seen.reduce((sum, { side, counted }) => sum + count(side, counted), 0);
    if (documents === 0) return [];
    const length = seen.reduce((sum, { side, counted }) => sum + side.lexical.length(counted), 0);
    const weighted: QueryTerm[] = [];
    for (const [term, weight] of this.terms.ofQuery(query)) {
      const frequency = seen.reduce((sum, { side, counted }) => sum + side.lexical.frequency(term, counted), 0);
      if (frequency > 0) weighted.push({ term, weight: weight * inverseDocumentFrequency(documents, frequency) });
    }
    const strongest = strongestTerms(weighted);
    return seen.flatMap(({ side, filter }) =>
      side.lexical
        .search(strongest, k, length / documents, filter)
        .map(({ document, score }) => ({ document, score: shownScore(score), side })),
    );
  }
}

function count({ size }: Side, visible: Uint8Array | undefined): number {
  return visible === undefined ? size : visible.reduce((sum, seen) => sum + seen, 0);
}
