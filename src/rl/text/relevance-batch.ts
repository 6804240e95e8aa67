// Situations and lessons laid into the fixed shapes of the relevance network's graphs.

import {
  BAGS,
  COMMAND_TOKENS,
  CONTEXT_TOKENS,
  COUNTS,
  type EncodedSituation,
  MAX_COMMANDS,
} from './relevance-encoding.js';
import { pairsOf, type RelevanceShape } from './relevance-graph.js';
import type { TextLesson } from './text-policy.js';

type Rows = Pick<RelevanceShape, 'rows'>;

export type Feeds = Readonly<Record<string, Float32Array | Int32Array>>;

/** Indices of situations, in order, as batches that fit: at most `rows` of them with at most so many commands as there is room for. */
export function packed(situations: readonly EncodedSituation[], shape: Rows): number[][] {
  const room = pairsOf(shape);
  const batches: number[][] = [];
  let pairs = room;
  situations.forEach(({ commandScales: { length } }, i) => {
    const last = batches.at(-1);
    if (last === undefined || last.length === shape.rows || pairs + length > room) {
      batches.push([i]);
      pairs = length;
    } else {
      last.push(i);
      pairs += length;
    }
  });
  return batches;
}

/** One of `packed`. */
export function batchOf(situations: readonly EncodedSituation[], shape: Rows): Feeds {
  const { rows } = shape;
  const pairs = pairsOf(shape);
  const context = new Int32Array(rows * CONTEXT_TOKENS);
  const scales = new Float32Array(rows * BAGS.length);
  const shares = new Float32Array(rows);
  const commands = new Int32Array(pairs * COMMAND_TOKENS);
  const commandScales = new Float32Array(pairs);
  const counts = new Float32Array(pairs * COUNTS);
  const owners = new Int32Array(pairs);
  const slots = new Int32Array(rows * MAX_COMMANDS).fill(pairs);
  let pair = 0;
  situations.forEach((situation, row) => {
    const { length } = situation.commandScales;
    context.set(situation.context, row * CONTEXT_TOKENS);
    scales.set(situation.scales, row * BAGS.length);
    shares[row] = 1 / length;
    commands.set(situation.commands, pair * COMMAND_TOKENS);
    commandScales.set(situation.commandScales, pair);
    counts.set(situation.counts, pair * COUNTS);
    owners.fill(row, pair, pair + length);
    for (let i = 0; i < length; i++) slots[row * MAX_COMMANDS + i] = pair + i;
    pair += length;
  });
  return { context, scales, shares, commands, commandScales, counts, owners, slots };
}

/** @param reference [rows], log-probabilities of the choices under the reference */
export function lessonFeeds(lessons: readonly TextLesson[], reference: Float32Array): Feeds {
  const rows = reference.length;
  const choice = new Int32Array(rows);
  const logProb = new Float32Array(rows);
  const advantage = new Float32Array(rows);
  const weight = new Float32Array(rows);
  const imitated = new Float32Array(rows);
  const target = new Float32Array(rows);
  lessons.forEach((lesson, i) => {
    choice[i] = lesson.choice;
    logProb[i] = lesson.logProb ?? 0;
    advantage[i] = lesson.advantage ?? 0;
    weight[i] = (lesson.weight ?? 1) / lessons.length;
    imitated[i] = lesson.logProb === undefined ? 1 : 0;
    target[i] = lesson.target ?? 0;
  });
  return { choice, logProb, reference, advantage, weight, imitated, target };
}
