// A screen as an environment: a line in the syntax of BrowserGym in, the tree of elements out.

import { parseAction, type ScreenAction } from '../env/screens/screen-actions.js';
import { type LineEnvironment, lineEnvironment } from '../env/tools/text-environment.js';
import type { ToolsEpisodeEnvironment } from '../env/tools/tools-environment.js';

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
