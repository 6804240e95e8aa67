// What filters find of a record that they judge alone, wherever it was lived; those that remember earlier records go on from
// there, in the order of rows.

import type { EpisodeRecord } from '../../replay/index.js';
import type { Filter, Forejudged, QualityContext } from './filter.js';
import { makeFilters, type QualityInput } from './quality-pipeline.js';
import { passageOf } from './removals.js';
import type { Passage } from './report.js';

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
    const passages: Passage[] = [];
    let current = record;
    for (const filter of this.alone) {
      const judgement = filter.judge(current, this.context);
      passages.push(passageOf(current, judgement));
      if ('repaired' in judgement) current = judgement.repaired;
      else if (!judgement.keep) return { passages };
    }
    const likeness = this.next?.liken?.(current);
    return {
      passages,
      ...(current === record ? {} : { mended: current }),
      ...(likeness === undefined ? {} : { likeness }),
    };
  }
}
