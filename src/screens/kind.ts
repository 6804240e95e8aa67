// Worlds of screens: a tree of elements, and actions on them by their ids. A face of a domain whose state is a screen.

import type { Kind } from '../core/kind.js';
import { actionLine } from '../env/screens/screen-actions.js';
import type { CallSpec, ToolsDomain } from '../env/tools/domain.js';
import type { ToolsEpisodeEnvironment } from '../env/tools/tools-environment.js';
import { textCodec } from '../kinds/codecs.js';
import { screenEnvironment } from './screen-environment.js';

const NAME = 'screen';

export const screenKind: Kind = {
  name: NAME,
  summary: 'A tree of elements with ids, and actions on them in the syntax of BrowserGym: how pages are used.',
  representation: 'structured',
  face: { acts: 'line', tasks: 'id', codec: textCodec, lineOf: (call) => actionLine(call as CallSpec) },
  view: {
    of: ({ face }: ToolsDomain) => face === NAME,
    make: (environment: ToolsEpisodeEnvironment) => screenEnvironment(environment),
  },
};
