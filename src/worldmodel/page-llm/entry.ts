// A language model that writes pages, in the registry of backends.

import { isScreenDomain } from '../../env/index.js';
import type { BackendEntry } from '../tools/backend-model.js';
import { type PageLlmSettings, pageLlmSection } from './settings.js';

export const pageLlmBackend: BackendEntry = {
  name: 'page-llm',
  summary: 'A language model that writes what pages become, in stages that are checked, or as HTML that is drawn.',
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
