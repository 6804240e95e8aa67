// Worlds of lines of text: a face of a domain with one tool that takes a line.

import type { Kind } from '../../core/kind.js';
import { isTextDomain, textEnvironment } from '../../env/tools/text-environment.js';
import type { ToolsEpisodeEnvironment } from '../../env/tools/tools-environment.js';
import { textCodec } from './codec.js';

export const textKind: Kind = {
  name: 'text',
  summary: 'One line of text in, one out: how a domain of a single tool "act" is played.',
  representation: 'structured',
  face: { acts: 'line', tasks: 'id', codec: textCodec, lineOf: ({ arguments: given }) => given['text'] },
  view: { of: isTextDomain, make: (environment: ToolsEpisodeEnvironment) => textEnvironment(environment) },
  jobs: {},
};
