// Worlds of tools, as a kind that can be judged.

import type { FidelityKind } from '../kind.js';
import { stepErrorRule } from './horizon.js';

export const toolsKind: FidelityKind = {
  name: 'tools',
  questions: [],
  horizon: stepErrorRule,
  card: { tag: 'tool-use', world: 'tool calls over a typed state' },
};
