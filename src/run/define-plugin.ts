// What a module of yours exports to be named in a scenario's `plugins`. See docs/extending.md.

import type { Kind } from '../core/kind.js';
import type { Plugin } from '../core/plugins.js';
import type { DomainEntry, EnvironmentEntry } from '../env/index.js';
import type { LearnerEntry } from '../rl/index.js';
import type { EpisodeExport, TransitionExport } from '../synth/index.js';
import type { BackendEntry, DynamicsEntry } from '../worldmodel/index.js';

export interface PluginEntries extends Plugin {
  readonly kinds?: readonly Kind[];
  readonly environments?: readonly EnvironmentEntry[];
  readonly domains?: readonly DomainEntry[];
  readonly dynamics?: readonly DynamicsEntry[];
  readonly backends?: readonly BackendEntry[];
  readonly learners?: readonly LearnerEntry[];
  readonly exports?: readonly EpisodeExport[];
  readonly transitionExports?: readonly TransitionExport[];
}

/** The entries themselves, checked by the compiler; `export default definePlugin({...})`. */
export function definePlugin(entries: PluginEntries): PluginEntries {
  return entries;
}
