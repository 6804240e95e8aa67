// What all kinds of rules share while they are made: their evidence, and names of their own.

import type { InducedRule } from '../../env/tools/induced-schema.js';
import type { Example, Explanation } from './candidates.js';

type Evidence = Pick<InducedRule, 'accepted' | 'support' | 'seen' | 'counterExamples' | 'alternatives'>;
/** Without a name yet. */
export type Draft = InducedRule extends infer R ? (R extends InducedRule ? Omit<R, 'id'> : never) : never;

const SHOWN = 5;

/** Nothing is accepted before a person has accepted it. */
export function evidence(
  support: readonly { readonly at: string }[],
  counter: readonly string[] = [],
  alternatives: readonly string[] = [],
): Evidence {
  const seen = [...new Set(support.map(({ at }) => at))].slice(0, SHOWN);
  return {
    accepted: false,
    support: support.length,
    seen,
    counterExamples: [...counter],
    alternatives: [...alternatives],
  };
}

/** The weakest of several explanations speaks for all. */
export function weakest(explanations: readonly Explanation[], examples: readonly { readonly at: string }[]): Evidence {
  const counter = explanations.flatMap(({ text, differ }) => differ.map((example) => `${text}: ${told(example)}`));
  const least = Math.min(examples.length, ...explanations.map(({ agree }) => agree.length));
  const alternatives = explanations.flatMap(({ text, alternatives }) =>
    alternatives.slice(0, 2).map((other) => `${text}: or ${other}`),
  );
  return { ...evidence(examples, counter, alternatives), support: least };
}

function told({ at, value }: Example): string {
  return `${at} has ${JSON.stringify(value)}`;
}

/** `cancel_booking.set.1`: unique, and stable as long as the logs are. */
export function named(drafts: readonly Draft[]): InducedRule[] {
  const counts = new Map<string, number>();
  return drafts.map((draft) => {
    const about = 'tool' in draft ? draft.tool : draft.collection;
    const stem = `${about}.${draft.kind}`;
    const number = (counts.get(stem) ?? 0) + 1;
    counts.set(stem, number);
    return { id: number === 1 ? stem : `${stem}-${number}`, ...draft } as InducedRule;
  });
}
