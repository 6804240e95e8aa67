// Situations laid into the fixed shapes of the relevance network's graphs.

import { BAGS, COMMAND_TOKENS, CONTEXT_TOKENS, COUNTS, type EncodedSituation } from './relevance-encoding.js';
import type { RelevanceShape } from './relevance-graph.js';
import { type Feeds, MAX_COMMANDS, packedBy, pairsOf } from './scoring-network.js';

type Rows = Pick<RelevanceShape, 'rows'>;

/** Indices of situations, in order, as batches that fit: at most `rows` of them with at most so many commands as there is room for. */
export function packed(situations: readonly EncodedSituation[], shape: Rows): number[][] {
  const sizes = situations.map(({ commandScales: { length } }) => [length]);
  return packedBy(sizes, [pairsOf(shape)], shape.rows);
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
