// What makes an environment one of OpenEnv: its actions, its observations, its tools.

import type { z } from 'zod';
import type { Action, Turn } from '../../core/session-contract.js';
import type { OfferedTool } from '../say-tool.js';

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
