// A walk over screens as it is shown to a language model: the screens, and what was done between them.

import { actionLine } from '../../env/screens/screen-actions.js';
import type { ToolsTask } from '../../env/tools/domain.js';
import type { Message, ToolCall } from '../../env/tools/message.js';

/** One action and what was seen after it. */
export interface WalkStep {
  readonly call: ToolCall;
  readonly screen: string;
  readonly isError: boolean;
  /** The agent's thoughts before it. */
  readonly thought?: string;
}

export interface Walk {
  /** The screen it began with. */
  readonly first: string;
  readonly steps: readonly WalkStep[];
}

/** Longest screen that is shown whole. */
const LONGEST_SCREEN = 6_000;

/** What was seen and done in a conversation about one call a turn. The goal that the task opens with is no part of it. */
export function walkOf(messages: readonly Message[], { user }: Pick<ToolsTask, 'user'>): Walk {
  const opening = messages.find(({ role }) => role === 'user')?.content ?? '';
  const first = opening.startsWith(user.goal) ? opening.slice(user.goal.length).trimStart() : opening;
  const steps: WalkStep[] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role !== 'assistant') continue;
    for (const call of message.toolCalls ?? []) {
      const answer = messages.slice(at + 1).find((one) => one.role === 'tool' && one.toolCallId === call.id);
      if (answer?.role !== 'tool') continue;
      const thought = message.reasoning === undefined ? {} : { thought: message.reasoning };
      steps.push({ call, screen: answer.content, isError: answer.isError === true, ...thought });
    }
  }
  return { first, steps };
}

/** The screen as it stands: where an action failed nothing changed. */
export function lastScreen({ first, steps }: Walk): string {
  return steps.findLast(({ isError }) => !isError)?.screen ?? first;
}

export function shownScreen(screen: string): string {
  return screen.length <= LONGEST_SCREEN ? screen : `${screen.slice(0, LONGEST_SCREEN)}\n… (shortened)`;
}

/** The line of the screen that an action is about, so that its id says something. */
export function elementLine(screen: string, { arguments: given }: Pick<ToolCall, 'arguments'>): string | undefined {
  const id = given['bid'];
  return screen
    .split('\n')
    .find((line) => line.trimStart().startsWith(`[${id}] `))
    ?.trim();
}

/** Actions in order, each with the element it was about and what came of it. */
export function shownSteps({ first, steps }: Walk): object[] {
  return steps.map(({ call, isError, screen, thought }, i) => {
    const before = i === 0 ? first : steps[i - 1].screen;
    const element = elementLine(before, call);
    return {
      action: actionLine(call),
      ...(element !== undefined && { element }),
      ...(thought !== undefined && { thought }),
      ...(isError ? { refused: screen.split('\n')[0] } : { title: titleOf(screen) }),
    };
  });
}

function titleOf(screen: string): string {
  return /RootWebArea '([^']*)'/.exec(screen)?.[1] ?? '';
}
