// Tries of ALFWorld's commands as records have them: a line of text, the typed state before and after, and what was answered.

import { applyOperations } from '../src/env/state/operations.js';
import type { FactTable } from '../src/env/tools/domain.js';
import type { Message, ToolCall } from '../src/env/tools/message.js';
import { initialStateOf } from '../src/env/tools/situation.js';
import type { Transition } from '../src/games/operators/tries.js';
import { type FoundGame, type GameFile, gamesDomain, readGame } from '../src/games/pddl/games-domain.js';
import { ExplorerAgent } from '../src/synth/episodes/agents/explorer-agent.js';
import { takenAction } from '../src/worldmodel/situation.js';

export interface CommandTry extends Transition {
  readonly call: ToolCall;
}

/** At most so many commands in each game, until all are made; a game ends when it is won. */
export function* commandTries(
  games: readonly FoundGame[],
  names: GameFile['names'],
  { seed, perGame, count }: { readonly seed: number; readonly perGame: number; readonly count: number },
): Generator<CommandTry> {
  let made = 0;
  for (const [i, found] of games.entries()) {
    if (made >= count) return;
    const read = () => ({ ...readGame(found), names });
    const domain = gamesDomain({ id: 'alfworld', version: found.name, games: [{ id: found.name, read }] });
    const agent = new ExplorerAgent(domain, { guesses: 0.5, follows: 0.5 });
    const [task] = domain.tasks;
    const rules = domain.rules!;
    const scene = rules.scene!(initialStateOf(domain, task));
    const messages: Message[] = [];
    let state = initialStateOf(domain, task);
    for (let step = 0; step < perGame && made < count; step++) {
      const query = { messages, tools: domain.tools, task, seed: seed * 100_000 + i, step };
      const { action } = agent.act(query);
      const [call] = action.toolCalls!;
      messages.push({ role: 'assistant' as const, ...action });
      const { operations, observation, isError } = rules.execute(state, call);
      const after = applyOperations(state, operations);
      const [was, is] = [state, after].map(({ facts }) => facts as FactTable);
      yield { scene, before: was, after: is, action: takenAction(call, scene), accepted: !isError, observation, call };
      made += 1;
      state = after;
      if (rules.check('goal', { initialState: state, finalState: state, messages }).passed) break;
    }
    domain.close();
  }
}
