// Filter: nothing of what is evaluated on may be trained on. An episode goes if it belongs to a family that is evaluated, or
// shares a run of words with an evaluation task or with a file that was named. What several families of training tasks say
// by themselves is the domain's manner of speaking ("my employee number is") and leaks nothing.

import type { ToolsTask, UserSpec } from '../../env/tools/domain.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { drop, type Filter, type Judgement, KEEP } from './filter.js';
import { gramHashes, spokenText, wordsOf } from './text-hash.js';

export interface EvaluationSet {
  /** Tasks that are evaluated on. */
  readonly tasks: readonly ToolsTask[];
  /** All other tasks: what families of them share counts as manner of speaking. */
  readonly others?: readonly ToolsTask[];
  /** Further texts, as of benchmark files. */
  readonly texts: Iterable<string>;
}

/** `words`: how long a shared run must be. Episodes of the test split are what is evaluated, and are not judged. */
export function decontaminationFilter({ tasks, others = [], texts }: EvaluationSet, words: number): Filter {
  const families = new Set(tasks.map((task) => task.family));
  const grams = new Set<number>();
  const remember = (text: string): void => {
    const all = wordsOf(text);
    // A text of fewer words has no run of that length: its one shorter gram would never be met.
    if (all.length >= words) for (const gram of gramHashes(all, words)) grams.add(gram);
  };
  for (const task of tasks) for (const text of textsOf(task.user)) remember(text);
  for (const gram of mannerOfSpeaking(others, words)) grams.delete(gram);
  for (const text of texts) remember(text);
  const judge = (record: EpisodeRecord): Judgement => {
    if (record.split === 'test') return KEEP;
    if (families.has(record.family)) return drop('its family is evaluated on');
    const own = gramHashes(wordsOf(spokenText(record)), words);
    return own.some((gram) => grams.has(gram))
      ? drop(`shares ${words} words in a row with what is evaluated on`)
      : KEEP;
  };
  return { name: 'decontamination', judge };
}

const FAMILIES_THAT_MAKE_A_MANNER = 2;

/** Runs of words that tasks of several families have. */
function mannerOfSpeaking(tasks: readonly ToolsTask[], words: number): number[] {
  const families = new Map<number, Set<string>>();
  for (const { user, family } of tasks) {
    for (const text of textsOf(user)) {
      for (const gram of gramHashes(wordsOf(text), words))
        families.set(gram, (families.get(gram) ?? new Set()).add(family));
    }
  }
  return [...families].filter(([, users]) => users.size >= FAMILIES_THAT_MAKE_A_MANNER).map(([gram]) => gram);
}

function textsOf({ opening = '', goal, script = [] }: UserSpec): string[] {
  return [opening, goal, ...script.map(({ say }) => say)];
}
