// The reference interpreter: evaluates a graph node by node in float64. Slow on purpose; it defines what a graph means.

import { reverieError } from '../core/errors.js';
import type { Graph, Node, Value } from './graph.js';
import { KERNELS, type RefArray, stack } from './reference-kernels.js';
import type { Tensor } from './tensor.js';

export type { RefArray } from './reference-kernels.js';

type Bindings = Map<string, RefArray>;

/**
 * The outputs of a graph, computed in float64; trainers' Loop graphs included.
 * @param feeds one tensor or float64 array for each input
 * @throws DATA_MISMATCH for a missing input
 */
export function evaluateReference(
  graph: Graph,
  feeds: Readonly<Record<string, Tensor | RefArray>>,
): Record<string, RefArray> {
  const bindings: Bindings = new Map();
  for (const { name } of graph.inputs) {
    const feed = feeds[name];
    if (feed === undefined) {
      const expected = graph.inputs.map((input) => input.name).join(', ');
      throw reverieError('DATA_MISMATCH', {
        problem: `"${graph.name}" was fed ${`nothing for "${name}"`}.`,
        hint: `It takes: ${expected}.`,
      });
    }
    bindings.set(name, toReference(feed));
  }
  return evaluate(graph, bindings);
}

function toReference({ dims, data }: Tensor | RefArray): RefArray {
  return { dims, data: Float64Array.from(data as ArrayLike<number | bigint>, Number) };
}

/** Evaluates a graph whose inputs are bound; a Loop body also sees the bindings of the graph around it. */
function evaluate(graph: Graph, bindings: Bindings): Record<string, RefArray> {
  for (const [name, { tensor }] of graph.initializers) bindings.set(name, toReference(tensor));
  const read = (value: Value): RefArray => bindings.get(value.name)!;
  for (const node of graph.liveNodes()) {
    const results = node.op === 'Loop' ? loop(node, read, bindings) : apply(node, read);
    node.outputs.forEach((output, i) => {
      bindings.set(output.name, results[i]);
    });
  }
  return Object.fromEntries([...graph.outputs].map(([name, value]) => [name, read(value)]));
}

function apply(node: Node, read: (value: Value) => RefArray): RefArray[] {
  const kernel = KERNELS[node.op];
  if (kernel === undefined)
    throw node.outputs[0].graph.mismatch(node.op, 'the reference knows no such operator', node.inputs);
  const result = kernel(
    node.inputs.map((input) => read(input!)),
    node,
  );
  return Array.isArray(result) ? result : [result];
}

/** The ONNX Loop with a trip count and no condition: carried values first, then stacked per-iteration values. */
function loop(node: Node, read: (value: Value) => RefArray, outer: Bindings): RefArray[] {
  const body = node.attributes.body as Graph;
  const [trips, , ...initial] = node.inputs;
  let carried = initial.map((value) => read(value!));
  const scans: RefArray[][] = node.outputs.slice(carried.length).map(() => []);
  const scalar = (value: number): RefArray => ({ dims: [], data: Float64Array.of(value) });
  for (let i = 0; i < read(trips!).data[0]; i++) {
    const bindings: Bindings = new Map(outer);
    [scalar(i), scalar(1), ...carried].forEach((value, at) => {
      bindings.set(body.inputs[at].name, value);
    });
    const [, ...results] = Object.values(evaluate(body, bindings));
    carried = results.slice(0, carried.length);
    results.slice(carried.length).forEach((value, at) => {
      scans[at].push(value);
    });
  }
  return [...carried, ...scans.map(stack)];
}
