// What a gradient rule is, and how a cotangent fits the value it belongs to.
// Cotangents stay unbroadcast as long as they can: one may have any shape that broadcasts to its value's,
// so the gradient of a mean is a scalar until something needs every element.

import type { Node, Value } from './graph.js';
import { mul } from './ops-elementwise.js';
import { reduceSum } from './ops-reduce.js';
import { expandLike, squeeze } from './ops-shape.js';

/** Cotangents of a node's outputs (undefined where nothing depends on one) to cotangents of its inputs. */
export type MultiRule = (node: Node, cotangents: readonly (Value | undefined)[]) => readonly (Value | undefined)[];

/** The same for a node with one output y: `rule(g, y, inputs, node)`. */
export type Rule = (g: Value, y: Value, inputs: readonly Value[], node: Node) => readonly (Value | undefined)[];

/** The cotangent with every element its value has. */
export function full(g: Value, y: Value): Value {
  return expandLike(g, y);
}

/** The cotangent of `x`, which was broadcast to the shape of `y`, from a cotangent of `y`: summed over the copies. */
export function unbroadcast(g: Value, y: Value, x: Value): Value {
  const rank = y.shape.length;
  const lead = rank - x.shape.length;
  const summed: number[] = [];
  let copies = 1;
  for (let axis = 0; axis < rank; axis++) {
    const size = y.shape[axis];
    if (size === 1 || (axis >= lead && x.shape[axis - lead] !== 1)) continue;
    const own = axis - rank + g.shape.length;
    if (own >= 0 && g.shape[own] !== 1) summed.push(own);
    else if (typeof size === 'number') copies *= size;
    else return unbroadcast(full(g, y), y, x);
  }
  const scaled = mul(g, copies);
  const extra = Math.max(0, g.shape.length - x.shape.length);
  const leading = [...Array(extra).keys()];
  if (summed.every((axis) => axis < extra)) return extra === 0 ? scaled : reduceSum(scaled, leading);
  return squeeze(reduceSum(scaled, summed, true), leading);
}
