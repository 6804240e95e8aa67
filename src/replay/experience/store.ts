// The memory of tool calls: records of the real environment, what was dreamt beside them and apart from them, both
// durable, searched by likeness, and free of what a faulty model version dreamt.
//
// What a query answers depends on what it may see, not on when it came: statistics are those of all real steps and of
// the dreamt ones of earlier rows, ties go to records, then to earlier rows, then to older steps.

import { reverieError } from '../../core/errors.js';
import type { Filter } from './bm25.js';
import type { Embedder } from './embedder.js';
import type { ExperienceIndex, ExperienceStep, RetrievalQuery, RetrievedStep } from './experience.js';
import { type ExperienceFiles, memoryFiles, openFiles, type QuarantineRecord } from './experience-files.js';
import type { ExperienceConfig } from './experience-schema.js';
import { LexicalLookup } from './lexical-lookup.js';
import { LexicalTerms } from './lexical-terms.js';
import { type KeyedStep, Side } from './side.js';
import { checkStep } from './step-check.js';
import { packStep } from './step-log.js';
import { VectorLookup } from './vector-lookup.js';
import { Vocabulary } from './vocabulary.js';

export interface ExperienceOptions
  extends Partial<Pick<ExperienceConfig, 'retrieval' | 'enrich' | 'maxSteps' | 'maxBytes'>> {
  /** Where steps are kept; absent: in memory. */
  readonly folder?: string;
  /** For retrieval by vectors; absent: hashed trigrams. */
  readonly embedder?: Embedder;
}

/** What became of steps that were added. */
export interface AddedSteps {
  readonly added: number;
  /** Equal to one that was there. */
  readonly duplicates: number;
  /** Dreamt, and not wanted by the policy of enrichment. */
  readonly notWanted: number;
}

export interface QuarantinedVersion extends QuarantineRecord {
  readonly steps: number;
}

const NONE: ReadonlySet<string> = new Set();

export class ExperienceStore implements ExperienceIndex {
  private readonly real: Side;
  private readonly synthetic: Side;
  private readonly lexical: LexicalLookup;
  private readonly vectors: VectorLookup | undefined;
  private readonly quarantinedVersions = new Map<string, QuarantineRecord>();
  private readonly enrich: ExperienceConfig['enrich'];
  private readonly maxSteps: number;
  private readonly maxBytes: number;
  /** Changes take turns. */
  private turn: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly files: ExperienceFiles,
    options: ExperienceOptions,
  ) {
    this.enrich = options.enrich ?? 'never';
    this.maxSteps = options.maxSteps ?? Number.POSITIVE_INFINITY;
    this.maxBytes = options.maxBytes ?? Number.POSITIVE_INFINITY;
    const terms = new LexicalTerms(new Vocabulary());
    this.real = new Side('real', files.real, terms);
    this.synthetic = new Side('synthetic', files.synthetic, terms);
    this.lexical = new LexicalLookup(this.sides, terms);
    if (options.retrieval === 'vector') this.vectors = new VectorLookup(this.sides, options.embedder);
  }

  /**
   * Opens or begins the store in `options.folder`; one writer at a time.
   * Throws FILE_INVALID, STORAGE_FULL, STORAGE_FAILED.
   */
  static async open(options: ExperienceOptions = {}): Promise<ExperienceStore> {
    const files = options.folder === undefined ? memoryFiles() : await openFiles(options.folder);
    const store = new ExperienceStore(files, options);
    for (const side of store.sides) for (let n = 0; n < side.log.size; n++) side.index(side.log.read(n));
    for (const record of files.quarantined) store.quarantinedVersions.set(record.modelVersion, record);
    return store;
  }

  /** Steps that can be retrieved. */
  get size(): number {
    let steps = 0;
    for (const side of this.sides) for (const n of side.kept()) steps += this.isQuarantined(side, n) ? 0 : 1;
    return steps;
  }

  /**
   * Remembers steps in the order given, those of one source all or none; durable once the promise resolves.
   * Throws DATA_MISMATCH, SETTING_INVALID, EXPERIENCE_FULL, STORAGE_FULL, STORAGE_FAILED.
   */
  add(steps: readonly ExperienceStep[]): Promise<AddedSteps> {
    for (const step of steps) checkStep(step);
    return this.inTurn(async () => {
      const wanted = steps.filter((step) => this.isWanted(step));
      const added = await this.keep(wanted);
      return { added, duplicates: wanted.length - added, notWanted: steps.length - wanted.length };
    });
  }

  /** Where vectors of an embedder of your own are used: embeds what `retrieve` with the same query will look for. */
  async prepare(query: RetrievalQuery): Promise<void> {
    await this.vectors?.prepare(query);
  }

  retrieve(query: RetrievalQuery, k: number): readonly RetrievedStep[] {
    if (!Number.isSafeInteger(k) || k < 0)
      throw reverieError('SETTING_INVALID', {
        problem: `Experience: a query ${`asks for ${k} steps`}.`,
        hint: 'See ExperienceStep and RetrievalQuery for what each field must hold.',
      });
    if (k === 0) return [];
    const hits = (this.vectors ?? this.lexical).hits(query, k, this.filters(query));
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

  /** Hides everything that this model version dreamt, now and later, durably; answers how many steps that are. */
  quarantine(modelVersion: string, reason: string): Promise<number> {
    if (modelVersion === '')
      throw reverieError('SETTING_INVALID', {
        problem: `Experience: a quarantine names no model version.`,
        hint: 'See ExperienceStep and RetrievalQuery for what each field must hold.',
      });
    return this.inTurn(async () => {
      const others = [...this.quarantinedVersions.values()].filter((record) => record.modelVersion !== modelVersion);
      const record = { modelVersion, reason };
      await this.files.setQuarantined([...others, record]);
      this.quarantinedVersions.set(modelVersion, record);
      return this.stepsOf(modelVersion).length;
    });
  }

  /** Takes a quarantine back, durably; answers how many steps can be retrieved again. */
  release(modelVersion: string): Promise<number> {
    return this.inTurn(async () => {
      if (!this.quarantinedVersions.has(modelVersion)) return 0;
      const others = [...this.quarantinedVersions.values()].filter((record) => record.modelVersion !== modelVersion);
      await this.files.setQuarantined(others);
      this.quarantinedVersions.delete(modelVersion);
      return this.stepsOf(modelVersion).length;
    });
  }

  quarantined(): readonly QuarantinedVersion[] {
    return [...this.quarantinedVersions.values()].map((record) => ({
      ...record,
      steps: this.stepsOf(record.modelVersion).length,
    }));
  }

  /** Everything this model version dreamt that is kept, quarantined or not. */
  stepsOf(modelVersion: string): readonly ExperienceStep[] {
    const steps = [...this.synthetic.kept()].map((n) => this.synthetic.log.read(n));
    return steps.filter((step) => step.modelVersion === modelVersion);
  }

  describe(): ExperienceDescription {
    const bytes = this.real.log.bytes + this.synthetic.log.bytes;
    return describeSteps(this.allKept(), (step) => this.quarantinedVersions.has(step.modelVersion), bytes);
  }

  async close(): Promise<void> {
    await this.turn;
    for (const side of this.sides) await side.log.close();
  }

  private get sides(): readonly Side[] {
    return [this.real, this.synthetic];
  }

  private *allKept(): Generator<ExperienceStep> {
    for (const side of this.sides) for (const n of side.kept()) yield side.log.read(n);
  }

  private isQuarantined(side: Side, number: number): boolean {
    return this.quarantinedVersions.size > 0 && this.quarantinedVersions.has(side.versionOf(number));
  }

  private isWanted(step: ExperienceStep): boolean {
    if (step.source === 'real' || this.enrich === 'always') return true;
    return this.enrich === 'verified' && step.verified;
  }

  private async keep(steps: readonly ExperienceStep[]): Promise<number> {
    const real = this.real.fresh(steps.filter(({ source }) => source === 'real'));
    const synthetic = this.synthetic.fresh(steps.filter(({ source }) => source === 'synthetic'));
    const pack = ({ step }: KeyedStep) => packStep(step);
    const written = { real: real.map(pack), synthetic: synthetic.map(pack) };
    const before = this.real.log.bytes + this.synthetic.log.bytes;
    const bytes = [...written.real, ...written.synthetic].reduce((sum, { length }) => sum + length, before);
    if (bytes > this.maxBytes) throw reverieError('EXPERIENCE_FULL', { bytes, limit: this.maxBytes });
    await this.real.log.append(written.real);
    await this.synthetic.log.append(written.synthetic);
    for (const { step, key } of real) this.real.index(step, key);
    for (const { step, key } of synthetic) this.synthetic.index(step, key);
    return real.length + synthetic.length;
  }

  /** What the query may see of each side; undefined: nothing. */
  private filters(query: RetrievalQuery): readonly (Filter | undefined)[] {
    const real = this.real.filter(query, NONE, Number.POSITIVE_INFINITY);
    if (query.sources === 'real') return [real, undefined];
    return [real, this.synthetic.filter(query, new Set(this.quarantinedVersions.keys()), this.maxSteps)];
  }

  private inTurn<T>(change: () => Promise<T>): Promise<T> {
    const result = this.turn.then(change);
    this.turn = result.catch(() => undefined);
    return result;
  }
}

// What a store holds, in numbers.

/** Counts of kept steps; quarantined ones are in `quarantined` alone. */
export interface ExperienceDescription {
  readonly steps: number;
  readonly bytes: number;
  readonly quarantined: number;
  readonly source: Readonly<Record<'real' | 'synthetic', number>>;
  readonly backend: Readonly<Record<string, number>>;
  /** Dreamt steps by who dreamt them. */
  readonly modelVersion: Readonly<Record<string, number>>;
  readonly tool: Readonly<Record<string, number>>;
}

function describeSteps(
  steps: Iterable<ExperienceStep>,
  isQuarantined: (step: ExperienceStep) => boolean,
  bytes: number,
): ExperienceDescription {
  const source = { real: 0, synthetic: 0 };
  const [backend, modelVersion, tool] = [new Map(), new Map(), new Map()] as Map<string, number>[];
  let quarantined = 0;
  for (const step of steps) {
    if (isQuarantined(step)) {
      quarantined++;
      continue;
    }
    source[step.source]++;
    count(backend, step.backend);
    count(tool, step.call.name);
    if (step.source === 'synthetic') count(modelVersion, step.modelVersion);
  }
  return {
    steps: source.real + source.synthetic,
    bytes,
    quarantined,
    source,
    backend: Object.fromEntries(backend),
    modelVersion: Object.fromEntries(modelVersion),
    tool: Object.fromEntries(tool),
  };
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
