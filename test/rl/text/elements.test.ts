// The network over elements: the contract of networks on screens whose right action is told by a neighbour, and what it refuses to read.

import { describe, expect, it } from 'vitest';
import { Rng } from '../../../src/core/rng.js';
import { encodeScreen } from '../../../src/rl/text/elements.js';
import type { TextSituation } from '../../../src/rl/text/text-policy.js';
import { learnerOf } from './attic-training.js';
import { networkContract } from './network-contract.js';

const LABELS = ['Name', 'Street', 'Town', 'Phone', 'Mail', 'Age'];

/** Rows of a label and a box that is called nothing: which box is meant, only its neighbour tells. */
function screens(count: number, seed: number): TextSituation[] {
  const rng = Rng.fromSeed(seed);
  return Array.from({ length: count }, () => {
    const labels = [...rng.permutation(LABELS.length)].slice(0, 2 + rng.int(3)).map((i) => LABELS[i]);
    const wanted = labels[rng.int(labels.length)];
    const rows = labels.flatMap((name, i) => [
      [`r${i}`, { role: 'generic', name: '', children: [`l${i}`, `b${i}`] }],
      [`l${i}`, { role: 'LabelText', name, children: [] }],
      [`b${i}`, { role: 'checkbox', name: '', checked: false, children: [] }],
    ]);
    const root = { role: 'RootWebArea', name: 'Form', children: labels.map((_, i) => `r${i}`) };
    const shown = { root: 'root', focused: '', elements: Object.fromEntries([['root', root], ...rows]) };
    const admissible = labels.map((_, i) => `click('b${i}')`);
    return { goal: `Tick the box of ${wanted}.`, text: '', turns: [], admissible, shown };
  });
}

function rightOf({ goal, admissible, shown }: TextSituation): number {
  const { elements } = shown as unknown as { elements: Record<string, { name: string }> };
  return admissible.findIndex((line) =>
    goal.includes(`of ${elements[line.replace("click('b", 'l').slice(0, -2)].name}.`),
  );
}

const settings = { vocabulary: 512, embedding: 8, width: 16, rounds: 2, hidden: [32, 16], rows: 16 };

describe('the network over elements', () => {
  networkContract({
    make: (seed) => learnerOf('elements', settings, seed),
    situations: screens,
    rightOf,
    steps: 10,
  });

  it('reads the tree in its order, and the element that each action names', () => {
    const [situation] = screens(1, 1);
    const said = [{ said: "click('b1')", seen: '' }];
    const read = encodeScreen(
      { ...situation, turns: said, admissible: ["click('b1')", "fill('l0', 'a b')", 'noop()'] },
      512,
    );
    expect([...read.parents.slice(0, 6)]).toEqual([-1, 0, 1, 1, 0, 4]);
    expect([...read.before.slice(0, 6)]).toEqual([-1, -1, -1, 2, 1, -1]);
    expect([...read.after.slice(0, 4)]).toEqual([-1, 4, 3, -1]);
    expect([...read.targets]).toEqual([6, 2, -1]);
    // Said once, just now, and its element was acted on.
    expect([...read.actionCounts.slice(0, 4)]).toEqual([1, 0.25, 1, 1]);
  });

  it('refuses what shows no screen, and one that is too large', () => {
    const [situation] = screens(1, 1);
    const { shown: _shown, ...blind } = situation;
    const error = (problem: string) =>
      expect.objectContaining({ code: 'DOMAIN_UNFIT', message: expect.stringContaining(problem) });
    expect(() => encodeScreen(blind, 512)).toThrow(error('no tree'));
    const children = Array.from({ length: 512 }, (_, i) => `e${i}`);
    const elements = Object.fromEntries(children.map((id) => [id, { role: 'button', name: id, children: [] }]));
    const shown = { root: 'r', focused: '', elements: { ...elements, r: { role: 'generic', name: '', children } } };
    expect(() => encodeScreen({ ...situation, shown }, 512)).toThrow(error('513 elements'));
  });
});
