// What filters find of a record that they judge alone, wherever it was lived; those that remember earlier records go on from
// there, in the order of rows.

import type { EpisodeRecord } from '../../replay/index.js';
import type { Filter, Forejudged, QualityContext } from './filter.js';
import { makeFilters, type QualityInput } from './quality-pipeline.js';

export class Forejudge {
  private readonly alone: readonly Filter[];
  private readonly next: Filter | undefined;

  /** @throws as `makeFilters` does */
  constructor(
    input: Omit<QualityInput, 'filters'>,
    private readonly context: QualityContext,
  ) {
    const filters = makeFilters(input);
    const first = filters.findIndex(({ liken }) => liken !== undefined);
    this.alone = first < 0 ? filters : filters.slice(0, first);
    this.next = filters[this.alone.length];
  }

  judge(record: EpisodeRecord): Forejudged {
    const notes: (string | null)[] = [];
    let current = record;
    for (const filter of this.alone) {
      const judgement = filter.judge(current, this.context);
      if ('repaired' in judgement) current = judgement.repaired;
      else if (!judgement.keep) return { notes, dropped: judgement.reason };
      notes.push('repaired' in judgement ? judgement.note : null);
    }
    const likeness = this.next?.liken?.(current);
    return {
      notes,
      ...(current === record ? {} : { mended: current }),
      ...(likeness === undefined ? {} : { likeness }),
    };
  }
}
