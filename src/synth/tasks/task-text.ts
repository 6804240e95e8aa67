// How near two tasks are in words: shared n-grams, for duplicates among new tasks and leaks from tasks for evaluation.

import { canonicalJson } from '../../core/canonical-json.js';
import type { ToolsTask } from '../../env/tools/domain.js';
import { gramHashes, wordsOf } from '../quality/text-hash.js';

/** What the user of a task wants and is. What is seen first, where the goal opens it, is no part of that. */
export function wishOf({ user }: ToolsTask): string {
  const opening = user.opening?.startsWith(`${user.goal}\n\n`) ? undefined : user.opening;
  return [opening, user.goal, user.persona].filter((part) => part !== undefined).join('\n');
}

/** Hashes of the runs of `n` words of what the user wants. */
function gramsOf(task: ToolsTask, n: number): Set<number> {
  return new Set(gramHashes(wordsOf(wishOf(task)), n));
}

/** Size of the common part over size of the union, in [0, 1]. */
function jaccard(a: ReadonlySet<number>, b: ReadonlySet<number>): number {
  const [small, large] = a.size < b.size ? [a, b] : [b, a];
  let common = 0;
  for (const gram of small) if (large.has(gram)) common++;
  return common === 0 ? 0 : common / (a.size + b.size - common);
}

export interface NearTask {
  readonly id: string;
  readonly similarity: number;
}

/** Tasks known so far, to find the one nearest in words. */
export class TaskTexts {
  private readonly known: { id: string; grams: Set<number> }[] = [];

  constructor(
    tasks: readonly ToolsTask[],
    private readonly n = 3,
  ) {
    for (const task of tasks) this.add(task);
  }

  add(task: ToolsTask): void {
    this.known.push({ id: task.id, grams: gramsOf(task, this.n) });
  }

  nearest(task: ToolsTask): NearTask | undefined {
    const grams = gramsOf(task, this.n);
    let best: NearTask | undefined;
    for (const other of this.known) {
      const similarity = jaccard(grams, other.grams);
      if (best === undefined || similarity > best.similarity) best = { id: other.id, similarity };
    }
    return best;
  }
}

/** Words in common above which two tasks with one solution are one task. */
const SAME_WISH = 0.3;
const WISH_GRAM = 3;

/** Words and solutions of tasks kept for evaluation, which nothing made for training may share. */
export class Contamination {
  private readonly grams = new Map<number, string>();
  private readonly solutions = new Map<string, ToolsTask[]>();

  /** @param n words in a row that count as shared */
  constructor(
    evaluation: readonly ToolsTask[],
    private readonly n: number,
    private readonly isWrite: (tool: string) => boolean,
  ) {
    for (const task of evaluation) {
      const words = wordsOf(wishOf(task));
      if (words.length >= n) for (const gram of gramHashes(words, n)) this.grams.set(gram, task.id);
      const solution = this.solutionOf(task);
      if (solution !== undefined) this.solutions.set(solution, [...(this.solutions.get(solution) ?? []), task]);
    }
  }

  /** One sentence, or undefined. Words that the seeds have themselves are no leak. */
  leak(task: ToolsTask, seeds: readonly ToolsTask[]): string | undefined {
    const words = wordsOf(wishOf(task));
    const own = new Set(seeds.flatMap((seed) => [...gramsOf(seed, this.n)]));
    for (const [i, gram] of gramHashes(words, this.n).entries()) {
      const from = own.has(gram) ? undefined : this.grams.get(gram);
      const shared = words.slice(i, i + this.n).join(' ');
      if (from !== undefined) return `it says "${shared}" as task "${from}" does, which is kept for evaluation`;
    }
    const grams = gramsOf(task, WISH_GRAM);
    const alike = this.solvedAs(task).find((other) => jaccard(grams, gramsOf(other, WISH_GRAM)) > SAME_WISH);
    return alike && `wish and solution are those of task "${alike.id}", which is kept for evaluation`;
  }

  private solvedAs(task: ToolsTask): readonly ToolsTask[] {
    const solution = this.solutionOf(task);
    return solution === undefined ? [] : (this.solutions.get(solution) ?? []);
  }

  private solutionOf({ reference }: ToolsTask): string | undefined {
    const writes = reference?.calls.filter(({ name }) => this.isWrite(name)) ?? [];
    return writes.length === 0 ? undefined : canonicalJson(writes.map(({ name, arguments: given }) => [name, given]));
  }
}
