// Worlds of lines of text: a face of a domain with one tool that takes a line.

import type { Kind } from '../../core/kind.js';
import { textCodec } from './codec.js';

export const textKind: Kind = {
  name: 'text',
  summary: 'One line of text in, one out: how a domain of a single tool "act" is played.',
  representation: 'structured',
  face: { acts: 'line', tasks: 'id', codec: textCodec },
  jobs: {},
};
