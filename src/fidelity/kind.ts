// What a kind of world gives so that dreams of it can be judged: the questions it asks of a model, how many dreamt steps follow
// from the answers, and how it is called.

import type { HorizonRule } from './horizon/return-bounds.js';
import type { Instrument } from './instrument.js';
import type { SectionId } from './report/fidelity-report.js';

/** A question about fidelity, as one kind of world asks it. */
export interface Question<Judged> {
  readonly id: SectionId;
  /** Asked wherever this one is, too. */
  readonly comesWith?: SectionId;
  /** Says of itself what it cannot measure of this model. */
  readonly ask: (judged: Judged) => Instrument;
}

export interface FidelityKind<Judged = never> {
  /** As scenarios and reports call it. */
  readonly name: string;
  /** In the order in which they are asked. */
  readonly questions: readonly Question<Judged>[];
  readonly horizon: HorizonRule;
  /** Words of a model card. */
  readonly card: {
    /** As Hugging Face knows such models. */
    readonly tag: string;
    /** What is foreseen, as a noun. */
    readonly world: string;
  };
}

/** Instruments of the questions that are asked of a model. */
export function instrumentsOf<Judged>(
  { questions }: FidelityKind<Judged>,
  judged: Judged,
  sections: readonly SectionId[],
): Instrument[] {
  return questions
    .filter(({ id, comesWith = id }) => sections.includes(id) || sections.includes(comesWith))
    .map(({ ask }) => ask(judged));
}
