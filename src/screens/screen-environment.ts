// Worlds of screens: a tree of elements, and actions on them by their ids. A face of a domain whose state is a screen; as an environment,
// a line in the syntax of BrowserGym in, the tree of elements out.

import type { Kind } from '../core/kind.js';
import { actionLine, parseAction, type ScreenAction } from '../env/screens/screen-actions.js';
import type { CallSpec, ToolsDomain } from '../env/tools/domain.js';
import { type LineEnvironment, lineEnvironment } from '../env/tools/text-environment.js';
import type { ToolsEpisodeEnvironment } from '../env/tools/tools-environment.js';
import { textCodec } from '../kinds/codecs.js';

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

/**
 * The tools environment of a screen, acted in by lines. After reset one sees what is to be done, and the screen. A line that is no
 * action is a step that changes nothing: what is wrong with it is told, with the screen as it is.
 */
export function screenEnvironment(tools: ToolsEpisodeEnvironment): LineEnvironment {
  const offered = tools.domain.tools.map(({ name }) => name as ScreenAction);
  return lineEnvironment(tools, {
    family: 'screen',
    read: (line) => {
      const call = parseAction(line, offered);
      if (typeof call !== 'string') return { call: { ...call, id: '' } };
      const [name] = /^\s*\w+/.exec(line) ?? [line.slice(0, 40)];
      return { call: { id: '', name: name.trim(), arguments: {}, rawArguments: line }, problem: call };
    },
  });
}
