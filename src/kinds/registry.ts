// The kinds of world there are.

import type { Kind } from '../core/kind.js';
import { Registry } from '../core/registry.js';

export const kinds = new Registry<Kind>('kind of world');

/** What a scenario is of that does not say. */
export const DEFAULT_KIND = 'vector';
