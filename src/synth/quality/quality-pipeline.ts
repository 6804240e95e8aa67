// All filters one after another over the rows of a job, one row at a time, with counts of what each did.

import { reverieError } from '../../core/errors.js';
import { readText } from '../../core/files.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { claimsFilter, policyFilter, provenanceFilter } from './claims.js';
import {
  agentTurns,
  type DatasetReport,
  type Filter,
  type FilterReport,
  learntTurns,
  type QualityContext,
} from './filter.js';
import { schemaFilter, structureFilter } from './form-filters.js';
import { decontaminationFilter, nearDuplicateFilter } from './overlap-filters.js';
import { type QualityConfig, splitOf } from './quality-config.js';

interface QualityInput {
  readonly config: QualityConfig;
  readonly domain: ToolsDomain;
  /** Tasks beyond the domain's own, where episodes were made from them. */
  readonly tasks?: readonly ToolsTask[];
  /** Filters of your own, after all others. */
  readonly filters?: readonly Filter[];
}

/** The filters that a configuration asks for, in order: repairs first, then what a repaired episode must still hold. */
function makeFilters({ config, domain, tasks = [], filters = [] }: QualityInput): Filter[] {
  const { decontaminate, nearDuplicates } = config;
  const all = [...domain.tasks, ...tasks];
  const isEvaluated = (task: ToolsTask) => splitOf(task, config.splits) === 'test';
  const evaluated = { tasks: all.filter(isEvaluated), others: all.filter((task) => !isEvaluated(task)) };
  const chosen = [
    config.structure && structureFilter(),
    config.schema && schemaFilter(domain),
    policyFilter(),
    config.provenance && provenanceFilter(),
    config.claims && claimsFilter(),
    decontaminate.words !== false &&
      decontaminationFilter({ ...evaluated, texts: decontaminate.files.map(textOf) }, decontaminate.words),
    nearDuplicates !== false && nearDuplicateFilter(nearDuplicates),
    ...filters,
  ];
  return chosen.filter((filter) => filter !== false);
}

function textOf(path: string): string {
  try {
    return readText(path);
  } catch (error) {
    const problem = `Cannot read "${path}", which must not leak into the dataset: ${(error as Error).message}`;
    const hint = 'Give the path of a text file in quality.decontaminate.files, or take it out.';
    throw reverieError('FILE_INVALID', { problem, hint }, error);
  }
}

/** What one filter did, over episodes in the order of their rows. */
class FilterTally {
  private readonly counts = { in: 0, out: 0, turnsIn: 0, turnsOut: 0 };
  private readonly repaired = new Map<string, number>();
  readonly dropped = new Map<string, number>();

  constructor(private readonly name: string) {}

  /** @param turnsOut undefined: the episode was dropped */
  add(turnsIn: number, turnsOut: number | undefined, reason?: string): void {
    this.counts.in++;
    this.counts.turnsIn += turnsIn;
    this.counts.turnsOut += turnsOut ?? 0;
    if (turnsOut !== undefined) this.counts.out++;
    if (reason === undefined) return;
    const reasons = turnsOut === undefined ? this.dropped : this.repaired;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }

  report(): FilterReport {
    return { name: this.name, ...this.counts, repaired: sorted(this.repaired), dropped: sorted(this.dropped) };
  }
}

function sorted(counts: Iterable<readonly [string, number]>): Record<string, number> {
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Judges rows as they come, in the order of rows: then the same rows give the same dataset, whatever the timing. */
export class QualityPipeline {
  private readonly filters: readonly { readonly filter: Filter; readonly tally: FilterTally }[];
  private readonly cutOff = new FilterTally('cut-off');
  private readonly imitation = new FilterTally('imitation');
  private readonly context: QualityContext;
  private readonly splits = { train: 0, validation: 0, test: 0 };
  private readonly counts = { in: 0, out: 0, imitated: 0 };
  private readonly least: QualityConfig['imitation'];

  /** @throws SCHEMA_INVALID for a tool whose parameters are no JSON Schema, FILE_INVALID */
  constructor(input: QualityInput) {
    const { domain, tasks = [] } = input;
    this.least = input.config.imitation;
    const byId = new Map([...domain.tasks, ...tasks].map((task) => [task.id, task]));
    this.context = { domain, taskOf: (id: string) => byId.get(id) };
    this.filters = makeFilters(input).map((filter) => ({ filter, tally: new FilterTally(filter.name) }));
  }

  /** The record as it may be written out, repaired where need be; undefined if it must not be. */
  judge(record: EpisodeRecord): EpisodeRecord | undefined {
    this.counts.in++;
    this.cutOff.add(agentTurns(record).length, learntTurns(record));
    let current = record;
    for (const { filter, tally } of this.filters) {
      const judgement = filter.judge(current, this.context);
      const turns = learntTurns(current);
      if ('repaired' in judgement) {
        current = judgement.repaired;
        tally.add(turns, learntTurns(current), judgement.note);
      } else if (judgement.keep) tally.add(turns, turns);
      else {
        tally.add(turns, undefined, judgement.reason);
        return undefined;
      }
    }
    this.counts.out++;
    const why = whyNotImitated(current, this.least);
    this.imitation.add(learntTurns(current), why === undefined ? learntTurns(current) : undefined, why);
    if (why === undefined) this.counts.imitated++;
    this.splits[current.split]++;
    return current;
  }

  /** Counts so far. */
  get progress(): { readonly in: number; readonly out: number; readonly dropped: Readonly<Record<string, number>> } {
    return { ...this.counts, dropped: sorted(this.filters.flatMap(({ tally }) => [...tally.dropped])) };
  }

  report(): DatasetReport {
    const tallies = [this.cutOff, ...this.filters.map(({ tally }) => tally), this.imitation];
    const filters = tallies.map((tally) => tally.report());
    return { ...this.counts, filters, splits: { ...this.splits } };
  }
}

/** The records that pass, as they come; the pipeline's report is complete once all are read. */
export async function* filterEpisodes(
  records: AsyncIterable<EpisodeRecord> | Iterable<EpisodeRecord>,
  pipeline: QualityPipeline,
): AsyncGenerator<EpisodeRecord> {
  for await (const record of records) {
    const judged = pipeline.judge(record);
    if (judged) yield judged;
  }
}

/** Why what the agent did in an episode is not to be imitated; undefined where it is. No verdict is no good verdict. */
export function whyNotImitated(
  { verdict: { reward }, walk }: EpisodeRecord,
  least: number | 'any',
): string | undefined {
  // What a model says of its own walk is no example, whatever is asked for, unless a judge looked.
  if (reward === null && walk?.wrapped?.judges === 0) return 'an instruction that was not checked';
  if (least === 'any' || (reward !== null && reward >= least)) return undefined;
  return reward === null ? 'not judged' : `its reward is below ${least}`;
}
