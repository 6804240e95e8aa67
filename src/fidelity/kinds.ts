// The kinds of worlds whose dreams can be judged. A kind is one object, and one line here: nothing else in this room knows which
// kinds there are.

import type { FidelityKind } from './kind.js';
import { toolsKind } from './tools/kind.js';
import { vectorKind } from './vector/kind.js';

const KINDS = new Map<string, FidelityKind>();

/** A kind by the name that scenarios and reports call it. One of the same name takes its place. */
export function registerKind(kind: FidelityKind): void {
  KINDS.set(kind.name, kind);
}

/** Undefined for a report of a kind that is not known here. */
export function kindNamed(name: string): FidelityKind | undefined {
  return KINDS.get(name);
}

registerKind(vectorKind);
registerKind(toolsKind);
