// The kinds of world there are.

import { reverieError } from '../core/errors.js';
import type { Face, Kind } from '../core/kind.js';
import { Registry } from '../core/registry.js';

export const kinds = new Registry<Kind>('kind of world');

/** What a scenario is of that does not say. */
export const DEFAULT_KIND = 'vector';

/** How worlds of a kind look from outside. @throws NOT_REGISTERED, SCENARIO_FAMILY for a kind that cannot be served */
export function faceOf({ family, name }: { readonly family: string; readonly name?: string }): Face {
  const { face } = kinds.get(family);
  if (face !== undefined) return face;
  const able = kinds.list().filter((kind) => kind.face !== undefined);
  throw reverieError('SCENARIO_FAMILY', { name, family, wanted: able.map((kind) => kind.name).join(' or ') });
}
