// How one environment looks over OpenEnv: its actions, its observations, its tools. One file a family says what.

import type { z } from 'zod';
import type { Servable } from '../../../run/index.js';
import type { Action, Turn } from '../../core/session-contract.js';
import type { OfferedTool } from '../say-tool.js';
import { textWire } from './text-wire.js';
import { toolsWire } from './tools-wire.js';
import { vectorWire } from './vector-wire.js';

export interface EnvWire {
  /** Of what a step carries; titled as clients tell kinds of environments apart by (verifiers: `CallToolAction`). */
  readonly action: z.ZodType;
  readonly observation: z.ZodType;
  /** What list_tools answers; empty but in family `tools`. */
  readonly tools: readonly OfferedTool[];
  /** @param at  where `data` stands in what was sent; @throws MessageInvalid */
  decode(data: unknown, at: readonly string[]): Action;
  /** @param action  what led there; undefined after reset */
  observe(turn: Turn, action?: Action): Readonly<Record<string, unknown>>;
}

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
