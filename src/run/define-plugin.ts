// What a module of yours exports to be named in a scenario's `plugins`. See docs/extending.md.

import type { Kind } from '../core/kind.js';
import type { Plugin } from '../core/plugins.js';
import type { EnvironmentEntry } from '../env/clocked-environment.js';
import type { DomainEntry } from '../env/tools/domain.js';
import type { LearnerEntry } from '../rl/learners.js';
import type { EpisodeExport } from '../synth/export/episodes/export-episodes.js';
import type { TransitionExport } from '../synth/export/transition-exports.js';
import type { DynamicsEntry } from '../worldmodel/dynamics.js';
import type { BackendEntry } from '../worldmodel/tools/backend-model.js';

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
