// The registry of the router's backends. A new one is a folder with an entry, and one line here; a user's module registers its
// own.

import { reverieError } from '../../core/errors.js';
import { Registry } from '../../core/registry.js';
import { llmBackend } from '../llm/entry.js';
import { sequenceBackend } from '../sequence/entry.js';
import type { BackendEntry } from './backend-model.js';
import { realBackend, replayBackend, rulesBackend } from './exact-backends.js';

/** Reserved names: keys of the section `model` that are not backends, and sources without a backend (`none`: no backend could answer; `schema`: an invalid call; `memory`: a repeated read; `faults`: an injected fault). */
const TAKEN = ['kind', 'backends', 'check', 'schema', 'none', 'memory', 'faults'];

class Backends extends Registry<BackendEntry> {
  override register(entry: BackendEntry): void {
    const { name } = entry;
    if (TAKEN.includes(name)) {
      const problem = 'it means something else in the section "model", or in what is recorded.';
      throw reverieError('PLUGIN_UNUSABLE', {
        problem: `The ${this.what} "${name}" cannot be registered: ${problem}`,
        hint: 'Give it another name in the module that registers it.',
      });
    }
    super.register(entry);
  }
}

export const routerBackends: Registry<BackendEntry> = new Backends('backend', [
  rulesBackend,
  sequenceBackend,
  replayBackend,
  llmBackend,
  realBackend,
]);
