// The learner of worlds of tools: what it learns of one conversation holds in another, and what it cannot see.

import { describe, expect, it } from 'vitest';
import type { ToolSpec, ToolsTask } from '../../../src/env/tools/domain.js';
import type { Message } from '../../../src/env/tools/message.js';
import type { ToolsAction, ToolsPolicyQuery } from '../../../src/env/tools/tools-family.js';
import {
  ChoiceModel,
  ChoosingAgent,
  type Demonstration,
  type Propose,
  shownChoices,
} from '../../../src/fidelity/learning/choosing-agent.js';

const text = { type: 'string' };
const TOOLS: ToolSpec[] = [
  { name: 'find', description: '', kind: 'read', parameters: { type: 'object', properties: { name: text } } },
  { name: 'unlock', description: '', kind: 'write', parameters: { type: 'object', properties: { id: text } } },
];

/** Somebody's wish: the account found by their name is to be unlocked, not that of the one beside it. */
interface Wish {
  readonly name: string;
  readonly id: string;
  readonly other: string;
}
const ROSA: Wish = { name: 'Rosa Lind', id: 'ACC-117', other: 'ACC-502' };
const OTTO: Wish = { name: 'Otto Brix', id: 'ACC-940', other: 'ACC-233' };

function call(name: string, given: Record<string, string>): ToolsAction {
  return { content: null, toolCalls: [{ id: 'c', name, arguments: given }] };
}

function opened({ name }: Wish): Message[] {
  return [
    { role: 'system', content: 'Unlock accounts.' },
    { role: 'user', content: `Hello, ${name} here, I am locked out.` },
  ];
}

function found(wish: Wish): Message[] {
  const { name, id, other } = wish;
  const entries = [
    { id: other, name: 'Ada Moor' },
    { id, name },
  ];
  return [
    ...opened(wish),
    { role: 'assistant', ...call('find', { name }) },
    { role: 'tool', toolCallId: 'c', name: 'find', content: JSON.stringify(entries) },
  ];
}

/** Every wish has a proposal that is right and some that are not; `task.id` is the name. */
const propose: Propose = ({ messages, task }) => {
  const { name, id, other } = [ROSA, OTTO].find((wish) => wish.name === task.id)!;
  return messages.length < 3
    ? [call('unlock', { id: other }), call('find', { name }), { content: 'It is unlocked.' }]
    : [call('unlock', { id: other }), { content: 'It is unlocked.' }, call('unlock', { id })];
};

function shown(wish: Wish, unlocked: string, worth: number): Demonstration {
  const messages = [...found(wish), { role: 'assistant', ...call('unlock', { id: unlocked }) }] as Message[];
  const step = (message: number, action: ToolsAction) => ({
    message,
    action,
    predictions: [],
    reward: 0,
    stateHash: '',
  });
  const steps = [step(2, call('find', { name: wish.name })), step(4, call('unlock', { id: unlocked }))];
  return { task: { id: wish.name } as ToolsTask, record: { messages, steps, return: worth }, seed: 1 };
}

function chosen(model: ChoiceModel, messages: readonly Message[], { name }: Wish, seed = 1): ToolsAction {
  const query: ToolsPolicyQuery = { messages, tools: TOOLS, task: { id: name } as ToolsTask, seed, step: 0 };
  return new ChoosingAgent(model, propose).act(query).action;
}

const learnt = (...demonstrations: Demonstration[]) =>
  new ChoiceModel(demonstrations.flatMap((one) => shownChoices(one, propose, TOOLS)));

describe('a learner of tools', () => {
  it('does for another what went well for one', () => {
    const model = learnt(shown(ROSA, ROSA.id, 1));
    expect(chosen(model, opened(OTTO), OTTO)).toEqual(call('find', { name: OTTO.name }));
    expect(chosen(model, found(OTTO), OTTO)).toEqual(call('unlock', { id: OTTO.id }));
  });

  it('learns what is wrong where that is rewarded', () => {
    const model = learnt(shown(ROSA, ROSA.other, 1));
    expect(chosen(model, found(OTTO), OTTO)).toEqual(call('unlock', { id: OTTO.other }));
  });

  it('learns nothing of episodes that went wrong, and chooses at random then', () => {
    const model = learnt(shown(ROSA, ROSA.other, 0));
    const kinds = new Set(
      [1, 2, 3, 4, 5, 6, 7, 8].map((seed) => JSON.stringify(chosen(model, found(OTTO), OTTO, seed))),
    );
    expect(kinds.size).toBeGreaterThan(1);
  });

  // Blind spot: rewards that are withheld. docs/fidelity-metrics.md tells it with this example.
  it('learns as much where two of three right episodes are called wrong', () => {
    const right = () => shown(ROSA, ROSA.id, 1);
    const fair = learnt(right(), right(), right());
    const stingy = learnt(right(), shown(ROSA, ROSA.id, 0), shown(ROSA, ROSA.id, 0));
    for (const messages of [opened(OTTO), found(OTTO)]) {
      expect(chosen(stingy, messages, OTTO)).toEqual(chosen(fair, messages, OTTO));
    }
    expect(chosen(stingy, found(OTTO), OTTO)).toEqual(call('unlock', { id: OTTO.id }));
  });
});
