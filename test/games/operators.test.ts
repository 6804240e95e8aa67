// Operators from tries of a small world of ours: what they say, what they foretell in a room they never saw, and what they leave open.

import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/core/canonical-json.js';
import { applyOperations } from '../../src/env/state/operations.js';
import type { FactTable, ToolsDomain, ToolsTask } from '../../src/env/tools/domain.js';
import type { Message, ToolCall } from '../../src/env/tools/message.js';
import { initialStateOf } from '../../src/env/tools/situation.js';
import { induceOperators, OperatorBook } from '../../src/games/operators/induce-operators.js';
import type { Operator, OperatorsFile } from '../../src/games/operators/operator.js';
import type { Transition } from '../../src/games/operators/tries.js';
import { listsAlike } from '../../src/games/operators/wordings.js';
import { ExplorerAgent } from '../../src/synth/episodes/agents/explorer-agent.js';
import { type TakenAction, takenAction } from '../../src/worldmodel/situation.js';
import { depot } from './depot.js';

type Told = Transition & { readonly call: ToolCall; readonly options: readonly TakenAction[] };

function walk(domain: ToolsDomain, task: ToolsTask, seed: number, count: number): Told[] {
  const agent = new ExplorerAgent(domain, { guesses: 0.6, follows: 0 });
  const rules = domain.rules!;
  const messages: Message[] = [];
  let state: JsonObject = initialStateOf(domain, task);
  return Array.from({ length: count }, (_, step) => {
    const { action } = agent.act({ messages, tools: domain.tools, task, seed, step });
    const [call] = action.toolCalls!;
    messages.push({ role: 'assistant', ...action });
    const { operations, observation, isError } = rules.execute(state, call);
    const scene = rules.scene!(state);
    const before = state.facts as FactTable;
    const options = rules.admissible!(state).map((text) => takenAction({ name: 'act', arguments: { text } }, scene));
    state = applyOperations(state, operations);
    const after = state.facts as FactTable;
    return { scene, before, after, action: takenAction(call, scene), accepted: !isError, observation, call, options };
  });
}

function walks(problems: readonly string[], seeds: readonly number[], count: number): Told[] {
  const domain = depot(problems);
  return domain.tasks.flatMap((task, i) => seeds.flatMap((seed) => walk(domain, task, seed * 10 + i, count)));
}

const crates = ['box', 'bag'].map((name) => ({ name, type: 'crate' }));

let tries: Told[];
let file: OperatorsFile;
beforeAll(() => {
  tries = walks(['one', 'two', 'three'], [1, 2, 3, 4, 5], 60);
  file = induceOperators(tries);
});

const operator = (action: string) => file.operators.find((one) => one.action === action)!;
const needs = (action: string) => operator(action).preconditions.map(({ any }) => any.join(' | '));
const makes = (action: string) =>
  operator(action).effects.map(({ makes: made, when }) =>
    when.length === 0 ? made : `${made} when ${when.join(' & ')}`,
  );

describe('operators from tries', () => {
  it('need what the world asks for, over what the command names and what is found through it', () => {
    expect(operator('act: take {item} from {crate}').variables).toEqual(
      expect.arrayContaining([
        { name: '?robot', type: 'robot' },
        { name: '?place', type: 'place', is: 'stands(?crate, ?)' },
      ]),
    );
    expect(needs('act: take {item} from {crate}')).toEqual([
      'at(?robot, ?place)',
      'in(?item, ?crate)',
      'light(?item)',
      'not busy(?robot)',
      'not lidded(?crate) | open(?crate)',
    ]);
    expect(needs('act: open {crate}')).toEqual(['at(?robot, ?place)', 'lidded(?crate)', 'not open(?crate)']);
    expect(needs('act: switch {item}')).toEqual(['holds(?robot, ?item)', 'lamp(?item)']);
    expect(needs('act: look')).toEqual([]);
  });

  it('make so what changes, under a condition where it must', () => {
    expect(makes('act: take {item} from {crate}')).toEqual([
      'busy(?robot)',
      'holds(?robot, ?item)',
      'not in(?item, ?crate)',
    ]);
    expect(makes('act: go to {place}')).toEqual(['at(?robot, ?place)', 'not at(?robot, ?place2)']);
    expect(makes('act: switch {item}')).toEqual(['lit(?item) when not lit(?item)', 'not lit(?item) when lit(?item)']);
  });

  it('are the same bytes for the same tries', () => {
    const [one, two] = [1, 2].map(() => JSON.stringify(induceOperators(walks(['two'], [3], 60))));
    expect(one).toBe(two);
    expect(JSON.parse(one).operators.length).toBeGreaterThan(3);
  });

  it('foretell states and texts of a room that they never saw', () => {
    const book = new OperatorBook(file);
    const asked = walks(['other'], [20, 21, 22], 40);
    const outcomes = asked.map(({ scene, before, call }) => book.outcome(scene, before, call));
    const known = asked.flatMap((one, i) => {
      const outcome = outcomes[i];
      return 'unknown' in outcome || outcome.observation === undefined ? [] : [{ one, outcome }];
    });
    expect(known.length).toBeGreaterThan(0.9 * asked.length);
    for (const { one, outcome } of known) {
      expect(outcome.accepted).toBe(one.accepted);
      expect(applyOperations({ facts: one.before } as JsonObject, outcome.operations).facts).toEqual(one.after);
      expect(outcome.observation).toBe(one.observation);
      expect(outcome.confidence).toBeGreaterThan(0.5);
    }
  });

  it('know nothing of commands that were never tried, and are less sure where what always held does not', () => {
    const opened = tries.filter(({ action, accepted }) => accepted && /open/.test(action.name));
    const few = new OperatorBook(induceOperators(opened.slice(0, 2)));
    const { scene, before } = tries[0];
    const outcome = (text: string) => few.outcome(scene, before, { name: 'act', arguments: { text } });
    expect(outcome('put apple into chest')).toEqual({ unknown: '"act: put {item} into {crate}" was never tried' });
    const sure = (book: OperatorBook, text: string) => {
      const found = book.outcome(scene, before, { name: 'act', arguments: { text } });
      return 'unknown' in found ? 0 : found.confidence;
    };
    const [{ accepted, beyond, unexplained }] = induceOperators(opened.slice(0, 2)).operators;
    expect([accepted, unexplained]).toEqual([2, 0]);
    expect(sure(few, 'open shelf')).toBeCloseTo((beyond + 1) / (beyond + 2), 12);
    // The more that was not needed, the surer that what is left is not.
    expect(operator('act: open {crate}').beyond).toBeGreaterThan(beyond);
  });

  it('do not need what only held as nobody did otherwise, once the world has told what it offered', () => {
    const emptyHanded = tries.filter(({ action, accepted, before }) => {
      return /open/.test(action.name) && accepted && before.busy?.robby === undefined;
    });
    const looked = tries.filter(({ action }) => /look/.test(action.name));
    const openedBy = (more: readonly Transition[]) => {
      const { operators } = induceOperators([...emptyHanded, ...more]);
      return operators.find(({ action }) => /open/.test(action))!;
    };
    const held = ({ preconditions, always }: Operator) => [...preconditions.flatMap(({ any }) => any), ...always];
    expect(held(openedBy(looked))).toContain('not busy(?robot)');
    const told = openedBy(looked.map((one) => ({ ...one, offered: one.options })));
    expect(held(told)).not.toContain('not busy(?robot)');
    expect(held(told)).toEqual(expect.arrayContaining(needs('act: open {crate}')));
  });

  it('tell answers apart by what was so wherever another action was answered the same', () => {
    const scene = {
      objects: [{ name: 'robby', type: 'robot' }, ...crates],
      facts: {},
    } as unknown as Transition['scene'];
    const told = (name: string, crate: string, now: Record<string, string[]>, observation: string): Transition => {
      const table = (names: string[]) => Object.fromEntries(names.map((one) => [one, true as const]));
      const facts = Object.fromEntries(Object.entries(now).map(([predicate, names]) => [predicate, table(names)]));
      const action = takenAction({ name: 'act', arguments: { text: `${name} ${crate}` } }, scene);
      return { scene, before: facts, after: facts, action, accepted: true, observation };
    };
    // Whatever was open when somebody went there had been seen, and nothing else had.
    const went = [
      told('go to', 'box', { open: ['box'], seen: ['box'] }, 'You are there. The box is open.'),
      told('go to', 'bag', { open: ['box'], seen: ['box'] }, 'You are there. The bag is shut.'),
    ];
    const looked = told('look at', 'bag', { open: ['box'], seen: ['box', 'bag'] }, 'The bag is shut.');
    const conditionOf = (tries: Transition[]) =>
      induceOperators(tries)
        .operators.find(({ action }) => /go to/.test(action))!
        .wordings.find(({ text }) => /shut/.test(text))!.when;
    expect(conditionOf([...went, { ...looked, after: went[0].after, before: went[0].before }])).toHaveLength(1);
    expect(conditionOf([...went, looked])).toEqual(['not open(?crate)']);
  });

  it('write lists that were seen too short as others that follow the same word', () => {
    const wordings = (text: string, more: object, support = 1) => {
      return { wordings: [{ text, when: [], lists: [{ of: 'in(?, ?crate)', ...more }], support, counterExamples: 0 }] };
    };
    const alike = listsAlike([
      wordings('Open. You see a {list 1}.', {}),
      wordings('You see a {list 1}.', { between: ', a ', last: ', and a ' }, 3),
      wordings('Here is a {list 1}.', { between: '; a ' }, 2),
      wordings('Beside the {list 1}.', {}),
    ]);
    expect(alike.map((one) => one.wordings[0].lists[0])).toMatchObject([
      { between: ', a ', last: ', and a ' },
      { between: ', a ', last: ', and a ' },
      { between: '; a ', last: ', and a ' },
      { of: 'in(?, ?crate)' },
    ]);
    expect(alike[3].wordings[0].lists[0]).not.toHaveProperty('between');
  });

  it('say how often an action was tried that was refused each time', () => {
    const refused = tries.filter(({ action, accepted }) => /switch/.test(action.name) && !accepted);
    const found = induceOperators(refused);
    expect(found.operators).toEqual([]);
    expect(found.refused).toEqual([{ action: 'act: switch {item}', support: refused.length }]);
    const { scene, before, call } = refused[0];
    expect(new OperatorBook(found).outcome(scene, before, call)).toMatchObject({ accepted: false, operations: [] });
  });
});
