// The writer of pages as a backend.

import { isScreenDomain } from '../../env/screens/screen-state.js';
import type { BackendEntry } from '../../worldmodel/tools/backend-model.js';
import { type PageLlmSettings, pageLlmSection } from './replies.js';

/** Of the instructions, and of a screen of the middle size. */
const PROMPT_TOKENS = 1_500;
const CHARS_OF_TOKEN = 4;

export const pageLlmBackend: BackendEntry = {
  name: 'page-llm',
  summary: 'A language model that writes what pages become, in stages that are checked.',
  schema: pageLlmSection,
  trust: 'proposal',
  minConfidence: ({ minConfidence }) => minConfidence as number,
  needs: ['model'],
  asks: (settings) => {
    const { draft, retrieval } = settings as unknown as PageLlmSettings;
    // An overview, and mostly a change; another page takes a draft and a tree.
    const high = draft ? 3 : 2;
    const promptTokens = PROMPT_TOKENS + (retrieval.k * retrieval.maxChars) / CHARS_OF_TOKEN;
    return { requests: { value: 2, low: 1, high }, promptTokens };
  },
  make: async () => {
    const { PageModel } = await import('./page-model.js');
    return ({ domain, model, index }, settings) => {
      if (!isScreenDomain(domain)) return 'page-llm: the states of this domain are no screens';
      if (model === undefined) return 'page-llm: no language model is configured';
      return new PageModel(model, settings as unknown as PageLlmSettings, index);
    };
  },
};
