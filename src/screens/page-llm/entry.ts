// The writer of pages as a backend.

import { isScreenDomain } from '../../env/screens/screen-state.js';
import type { BackendEntry } from '../../worldmodel/tools/backend-model.js';
import { type PageLlmSettings, pageLlmSection } from './replies.js';

export const pageLlmBackend: BackendEntry = {
  name: 'page-llm',
  summary: 'A language model that writes what pages become, in stages that are checked.',
  schema: pageLlmSection,
  trust: 'proposal',
  minConfidence: ({ minConfidence }) => minConfidence as number,
  needs: ['model'],
  make: async () => {
    const { PageModel } = await import('./page-model.js');
    return ({ domain, model, index }, settings) => {
      if (!isScreenDomain(domain)) return 'page-llm: the states of this domain are no screens';
      if (model === undefined) return 'page-llm: no language model is configured';
      return new PageModel(model, settings as unknown as PageLlmSettings, index);
    };
  },
};
