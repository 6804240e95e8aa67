// What makes an environment one of OpenEnv: its actions, its observations, its tools.

import type { z } from 'zod';
import type { Action, Turn } from '../../core/session-contract.js';
import type { OfferedTool } from '../tool-calls.js';

export interface EnvWire {
  /** Of what a step carries; titled as clients tell kinds of environments apart by (verifiers: `CallToolAction`). */
  readonly action: z.ZodType;
  readonly observation: z.ZodType;
  /** What list_tools answers; where actions are no calls, the one tool that takes them. */
  readonly tools: readonly OfferedTool[];
  /** @param at  where `data` stands in what was sent; @throws MessageInvalid */
  decode(data: unknown, at: readonly string[]): Action;
  /**
   * After reset it is told twice, in `metadata` too: that is all OpenEnv's `MCPToolClient` keeps of it.
   * @param action  what led there; undefined after reset
   * @param data  as it was sent
   */
  observe(turn: Turn, action?: Action, data?: unknown): Readonly<Record<string, unknown>>;
}
