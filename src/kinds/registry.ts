// The kinds of world there are. Games and screens come in through the door of plugins, with all they have beside a kind.

import { reverieError } from '../core/errors.js';
import type { Face, Kind } from '../core/kind.js';
import { bringPlugin } from '../core/plugins.js';
import { Registry } from '../core/registry.js';
import { games } from '../games/plugin.js';
import { screens } from '../screens/plugin.js';
import { textKind } from './text/kind.js';
import { toolsKind } from './tools/kind.js';
import { vectorKind } from './vector/kind.js';

export const kinds = new Registry<Kind>('kind of world', [vectorKind, toolsKind, textKind]);
for (const plugin of [games, screens]) bringPlugin(plugin);

/** What a scenario is of that does not say. */
export const DEFAULT_KIND = 'vector';

/** How worlds of a kind look from outside. @throws NAME_UNKNOWN, SCENARIO_UNFIT for a kind that cannot be served */
export function faceOf({ family, name }: { readonly family: string; readonly name?: string }): Face {
  const { face } = kinds.get(family);
  if (face !== undefined) return face;
  const able = kinds.list().filter((kind) => kind.face !== undefined);
  throw reverieError('SCENARIO_UNFIT', {
    problem: `Scenario "${name}" is of family ${family}; this is for scenarios of family ${able.map((kind) => kind.name).join(' or ')}.`,
    hint: 'reverie scenarios lists the built-in ones; docs/tools.md says what can be done with which family.',
  });
}
