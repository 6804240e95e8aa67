// The memory of tool calls: records of the real environment, and what was simulated beside them and apart from them, both durable
// and searched by likeness.
//
// What a query answers depends on what it may see, not on when it came: statistics are those of all real steps and of
// the simulated ones of earlier rows, ties go to records, then to earlier rows, then to older steps.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { reverieError } from '../../core/errors.js';
import { ensureFolder } from '../../core/files.js';
import type { Source } from '../transition.js';
import {
  Bm25Index,
  type Filter,
  grown,
  inverseDocumentFrequency,
  type QueryTerm,
  shownScore,
  strongestTerms,
} from './bm25.js';
import {
  checkStep,
  type ExperienceConfig,
  type ExperienceIndex,
  type ExperienceStep,
  experienceInvalid,
  type RetrievalQuery,
  type RetrievedStep,
} from './experience.js';
import { MemoryLog, packStep, StepFile, type StepLog } from './step-file.js';
import { callText, LexicalTerms, type RecordedCall } from './terms.js';

interface ExperienceOptions extends Partial<Pick<ExperienceConfig, 'enrich' | 'maxSteps' | 'maxBytes'>> {
  /** Where steps are kept, a file for real and one for simulated ones; absent: in memory. */
  readonly folder?: string;
}

interface Hit {
  readonly side: Side;
  readonly document: number;
  readonly score: number;
}

export class ExperienceStore implements ExperienceIndex {
  private readonly terms = new LexicalTerms();
  private readonly real: Side;
  private readonly synthetic: Side;
  private readonly enrich: ExperienceConfig['enrich'];
  private readonly maxSteps: number;
  private readonly maxBytes: number;
  /** Changes take turns. */
  private turn: Promise<unknown> = Promise.resolve();

  private constructor(real: StepLog, synthetic: StepLog, options: ExperienceOptions) {
    this.enrich = options.enrich ?? 'never';
    this.maxSteps = options.maxSteps ?? Number.POSITIVE_INFINITY;
    this.maxBytes = options.maxBytes ?? Number.POSITIVE_INFINITY;
    this.real = new Side('real', real, this.terms);
    this.synthetic = new Side('synthetic', synthetic, this.terms);
    for (const side of this.sides) for (let n = 0; n < side.log.size; n++) side.index(side.log.read(n));
  }

  /**
   * Opens or begins the store in `options.folder`; one writer at a time.
   * Throws FILE_INVALID, STORAGE_FULL, STORAGE_FAILED.
   */
  static async open(options: ExperienceOptions = {}): Promise<ExperienceStore> {
    const { folder } = options;
    if (folder === undefined) return new ExperienceStore(new MemoryLog(), new MemoryLog(), options);
    await ensureFolder(folder);
    const real = await StepFile.open(join(folder, 'real.steps'));
    try {
      return new ExperienceStore(real, await StepFile.open(join(folder, 'synthetic.steps')), options);
    } catch (error) {
      await real.close();
      throw error;
    }
  }

  /** Steps that can be retrieved. */
  get size(): number {
    return this.real.kept + this.synthetic.kept;
  }

  /**
   * Remembers steps in the order given, those of one source all or none; durable once the promise resolves. Answers how many were new.
   * Throws DATA_MISMATCH, SETTING_INVALID, EXPERIENCE_FULL, STORAGE_FULL, STORAGE_FAILED.
   */
  add(steps: readonly ExperienceStep[]): Promise<number> {
    for (const step of steps) checkStep(step);
    return this.inTurn(() => this.keep(steps.filter((step) => this.isWanted(step))));
  }

  retrieve(query: RetrievalQuery, k: number): readonly RetrievedStep[] {
    if (!Number.isSafeInteger(k) || k < 0) throw experienceInvalid(`a query asks for ${k} steps`);
    if (k === 0) return [];
    const hits = this.hits(query, k);
    // Stable: of equal scores the real side's come first, each side in its own order.
    const best = hits.sort((a, b) => b.score - a.score).slice(0, k);
    return best.map(({ side, document, score }) => ({ step: side.log.read(document), score }));
  }

  exact(query: RetrievalQuery): ExperienceStep | undefined {
    if (query.stateHash === undefined) return undefined;
    for (const number of this.real.inState(query.call, query.stateHash)) {
      const step = this.real.log.read(number);
      if (query.exceptTask === undefined || step.task !== query.exceptTask) return step;
    }
    return undefined;
  }

  async close(): Promise<void> {
    await this.turn;
    for (const side of this.sides) await side.log.close();
  }

  private get sides(): readonly Side[] {
    return [this.real, this.synthetic];
  }

  /** Up to `k` hits of each side, by words, with statistics of what the query may see. */
  private hits(query: RetrievalQuery, k: number): Hit[] {
    const filters = this.filters(query);
    const seen = this.sides.flatMap((side, at) => {
      const filter = filters[at];
      // Records are the same for every row, so their counts stand, whatever a query leaves out of them.
      const counted = side.source === 'real' ? undefined : filter?.visible;
      return filter === undefined || side.size === 0 ? [] : [{ side, filter, counted }];
    });
    const documents = seen.reduce((sum, { side, counted }) => sum + seenSteps(side, counted), 0);
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

  private isWanted(step: ExperienceStep): boolean {
    if (step.source === 'real' || this.enrich === 'always') return true;
    return this.enrich === 'verified' && step.verified;
  }

  private async keep(steps: readonly ExperienceStep[]): Promise<number> {
    const news = this.sides.map((side) => {
      const fresh = side.fresh(steps.filter(({ source }) => source === side.source));
      return { side, fresh, packed: fresh.map(({ step }) => packStep(step)) };
    });
    const before = this.real.log.bytes + this.synthetic.log.bytes;
    const bytes = news.flatMap(({ packed }) => packed).reduce((sum, { length }) => sum + length, before);
    if (bytes > this.maxBytes) throw reverieError('EXPERIENCE_FULL', { bytes, limit: this.maxBytes });
    for (const { side, packed } of news) await side.log.append(packed);
    for (const { side, fresh } of news) for (const { step, key } of fresh) side.index(step, key);
    return news.reduce((sum, { fresh }) => sum + fresh.length, 0);
  }

  /** What the query may see of each side; undefined: nothing. */
  private filters(query: RetrievalQuery): readonly (Filter | undefined)[] {
    const real = this.real.filter(query, Number.POSITIVE_INFINITY);
    return [real, query.sources === 'real' ? undefined : this.synthetic.filter(query, this.maxSteps)];
  }

  private inTurn<T>(change: () => Promise<T>): Promise<T> {
    const result = this.turn.then(change);
    this.turn = result.catch(() => undefined);
    return result;
  }
}

function seenSteps({ size }: Side, visible: Uint8Array | undefined): number {
  return visible === undefined ? size : visible.reduce((sum, seen) => sum + seen, 0);
}

/** One side of a store, the real or the synthetic: which of its steps a query may see, and the index over them. */
class Side {
  readonly lexical = new Bm25Index();
  /** By step: the row that it is from. */
  rows = new Int32Array(16);
  private tasks = new Uint32Array(16);
  /** By step: 1 if a step that is equal to it and of an earlier row stands for it. */
  private gone = new Uint8Array(16);
  private readonly taskNumbers = new Map<string, number>();
  private readonly equal = new Map<string, number>();
  private readonly byState = new Map<string, number[]>();
  private mask: { key: string; visible: Uint8Array | undefined } | undefined;

  constructor(
    readonly source: Source,
    readonly log: StepLog,
    private readonly terms: LexicalTerms,
  ) {}

  /** Steps indexed, those that others stand for included. */
  get size(): number {
    return this.lexical.size;
  }

  /**
   * Those of `steps` that are worth keeping, each with what steps equal to it share: no equal one is there. Of equal steps the one of the earliest row stays, so
   * that what a row sees does not depend on which came first.
   */
  fresh(steps: readonly ExperienceStep[]): { readonly step: ExperienceStep; readonly key: string }[] {
    const earliest = new Map<string, number>();
    const keyed = steps.map((step) => ({ step, key: equalityKey(step) }));
    return keyed.filter(({ step, key }) => {
      const known = this.equal.get(key);
      const row = earliest.get(key) ?? (known === undefined ? undefined : this.rows[known]);
      if (row !== undefined && row <= step.row) return false;
      earliest.set(key, step.row);
      return true;
    });
  }

  /** Indexes the next step of the log. */
  index(step: ExperienceStep, key = equalityKey(step)): void {
    const number = this.lexical.add(this.terms.ofStep(step));
    this.rows = grown(this.rows, number + 1);
    this.tasks = grown(this.tasks, number + 1);
    this.gone = grown(this.gone, number + 1);
    this.rows[number] = step.row;
    const task = this.taskNumbers.get(step.task) ?? this.taskNumbers.size;
    this.taskNumbers.set(step.task, task);
    this.tasks[number] = task;
    const replaced = this.equal.get(key);
    if (replaced !== undefined) this.gone[replaced] = 1;
    this.equal.set(key, number);
    if (step.source === 'real' && step.stateHash !== undefined) this.rememberState(step.call, step.stateHash, number);
    this.mask = undefined;
  }

  /** Steps of this call in this state, oldest first. */
  inState(call: RecordedCall, stateHash: string): readonly number[] {
    return this.byState.get(stateKey(call, stateHash)) ?? [];
  }

  /** Steps that no equal one stands for. */
  get kept(): number {
    let steps = this.size;
    for (let number = 0; number < this.size; number++) steps -= this.gone[number];
    return steps;
  }

  /** What a query may see. `maxSteps`: the newest that count. */
  filter(query: RetrievalQuery, maxSteps: number): Filter {
    const key = JSON.stringify([query.beforeRow ?? null, query.exceptTask ?? null, maxSteps]);
    if (this.mask?.key !== key) this.mask = { key, visible: this.visible(query, maxSteps) };
    return { visible: this.mask.visible, order: this.rows };
  }

  private visible(query: RetrievalQuery, maxSteps: number): Uint8Array | undefined {
    const { size, rows, gone } = this;
    const except = query.exceptTask === undefined ? undefined : this.taskNumbers.get(query.exceptTask);
    // Records have row -1: the first rows of a job, whose lag reaches back before it began, see them too.
    const before = Math.max(0, query.beforeRow ?? Number.POSITIVE_INFINITY);
    const visible = new Uint8Array(size);
    let hidden = 0;
    for (let n = 0; n < size; n++) {
      visible[n] = gone[n] === 0 && rows[n] < before ? 1 : 0;
      hidden += 1 - visible[n];
    }
    if (size - hidden > maxSteps) this.keepNewest(visible, maxSteps);
    else if (hidden === 0 && except === undefined) return undefined;
    if (except !== undefined) for (let n = 0; n < size; n++) if (this.tasks[n] === except) visible[n] = 0;
    return visible;
  }

  /** Leaves the newest whole rows, at most `maxSteps` steps in all. */
  private keepNewest(visible: Uint8Array, maxSteps: number): void {
    const stepsOfRow = new Map<number, number>();
    visible.forEach((seen, n) => {
      if (seen === 1) stepsOfRow.set(this.rows[n], (stepsOfRow.get(this.rows[n]) ?? 0) + 1);
    });
    let from = Number.POSITIVE_INFINITY;
    let left = maxSteps;
    for (const [row, steps] of [...stepsOfRow].sort(([a], [b]) => b - a)) {
      left -= steps;
      if (left < 0) break;
      from = row;
    }
    visible.forEach((_, n) => {
      if (this.rows[n] < from) visible[n] = 0;
    });
  }

  private rememberState(call: RecordedCall, stateHash: string, number: number): void {
    const key = stateKey(call, stateHash);
    const known = this.byState.get(key);
    if (known === undefined) this.byState.set(key, [number]);
    else known.push(number);
  }
}

function stateKey(call: RecordedCall, stateHash: string): string {
  return digest(`${stateHash} ${callText(call)}`);
}

/** Equal steps show the same answer to the same call after the same calls; whose they are stays apart. */
function equalityKey(step: ExperienceStep): string {
  const { modelVersion, backend, scenario, task, stateHash = null, history, observation } = step;
  const call = callText(step.call);
  return digest(JSON.stringify([modelVersion, backend, scenario, task, stateHash, call, history, observation]));
}

function digest(text: string): string {
  return createHash('sha1').update(text).digest('base64');
}
