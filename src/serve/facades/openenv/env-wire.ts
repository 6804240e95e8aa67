// How each environment looks over OpenEnv: one file a family says what.

import type { Servable } from '../../../run/index.js';
import { textWire } from './text-wire.js';
import { toolsWire } from './tools-wire.js';
import { vectorWire } from './vector-wire.js';
import type { EnvWire } from './wire-contract.js';

const wires = new WeakMap<Servable, EnvWire>();

/** The same one for the same environment. */
export function envWire(served: Servable): EnvWire {
  const known = wires.get(served);
  if (known !== undefined) return known;
  const wire = makeWire(served);
  wires.set(served, wire);
  return wire;
}

function makeWire(served: Servable): EnvWire {
  if (served.family === 'vector') return vectorWire(served);
  return served.family === 'text' ? textWire(served) : toolsWire(served);
}
