// Whether a dream says and reaches as many different things as the real environment, and how often it speaks of what does not
// exist.

import { stateHash } from '../../env/state/state.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import { initialStateOf } from '../../env/tools/situation.js';
import { idPatternOf, unknownIds } from '../../worldmodel/tools/checks.js';
import type { Finding, Instrument } from '../instrument.js';
import type { FidelityTable } from '../report/fidelity-report.js';
import { estimateIn, type FoundMetric, findingOf, percent, plainMetric, shareMetric, streamOf } from '../section.js';
import { bootstrapEstimate } from '../statistics/bootstrap.js';
import { shareEstimate } from '../statistics/estimate.js';
import { hashCoverage, spread } from '../statistics/two-samples.js';
import type { AskedQuestions, StepRow } from './answers.js';
import { tokensOf } from './distances.js';
import type { CarrySequence, DreamtStep, TrueSequence } from './open-loop.js';
import { isSameObservation, type ToolsQuestion } from './question.js';

export type DistributionRow = {
  readonly question: number;
  readonly answered: boolean;
  /** null: the real observation. */
  readonly said: string | null;
  /** Ids that neither state, call nor conversation knows: in the dreamt observation, and in the real one. */
  readonly unknown: readonly string[];
  readonly realUnknown: readonly string[];
  /** First 16 digits of the hash of the dreamt state afterwards; null where there is none. */
  readonly hash: string | null;
};

/** Characters of an observation that are compared. */
const MAX_CHARS = 4_000;
/** Texts that a bootstrap looks at, and its draws: each draw reads all of them. */
const TEXTS = 400;
const DRAWS = 200;

export interface DistributionOptions {
  readonly asked: AskedQuestions;
  readonly notes?: readonly string[];
}

export function distributionInstrument({ asked, notes = [] }: DistributionOptions): Instrument<DistributionRow> {
  return {
    id: 'distribution',
    chunks: asked.chunks,
    unit: 'questions',
    measure: async (chunk, signal) => {
      const rows = await asked.chunk(chunk, signal);
      return rows.map((row) => rowOf(asked.questions[row.question], row));
    },
    conclude: (rows) => concluded(asked.questions, rows, notes),
  };
}

function rowOf({ query, truth }: ToolsQuestion, row: StepRow): DistributionRow {
  const { domain, state, call, messages } = query;
  const { observation, operations = [] } = truth;
  const real = { domain, state, call, messages, observation, operations };
  return {
    question: row.question,
    answered: row.answered,
    said: row.wrong === null ? null : row.wrong.observation.slice(0, MAX_CHARS),
    unknown: row.unknown,
    realUnknown: unknownIds(real, idPatternOf(domain)),
    hash: row.hash,
  };
}

export interface SaidOptions {
  readonly sequences: readonly TrueSequence[];
  readonly domain: ToolsDomain;
  readonly carry: CarrySequence;
  readonly notes?: readonly string[];
}

/** The same of a dream that one can only live in: what it answers to the calls of real episodes, one after the other. */
export function saidInstrument({ sequences, domain, carry, notes = [] }: SaidOptions): Instrument<DistributionRow> {
  const starts = sequences.map((_, i) => sequences.slice(0, i).reduce((sum, { steps }) => sum + steps.length, 0));
  const questions = sequences.flatMap((sequence) => askedIn(domain, sequence));
  return {
    id: 'distribution',
    chunks: sequences.length,
    unit: 'episodes',
    measure: async (chunk, signal) => {
      const { steps } = await carry(sequences[chunk], signal);
      const asked = steps.slice(0, sequences[chunk].steps.length);
      return asked.map((step, i) => saidRow(questions[starts[chunk] + i], step, starts[chunk] + i));
    },
    // Calls are other units than questions: there is nothing that other models could be paired with.
    conclude: (rows) => ({ ...concluded(questions, rows, notes), samples: {} }),
  };
}

type Asked = Pick<ToolsQuestion, 'query' | 'truth' | 'after'>;

/** The calls of a real episode, in the states and conversations they were made in. */
function askedIn(domain: ToolsDomain, { task, messages, steps }: TrueSequence): Asked[] {
  const calls = messages.flatMap((message, at) =>
    message.role === 'assistant' ? (message.toolCalls ?? []).map((call) => ({ call, at })) : [],
  );
  return steps.map(({ observation, isError, state: after }, i) => {
    const { call, at } = calls[i];
    const state = (i === 0 ? undefined : steps[i - 1].state) ?? initialStateOf(domain, task);
    const query = { domain, task, state, messages: messages.slice(0, at + 1), call, step: i, seed: 0 };
    return { query, truth: { observation, isError }, ...(after === undefined ? {} : { after }) };
  });
}

function saidRow({ query, truth, after }: Asked, { answer, hash }: DreamtStep, question: number): DistributionRow {
  const { domain, call, messages } = query;
  // What it may speak of: all that is there before or after the call.
  const there = { domain, call, messages, operations: [], state: { before: query.state, after: after ?? {} } };
  const unknownIn = (observation: string) => unknownIds({ ...there, observation }, idPatternOf(domain));
  const realUnknown = unknownIn(truth.observation);
  const unknown = unknownIn(answer.observation).filter((id) => !truth.observation.includes(id));
  const said = isSameObservation(answer.observation, truth.observation) ? null : answer.observation.slice(0, MAX_CHARS);
  return { question, answered: true, said, unknown, realUnknown, hash: hash?.slice(0, 16) ?? null };
}

interface Pair {
  readonly dreamt: string;
  readonly real: string;
}

function concluded(questions: readonly Asked[], rows: readonly DistributionRow[], notes: readonly string[]): Finding {
  const pairs = rows
    .filter(({ answered }) => answered)
    .map(({ question, said }): Pair => {
      const real = questions[question].truth.observation.slice(0, MAX_CHARS);
      return { dreamt: said ?? real, real };
    });
  const found = [
    ...madeUpMetrics(questions.length, rows),
    ...stateMetrics(questions, rows),
    ...[1, 2, 3].map((n) => distinctMetric(pairs, n)),
    spreadMetric(pairs),
  ];
  const estimate = (key: string) => estimateIn(found, key);
  return findingOf(
    {
      id: 'distribution',
      title: 'Distribution',
      summary:
        `${percent(estimate('hallucinated-entities'))} of answers speak of something that does not exist; ` +
        `the dream reaches ${percent(estimate('state-coverage'))} of the different real states.`,
      charts: [],
      tables: [madeUpTable(questions, rows)],
      worst: [],
      notes: [
        ...notes,
        'Words and embeddings tell what is written alike: a wrong answer in the right words looks like a right one.',
        ...(pairs.length > TEXTS ? [`Variety of words is taken from ${TEXTS} answers.`] : []),
        ...(estimate('state-coverage').value === null ? ['The model has no state, or the truth has none.'] : []),
      ],
    },
    found,
  );
}

function madeUpMetrics(questions: number, rows: readonly DistributionRow[]): FoundMetric[] {
  const values = (of: (row: DistributionRow) => readonly string[]) => {
    const found = new Array<number | null>(questions).fill(null);
    for (const row of rows) if (row.answered) found[row.question] = of(row).length > 0 ? 1 : 0;
    return found;
  };
  return [
    shareMetric(
      {
        key: 'hallucinated-entities',
        label: 'Made-up entities',
        better: 'lower',
        meaning: 'Share of answers with an id that is in neither state, call, conversation nor the real answer.',
      },
      values(({ unknown }) => unknown),
    ),
    shareMetric(
      {
        key: 'unknown-entities-real',
        label: 'Unknown entities, real',
        better: 'neither',
        meaning:
          'The same of real answers: what of it is false alarm, as the ids of a domain are known by their looks.',
      },
      values(({ realUnknown }) => realUnknown),
    ),
  ];
}

function stateMetrics(questions: readonly Asked[], rows: readonly DistributionRow[]): FoundMetric[] {
  const known = rows.filter(({ hash, question }) => hash !== null && questions[question].after !== undefined);
  const real = known.map(({ question }) => stateHash(questions[question].after!).slice(0, 16));
  const dreamt = known.map(({ hash }) => hash!);
  const told = (key: string, label: string, better: 'higher' | 'lower', meaning: string) => ({
    key,
    label,
    better,
    unit: 'share' as const,
    meaning,
  });
  const { reached, novel } = hashCoverage({ real, dreamt });
  return [
    plainMetric(
      told('state-coverage', 'States reached', 'higher', 'Share of the different real states that the dream reaches.'),
      reached,
    ),
    plainMetric(
      told(
        'state-novelty',
        'States that are none',
        'lower',
        'Share of the different dreamt states that no call leads to.',
      ),
      novel,
    ),
  ];
}

/** Of both, taken from the same questions, so that it falls with the amount of text alike. */
function distinctMetric(pairs: readonly Pair[], n: number): FoundMetric {
  const ids = new Map<string, number>();
  const grams = pairs.slice(0, TEXTS).map(({ dreamt, real }) => {
    const ofReal = gramsOf(real, n, ids);
    return { dreamt: dreamt === real ? ofReal : gramsOf(dreamt, n, ids), real: ofReal };
  });
  const distinct = distinctOf(ids.size);
  const ratio = (units: readonly { dreamt: readonly number[]; real: readonly number[] }[]) => {
    const [a, b] = [distinct(units.map(({ dreamt }) => dreamt)), distinct(units.map(({ real }) => real))];
    return a === null || b === null ? null : a / b;
  };
  return plainMetric(
    {
      key: `distinct-${n}`,
      label: `Variety of ${n === 1 ? 'words' : `runs of ${n} words`}`,
      better: 'neither',
      unit: 'number',
      meaning: `Different runs of ${n} words among all (distinct-${n}), dreamt over real: below 1, the dream repeats itself.`,
    },
    bootstrapEstimate(grams, ratio, streamOf(`distinct-${n}`), { draws: DRAWS }),
  );
}

function gramsOf(text: string, n: number, ids: Map<string, number>): number[] {
  const tokens = tokensOf(text);
  return Array.from({ length: Math.max(0, tokens.length - n + 1) }, (_, i) => {
    const gram = tokens.slice(i, i + n).join(' ');
    const id = ids.get(gram) ?? ids.size;
    ids.set(gram, id);
    return id;
  });
}

/** Distinct-n (Li et al. 2016, 1510.03055) of runs that are numbered, again and again: a bootstrap asks often. */
function distinctOf(different: number): (texts: readonly (readonly number[])[]) => number | null {
  const seenIn = new Uint32Array(different);
  let time = 0;
  return (texts) => {
    time++;
    let [all, found] = [0, 0];
    for (const grams of texts) {
      all += grams.length;
      for (const gram of grams) {
        if (seenIn[gram] !== time) found++;
        seenIn[gram] = time;
      }
    }
    return all === 0 ? null : found / all;
  };
}

function spreadMetric(pairs: readonly Pair[]): FoundMetric {
  const embedded = pairs.slice(0, TEXTS).map(({ dreamt, real }) => {
    const ofReal = trigramVector(textOf(real));
    return { dreamt: dreamt === real ? ofReal : trigramVector(textOf(dreamt)), real: ofReal };
  });
  const ratio = (units: typeof embedded) => {
    const [a, b] = [spread(units.map(({ dreamt }) => dreamt)), spread(units.map(({ real }) => real))];
    return a === null || b === null || b === 0 ? null : a / b;
  };
  return plainMetric(
    {
      key: 'embedding-spread',
      label: 'Spread of embeddings',
      better: 'neither',
      unit: 'number',
      meaning:
        'Mean cosine distance of two answers, dreamt over real, by trigrams of letters: below 1, answers are more alike.',
    },
    bootstrapEstimate(embedded, (units) => ratio(units as typeof embedded), streamOf('embedding-spread'), {
      draws: DRAWS / 4,
    }),
  );
}

/** Of a text of fewer than three letters nothing is left to embed. */
function textOf(text: string): string {
  return text.trim().length === 0 ? 'nothing was said' : text;
}

function madeUpTable(questions: readonly Asked[], rows: readonly DistributionRow[]): FidelityTable {
  const byTool = new Map<string, { calls: number; made: number; example: string }>();
  for (const { question, unknown, answered } of rows) {
    if (!answered) continue;
    const { name } = questions[question].query.call;
    const before = byTool.get(name) ?? { calls: 0, made: 0, example: '' };
    byTool.set(name, {
      calls: before.calls + 1,
      made: before.made + (unknown.length > 0 ? 1 : 0),
      example: before.example || (unknown[0] ?? ''),
    });
  }
  const found = [...byTool]
    .filter(([, { made }]) => made > 0)
    .sort(([, a], [, b]) => b.made / b.calls - a.made / a.calls);
  return {
    title: 'Made-up entities by tool',
    columns: ['tool', 'share of answers', 'such as'],
    rows: found.map(([name, { calls, made, example }]) => [name, percent(shareEstimate(made, calls)), example]),
  };
}

const DIMENSIONS = 384;

/** Signed hashing of character trigrams (Weinberger et al. 2009), weighted by 1 + ln of their count. */
function trigramVector(text: string): Float32Array {
  return Float32Array.from(trigramCounts(text), (count) =>
    count === 0 ? 0 : Math.sign(count) * (1 + Math.log(Math.abs(count))),
  );
}

function trigramCounts(text: string): Int32Array {
  const counts = new Int32Array(DIMENSIONS);
  const padded = ` ${text.slice(0, MAX_CHARS).toLowerCase()} `;
  for (let i = 0; i + 3 <= padded.length; i++) {
    const hash = trigramHash(padded.charCodeAt(i), padded.charCodeAt(i + 1), padded.charCodeAt(i + 2));
    counts[(hash >>> 1) % DIMENSIONS] += (hash & 1) === 0 ? 1 : -1;
  }
  return counts;
}

/** FNV-1a over three characters, with a last mix so that the low bits are good. */
function trigramHash(a: number, b: number, c: number): number {
  let hash = 0x811c9dc5;
  for (const code of [a, b, c]) hash = Math.imul(hash ^ code, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
