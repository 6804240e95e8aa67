// Reverse-mode differentiation: walks a graph backwards from a scalar and adds the nodes of its gradients.
// Gradients nobody uses cost nothing: nodes that lead to no output are left out when the model is written.

import type { Graph, Node, Value } from './graph.js';
import { expandLike } from './ops-shape.js';
import type { Rule } from './vjp.js';
import { accumulate, ELEMENTWISE_RULES } from './vjp-elementwise.js';
import { MULTI_OUTPUT_RULES, STRUCTURE_RULES } from './vjp-structure.js';

const RULES: Readonly<Record<string, Rule>> = { ...ELEMENTWISE_RULES, ...STRUCTURE_RULES };

/** The operators that have a gradient rule. */
export const DIFFERENTIABLE_OPS: readonly string[] = [...Object.keys(RULES), ...Object.keys(MULTI_OUTPUT_RULES)];

/**
 * Gradients of a scalar with respect to values of the same graph, each of its value's shape; zeros where it does not depend on one.
 * @throws GRAPH_MISMATCH if the loss is no float32 scalar or a node on the way has no gradient rule
 */
export function gradients(loss: Value, wrt: readonly Value[]): Value[] {
  if (loss.shape.some((size) => size !== 1) || loss.dtype !== 'float32') {
    throw loss.graph.mismatch('gradients', 'the loss must be a float32 scalar', [loss]);
  }
  const { graph } = loss;
  const forward = graph.nodes.slice();
  const needed = dependents(forward, wrt);
  const cotangents = new Map<Value, Value>([[loss, graph.constant(1)]]);
  for (let i = forward.length - 1; i >= 0; i--) propagate(forward[i], needed, cotangents);
  return wrt.map((value) => expandLike(cotangents.get(value) ?? zero(graph), value));
}

function zero(graph: Graph): Value {
  return graph.constant(0);
}

/** The values that depend on one of `wrt`, those included. */
function dependents(nodes: readonly Node[], wrt: readonly Value[]): ReadonlySet<Value> {
  const needed = new Set<Value>(wrt);
  for (const { inputs, outputs } of nodes) {
    if (!inputs.some((input) => input !== undefined && needed.has(input))) continue;
    for (const output of outputs) if (output.dtype === 'float32') needed.add(output);
  }
  return needed;
}

function propagate(node: Node, needed: ReadonlySet<Value>, cotangents: Map<Value, Value>): void {
  const arriving = node.outputs.map((output) => cotangents.get(output));
  if (arriving.every((g) => g === undefined) || !node.outputs.some((output) => needed.has(output))) return;
  const custom = node.outputs[0].customGradient;
  const targets = custom?.inputs ?? node.inputs;
  const given = custom === undefined ? applyRule(node, arriving) : custom.rule(arriving[0]!);
  targets.forEach((target, i) => {
    const g = given[i];
    if (target !== undefined && g !== undefined && needed.has(target)) {
      cotangents.set(target, accumulate(cotangents.get(target), g));
    }
  });
}

function applyRule(node: Node, arriving: readonly (Value | undefined)[]): readonly (Value | undefined)[] {
  const multi = MULTI_OUTPUT_RULES[node.op];
  if (multi !== undefined) return multi(node, arriving);
  const [y] = node.outputs;
  const rule = RULES[node.op];
  if (rule === undefined) throw y.graph.mismatch(node.op, 'it has no gradient rule', node.inputs);
  return rule(arriving[0]!, y, node.inputs as readonly Value[], node);
}
