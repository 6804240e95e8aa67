// All filters one after another over the rows of a job, one row at a time, with counts of what each did.

import { readFileSync } from 'node:fs';
import { canonicalJson } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { Message } from '../../env/tools/message.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { claimsFilter } from './claims.js';
import { decontaminationFilter } from './decontamination.js';
import { DiversityMeter } from './diversity.js';
import {
  agentTurns,
  answerOf,
  cutBefore,
  cutOrDrop,
  type DatasetReport,
  drop,
  type Filter,
  FilterTally,
  isMasked,
  type Judgement,
  KEEP,
  type QualityContext,
  sorted,
  withoutMessages,
} from './filter.js';
import { loopFilter } from './loops.js';
import { nearDuplicateFilter } from './near-duplicates.js';
import { type PolicyRule, policyFilter } from './policy.js';
import { provenanceFilter } from './provenance.js';
import { type QualityConfig, splitOf } from './quality-config.js';
import { schemaFilter } from './schema.js';
import { structureFilter } from './structure.js';

export interface QualityInput {
  readonly config: QualityConfig;
  readonly domain: ToolsDomain;
  /** Tasks beyond the domain's own, where episodes were made from them. */
  readonly tasks?: readonly ToolsTask[];
  /** Rules of your own, judged with the policy's. */
  readonly rules?: readonly PolicyRule[];
  /** Filters of your own, after all others. */
  readonly filters?: readonly Filter[];
}

/**
 * The filters that a configuration asks for, in order: mending first, then what a mended episode must still hold.
 * @throws SCHEMA_INVALID for a tool whose parameters are no JSON Schema, FILE_INVALID
 */
export function makeFilters({ config, domain, tasks = [], rules = [], filters = [] }: QualityInput): Filter[] {
  const { decontaminate, loops, nearDuplicates } = config;
  const all = [...domain.tasks, ...tasks];
  const isEvaluated = (task: ToolsTask) => splitOf(task, config.splits) === 'test';
  const evaluated = all.filter(isEvaluated);
  const others = all.filter((task) => !isEvaluated(task));
  const optional = (isOn: unknown, make: () => Filter): Filter[] => (isOn === false ? [] : [make()]);
  return [
    ...optional(config.structure, structureFilter),
    ...optional(config.schema, () => schemaFilter(domain)),
    policyFilter(config.policy, rules),
    ...optional(config.provenance, provenanceFilter),
    ...optional(config.claims, () => claimsFilter(domain)),
    confidenceFilter(config.confidence),
    ...optional(config.redundancy, redundancyFilter),
    ...optional(loops, () => loopFilter(loops as number)),
    lengthFilter(config.lengths),
    verdictFilter(config.verdict),
    ...optional(decontaminate.words, () => {
      const texts = decontaminate.files.map(readText);
      return decontaminationFilter({ tasks: evaluated, others, texts }, decontaminate.words as number);
    }),
    ...optional(nearDuplicates, () => nearDuplicateFilter(nearDuplicates as number)),
    ...filters,
  ];
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw reverieError(
      'FILE_INVALID',
      {
        problem: `Cannot read "${path}", which must not leak into the dataset: ${(error as Error).message}`,
        hint: 'Give the path of a text file in quality.decontaminate.files, or take it out.',
      },
      error,
    );
  }
}

/** Judges rows as they come, in the order of rows: then the same rows give the same dataset, whatever the timing. */
export class QualityPipeline {
  private readonly filters: readonly { readonly filter: Filter; readonly tally: FilterTally }[];
  private readonly recipe = new FilterTally('recipe');
  private readonly imitation = new FilterTally('imitation');
  private readonly context: QualityContext;
  private readonly meter: DiversityMeter;
  private readonly splits = { train: 0, validation: 0, test: 0 };
  private seen = 0;
  private kept = 0;
  private imitated = 0;
  private readonly least: QualityConfig['imitation'];

  /** @throws as `makeFilters` does */
  constructor(input: QualityInput) {
    const { domain, tasks = [] } = input;
    this.least = input.config.imitation;
    const byId = new Map([...domain.tasks, ...tasks].map((task) => [task.id, task]));
    this.context = { domain, taskOf: (id: string) => byId.get(id) };
    this.filters = makeFilters(input).map((filter) => ({ filter, tally: new FilterTally(filter.name) }));
    this.meter = new DiversityMeter(domain.tools.map((tool) => tool.name));
  }

  /** The record as it may be written out, mended where need be; undefined if it must not be. */
  judge(record: EpisodeRecord): EpisodeRecord | undefined {
    this.seen++;
    this.recipe.add(agentTurns(record).length, learntTurns(record));
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
    this.kept++;
    const why = whyNotImitated(current, this.least);
    this.imitation.add(learntTurns(current), why === undefined ? learntTurns(current) : undefined, why);
    if (why === undefined) this.imitated++;
    this.splits[current.split]++;
    this.meter.add(current);
    return current;
  }

  /** Counts so far, without the measures that take time. */
  get progress(): { readonly in: number; readonly out: number; readonly dropped: Readonly<Record<string, number>> } {
    const dropped = new Map<string, number>();
    for (const { tally } of this.filters) for (const [reason, n] of tally.dropped) dropped.set(reason, n);
    return { in: this.seen, out: this.kept, dropped: sorted(dropped) };
  }

  report(): DatasetReport {
    const tallies = [this.recipe, ...this.filters.map(({ tally }) => tally), this.imitation];
    const counts = { in: this.seen, out: this.kept, imitated: this.imitated };
    const filters = tallies.map((tally) => tally.report());
    return { ...counts, filters, splits: { ...this.splits }, diversity: this.meter.report() };
  }
}

function learntTurns(record: EpisodeRecord): number {
  return agentTurns(record).filter(({ index }) => !isMasked(record, index)).length;
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

// Filter: which verdicts a dataset may have. Where rewards are learnt from, an episode that nobody could judge has no place;
// it has no reward, and must not get one by being called 0.

/** `any`: judged or not. `judged`: with a reward. A number: with at least that reward. */
type WantedVerdict = 'any' | 'judged' | number;

export function verdictFilter(wanted: WantedVerdict): Filter {
  return {
    name: 'verdict',
    judge({ verdict: { reward } }) {
      if (wanted === 'any') return KEEP;
      if (reward === null) return drop('not judged');
      return wanted === 'judged' || reward >= wanted ? KEEP : drop('reward too low');
    },
  };
}

/** Why what the agent did in an episode is not to be imitated; undefined where it is. Nobody's verdict is no good verdict. */
export function whyNotImitated(
  { verdict: { reward }, walk }: EpisodeRecord,
  least: number | 'any',
): string | undefined {
  // What a model says of its own walk is no example, whatever is asked for, unless somebody looked.
  if (reward === null && walk?.wrapped?.judges === 0) return 'an instruction that nobody checked';
  if (least === 'any' || (reward !== null && reward >= least)) return undefined;
  return reward === null ? 'not judged' : `its reward is below ${least}`;
}

// Filter: where the simulation was not sure of itself. The conversation ends before the first answer below the bar; one
// that is doubtful on the whole is dropped.

interface ConfidenceBars {
  /** Least confidence of a single answer. */
  readonly step: number;
  /** Least mean confidence of all answers. */
  readonly mean: number;
}

export function confidenceFilter({ step: leastOfStep, mean: leastMean }: ConfidenceBars): Filter {
  const judge = (record: EpisodeRecord): Judgement => {
    const all = record.steps.flatMap((step) => step.predictions.map(({ confidence }) => confidence));
    const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
    if (all.length > 0 && mean < leastMean) return drop('doubtful on the whole');
    const doubtful = record.steps.find(({ predictions }) =>
      predictions.some(({ confidence }) => confidence < leastOfStep),
    );
    if (doubtful === undefined) return KEEP;
    const least = Math.min(...doubtful.predictions.map(({ confidence }) => confidence));
    const because = `the simulation was ${least.toFixed(2)} sure of its answer, and ${leastOfStep} is asked for`;
    return cutOrDrop(record, doubtful.message, { kind: 'a doubtful answer', because });
  };
  return { name: 'confidence', judge };
}

// Filter: a call made again, with the same arguments and the same answer while nothing changed in between, teaches to
// dither. The repetition is taken out; the first call stays.

export function redundancyFilter(): Filter {
  return { name: 'redundancy', judge };
}

function judge(record: EpisodeRecord): Judgement {
  const gone = repetitions(record);
  if (gone.size === 0) return KEEP;
  return { repaired: withoutMessages(record, gone), note: 'repeated calls taken out' };
}

/** Indices of messages that only repeat calls, and of the answers to them. */
function repetitions(record: EpisodeRecord): Set<number> {
  const steps = new Map(record.steps.map((step) => [step.message, step]));
  const gone = new Set<number>();
  let known = new Set<string>();
  for (const { index, message } of agentTurns(record)) {
    const step = steps.get(index);
    const calls = message.toolCalls ?? [];
    if (step?.predictions.some(({ operations }) => operations.length > 0)) known = new Set();
    const keys = calls.map((call) =>
      canonicalJson([call.name, call.arguments, answerOf(record, call)?.content ?? null]),
    );
    const isSilent = !message.content && calls.length > 0 && calls.every((call) => answerOf(record, call));
    const isWorthless = step === undefined || step.reward === 0;
    if (isSilent && isWorthless && keys.every((key) => known.has(key))) {
      for (let at = index; at <= index + calls.length; at++) gone.add(at);
    }
    for (const key of keys) known.add(key);
  }
  return gone;
}

// Filter: conversations that are too long are cut where they become so, those too short are dropped.

interface LengthCaps {
  /** Turns of the agent. */
  readonly minTurns: number;
  readonly maxTurns: number;
  /** All text of the conversation, arguments of calls as JSON. */
  readonly maxCharacters: number;
}

export function lengthFilter(caps: LengthCaps): Filter {
  const judge = (record: EpisodeRecord): Judgement => {
    if (agentTurns(record).length < caps.minTurns) return drop('too short');
    const end = endWithin(record, caps);
    if (end === record.messages.length) return KEEP;
    const cut = cutBefore(record, end);
    return agentTurns(cut).length < Math.max(1, caps.minTurns)
      ? drop('too long')
      : { repaired: cut, note: 'cut for length' };
  };
  return { name: 'lengths', judge };
}

/** How many messages fit; never a turn of the agent without the answers to its calls. */
function endWithin({ messages }: EpisodeRecord, { maxTurns, maxCharacters }: LengthCaps): number {
  let characters = 0;
  let turns = 0;
  let whole = 0;
  for (const [index, message] of messages.entries()) {
    characters += lengthOf(message);
    if (message.role === 'assistant') turns++;
    if (characters > maxCharacters || turns > maxTurns) return whole;
    if (messages[index + 1]?.role !== 'tool') whole = index + 1;
  }
  return messages.length;
}

function lengthOf(message: Message): number {
  const said = (message.content ?? '').length;
  if (message.role !== 'assistant') return said;
  const calls = message.toolCalls ?? [];
  const written = calls.reduce((sum, call) => sum + call.name.length + JSON.stringify(call.arguments).length, 0);
  return said + written + (message.reasoning?.length ?? 0);
}
