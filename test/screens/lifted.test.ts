// Changes that were recorded on some screens, carried over to others: what was copied is copied there, what counts goes on counting, the
// same kind of element is meant, and what was done without success fails there, too.

import '../../src/kinds/registry.js';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import type { ScreenState } from '../../src/env/screens/screen-state.js';
import { applyOperations } from '../../src/env/state/operations.js';
import type { CallSpec, ToolsDomain } from '../../src/env/tools/domain.js';
import { rulesResponder } from '../../src/env/tools/rules-responder.js';
import { initialStateOf } from '../../src/env/tools/situation.js';
import { liftedBackend } from '../../src/screens/lifted/entry.js';
import { Act } from '../../src/screens/lifted/layout.js';
import { LiftedBook, LiftedModel, lastId } from '../../src/screens/lifted/lifted-model.js';
import type { LearnedEpisode } from '../../src/worldmodel/sequence/recorded-steps.js';
import { makeRouter } from '../../src/worldmodel/tools/router.js';
import { parseToolsModelConfig } from '../../src/worldmodel/tools/tools-model-schema.js';
import { temporaryFolder } from '../temporary-folder.js';
import { deskDomain } from '../worldmodel/tools/desk.js';
import { pagesDomain } from './fixture.js';

type Elements = ScreenState['elements'];

const screen = (goal: string, elements: Elements): ScreenState => ({
  ...{ page: 'p', goal, focused: '', root: '1', elements, reward: 0, done: false, history: [] },
});

/** A heading, a list of messages, a counter. */
function inbox(names: readonly string[], count: string): ScreenState {
  const rows = names.map((name, i): [string, Elements[string]] => [
    String(10 + i),
    { role: 'listitem', name, children: [] },
  ]);
  return screen('Open a message.', {
    1: { role: 'RootWebArea', name: 'Inbox', children: ['2', '3', '4'] },
    2: { role: 'heading', name: 'Messages', children: [] },
    3: { role: 'list', name: '', children: rows.map(([id]) => id) },
    4: { role: 'status', name: '', value: count, children: [] },
    ...Object.fromEntries(rows),
  });
}

/** The message is shown in place of the list, and one more was read. */
function opened(before: ScreenState, id: string): ScreenState {
  const name = before.elements[id].name;
  const fresh = String(lastId(before) + 1);
  return {
    ...before,
    elements: {
      1: { ...before.elements['1'], children: ['2', fresh, '4'] },
      2: { ...before.elements['2'], name: `Message: ${name}` },
      4: { ...before.elements['4'], value: String(Number(before.elements['4'].value) + 1) },
      [fresh]: { role: 'article', name, children: [] },
    },
    history: [`click('${id}')`],
  };
}

const act = (state: ScreenState, id: string) =>
  new Act({ state, opening: state, ids: lastId(state), call: { name: 'click', arguments: { bid: id } } });

describe('what was recorded of one screen', () => {
  const before = inbox(['From Ada', 'From Bea', 'From Cleo'], '4');
  const recorded = {
    ...{ act: act(before, '11'), after: opened(before, '11'), isError: false },
    ...{ observation: '', episode: 'e', task: 't', family: 'f' },
  };
  const book = new LiftedBook([recorded]);

  it('is done on another, longer one: copied, counted, in place of all rows', () => {
    const other = inbox(['From Dora', 'From Eve', 'From Fay', 'From Gus', 'From Ida'], '7');
    expect(book.say(act(other, '13'))?.after).toEqual(opened(other, '13'));
  });
});

describe('what was recorded of a link to another page', () => {
  /** Notes by their names, and a link to each. */
  const home = (names: readonly string[]): ScreenState => {
    const links = names.map((name, i): [string, Elements[string]] => [
      String(2 + i),
      { role: 'link', name, children: [] },
    ]);
    const root = { role: 'RootWebArea', name: 'Notes', children: links.map(([id]) => id) };
    return screen('Read a note.', { 1: root, ...Object.fromEntries(links) });
  };
  /** All ids are new; the last of all notes is told in the margin. */
  const shown = (before: ScreenState, id: string, last: string): ScreenState => {
    const ids = lastId(before);
    const [root, title, margin, button] = [1, 2, 3, 4].map((one) => String(ids + one));
    return {
      ...before,
      root,
      elements: {
        [root]: { role: 'RootWebArea', name: 'A note', children: [title, margin] },
        [title]: { role: 'heading', name: before.elements[id].name, children: [button] },
        [margin]: { role: 'complementary', name: last, children: [] },
        [button]: { role: 'button', name: 'Back', children: [] },
      },
      history: [`click('${id}')`],
    };
  };

  it('is the page of another note, with ids that go on from those of the screen', () => {
    const before = home(['milk', 'bread', 'salt']);
    const after = shown(before, '3', 'salt');
    const where = { isError: false, observation: '', episode: 'e', task: 't', family: 'f' };
    const book = new LiftedBook([{ act: act(before, '3'), after, ...where }]);
    const other = home(['tea', 'rice', 'oil']);
    expect(book.say(act(other, '3'))?.after).toEqual(shown(other, '3', 'oil'));
    const calledBack = (state: ScreenState, opening: ScreenState, ids: number) =>
      new Act({ state, opening, ids, call: { name: 'go_back', arguments: {} } });
    const back = { ...before, root: '11', elements: { 11: { role: 'RootWebArea', name: 'salt', children: [] } } };
    const told = new LiftedBook([{ act: calledBack(shown(before, '3', 'a'), before, 8), after: back, ...where }]);
    const asked = calledBack(shown(other, '3', 'b'), other, 20);
    // Its name was told by the opening screen alone.
    expect(told.say(asked)?.after).toMatchObject({ root: '23', elements: { 23: { name: 'oil' } } });
  });
});

describe('a model of recorded episodes', () => {
  const folder = temporaryFolder('lifted');
  const domain = pagesDomain('order');
  afterAll(() => domain.close());
  const idOf = ({ elements }: ScreenState, name: string) =>
    Object.keys(elements).find((id) => elements[id].name === name && !/Text$/.test(elements[id].role))!;
  const begun = (task: number) => initialStateOf(domain, domain.tasks[task]) as ScreenState;

  /** Looks at the note, does as much as is asked of what the task wants, and sends it. */
  function callsFor(task: number, isDone: boolean): CallSpec[] {
    const state = begun(task);
    const [, cake, name] = /"(.*?)".*"(.*?)"/.exec(state.goal)!;
    const on = (action: string, element: string, given = {}): CallSpec => {
      return { name: action, arguments: { bid: idOf(state, element), ...given } };
    };
    const wanted = [
      on('fill', 'Name', { value: name }),
      on('select_option', 'Cake', { options: cake }),
      on('click', 'cream'),
    ];
    return [on('click', 'More'), ...(isDone ? wanted : []), on('click', 'Send')];
  }

  function lived(task: number, isDone: boolean): LearnedEpisode {
    let state = begun(task);
    const steps = callsFor(task, isDone).map((call, i) => {
      const outcome = domain.rules!.execute(state, { id: `c${i}`, ...call });
      state = applyOperations(state, outcome.operations) as ScreenState;
      return { action: { content: null, toolCalls: [{ id: `c${i}`, ...call }] }, predictions: [outcome] };
    });
    return {
      id: `${task}-${isDone}`,
      task: domain.tasks[task].id,
      steps,
      return: state.reward,
      terminated: true,
    } as unknown as LearnedEpisode;
  }

  const settings = liftedBackend.schema!.parse({ minConfidence: 0 }) as Record<string, unknown>;

  async function fitted(out: string, of: ToolsDomain = domain) {
    const learn = await liftedBackend.fit!();
    return learn({
      ...{ domain: of, episodes: [0, 1].flatMap((task) => [lived(task, true), lived(task, false)]) as never },
      ...{ settings, rng: Rng.fromSeed(1), work: folder, out: join(folder, out) },
      ...{ signal: new AbortController().signal, onProgress: () => {} },
    });
  }

  it('does a task that it never saw as the page does, won and lost', async () => {
    const { version, report, isReady } = await fitted('a');
    expect(report).toMatchObject({ learnedFrom: 14, steps: 14 });
    expect(isReady).toBe(true);
    expect(await fitted('b')).toMatchObject({ version });
    expect(readFileSync(join(folder, 'a', 'lifted.json'))).toEqual(readFileSync(join(folder, 'b', 'lifted.json')));

    const config = { kind: 'tools', backends: ['lifted', 'mechanics'], lifted: { ...settings, model: 'a' } };
    const dream = await makeRouter(parseToolsModelConfig(config), { domain, folder });
    const real = rulesResponder(domain);
    for (const isDone of [true, false]) {
      let [state, simulated] = [begun(2), begun(2)];
      for (const [step, call] of callsFor(2, isDone).entries()) {
        const query = { domain, task: domain.tasks[2], messages: [], call: { id: '', ...call }, step, seed: 1 };
        const said = await dream.answer({ ...query, state: simulated });
        const truth = await real.answer({ ...query, state });
        state = applyOperations(state, truth.operations) as ScreenState;
        simulated = applyOperations(simulated, said.operations) as ScreenState;
        expect(said.observation).toBe(truth.observation);
      }
      expect(simulated).toEqual(state);
      expect(simulated).toMatchObject({ done: true, reward: isDone ? 1 : -1 });
    }
  }, 60_000);

  it('is refused where it is damaged, too often wrong, or the world has no screens', async () => {
    const make = await liftedBackend.make();
    const open = (given: object) => make({ domain, folder }, { ...settings, model: 'a', ...given });
    await expect(open({ minExactness: 1 })).rejects.toThrow(/exactly right in .* % .* bar is 100 %/);
    const path = join(folder, 'b', 'lifted.json');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"More"', '"Less"'));
    await expect(open({ model: 'b' })).rejects.toThrow('lifted.json is damaged');
    expect(await open({ model: undefined })).toContain('names no model');
    expect(await make({ domain: deskDomain(), folder }, settings)).toContain('no screens');
  }, 60_000);
});

describe('a dialog that is open', () => {
  const menu = screen('Add it.', {
    1: { role: 'RootWebArea', name: 'Books', children: ['2'] },
    2: { role: 'link', name: 'Add', children: [] },
  });
  const call: CallSpec = { name: 'click', arguments: { bid: '2' } };
  const operations = [
    { op: 'replace', path: '/elements/1/children', value: ['2', '3'] },
    { op: 'add', path: '/elements/3', value: { role: 'dialog', name: 'Add', children: [] } },
    { op: 'add', path: '/history/-', value: "click('2')" },
  ] as const;

  it('is not opened by a record a second time, as it may well cover what opened it', () => {
    const step = { ...call, operations, isError: false, observation: '' };
    const walks = { openings: { t: menu }, walks: [{ episode: 'e', task: 't', family: 'f', steps: [step] }] };
    const contents = { walks, calibration: { from: [], right: [], answers: 0 }, exactness: 1, domain: 'books' };
    const model = new LiftedModel(contents as never);
    const asked = (state: ScreenState) => {
      const task = { id: 't', family: 'f', user: { goal: '' }, verifier: {}, initialOperations: [] };
      const domain = { initialState: state } as unknown as ToolsDomain;
      return model.predict({ ...{ domain, task, state, messages: [] }, call: { id: 'c', ...call }, step: 0, seed: 1 });
    };
    expect(asked(menu)).toMatchObject({ isError: false });
    const open = applyOperations(menu, operations) as ScreenState;
    expect(asked(open)).toEqual({ declined: expect.stringContaining('"Add", which is open') });
  });
});
