// Worlds of screens, as a kind that can be judged: what is asked of worlds of tools, and how right each element is.

import type { FidelityKind } from '../../fidelity/kind.js';
import { unmeasured } from '../../fidelity/section.js';
import type { ToolsJudged } from '../../fidelity/tools/judged.js';
import { toolsKind } from '../../fidelity/tools/kind.js';
import { elementsInstrument } from './elements.js';

const ONLY_LIVED_IN = 'The screen is on the server: it cannot be put into one to be asked about.';

export const screensKind: FidelityKind<ToolsJudged> = {
  ...toolsKind,
  questions: [
    ...toolsKind.questions,
    {
      id: 'elements',
      comesWith: 'one-step',
      ask: (judged) => {
        const instrument = elementsInstrument(judged);
        return judged.answering === undefined ? unmeasured(instrument, ONLY_LIVED_IN) : instrument;
      },
    },
  ],
};
