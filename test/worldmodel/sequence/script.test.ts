// Texts with slots in the place of names, questions and answers in words, and confidence from probabilities.

import { describe, expect, it } from 'vitest';
import { initialStateOf } from '../../../src/env/tools/situation.js';
import { calibrate, confidenceOf } from '../../../src/worldmodel/from-records.js';
import { recordedSteps, worldOf } from '../../../src/worldmodel/sequence/recorded-steps.js';
import { Names, type Piece, readText, written } from '../../../src/worldmodel/sequence/script.js';
import { factsOf, objectTypes, StepForm } from '../../../src/worldmodel/sequence/step-form.js';
import { depot } from '../../games/depot.js';
import { depotEpisodes } from './depot-records.js';

const shown = (pieces: readonly Piece[]) =>
  pieces.map((one) => ('text' in one ? one.text : 'slot' in one ? `<${one.slot}>` : `[${one.mark}]`)).join('');

describe('texts with slots', () => {
  const split = (text: string) => {
    const objects = text.match(/box \d+/g) ?? [];
    return { between: text.split(/box \d+/), objects };
  };

  it.each([
    'You see a box 1, and a box 2.',
    'box 1',
    ' box 1 and(box 2)box 1',
    'box 1 box 2',
    'a box 9 without a slot, a  box 1 after two spaces',
    '',
    'nothing',
  ])('are read as they were written: "%s"', (text) => {
    const names = new Names();
    for (const name of ['box 2', 'box 1']) names.assign(name);
    const pieces = written(text, split, names);
    expect(readText(pieces, names)).toBe(text);
    expect(shown(pieces)).not.toContain('box 1');
  });
});

describe('questions and answers', () => {
  const domain = depot(['one']);
  const steps = [...recordedSteps(depotEpisodes(domain, [1, 2], 30), domain)];
  const types = objectTypes(steps.map(({ question: { world } }) => ({ scene: world.scene!, facts: factsOf(world) })));
  const form = new StepForm(types);

  it('show the facts around what the action names, and nothing of the rest', () => {
    const state = initialStateOf(domain, domain.tasks[0]);
    const world = worldOf(domain, state);
    const call = { name: 'act', arguments: { text: 'take apple from chest' } };
    const { pieces, names } = form.ask({ call, goal: '', world });
    expect(Array.from({ length: 7 }, (_, slot) => names.nameOf(slot))).toEqual([
      'apple',
      'chest',
      'robby',
      'hall',
      'cellar',
      'shelf',
      undefined,
    ]);
    expect(shown(pieces)).toBe(
      '[call]act: take<0> from<1>[goal][facts] at<2><3> in<0><1> lidded<1> light<0> linked<3><4><4><3> stands<1><3><5><3>[answer]',
    );
  });

  it('are read as they were written, for every recorded step', () => {
    for (const { question, answer } of steps) {
      const asked = form.ask(question);
      const read = form.read(form.answer(answer, asked)!, asked);
      const sorted = (one: typeof answer) => ({ ...one, operations: one.operations.map((op) => op.path).sort() });
      expect(typeof read).toBe('object');
      expect(sorted(read as typeof answer)).toEqual(sorted(answer));
    }
  });

  it('say why an answer cannot be read', () => {
    const asked = form.ask(steps[0].question);
    expect(form.read([], asked)).toMatch(/does not say whether/);
    expect(form.read([{ mark: 'done' }, { mark: 'says' }, { text: 'You' }], asked)).toMatch(/breaks off/);
    const nowhere: Piece[] = [{ mark: 'done' }, { mark: 'says' }, { slot: 60 }, { mark: 'goes-on' }];
    expect(form.read(nowhere, asked)).toMatch(/no name here/);
  });
});

it('calibration never falls as answers grow more probable, and is near the share of right ones', () => {
  const answers = Array.from({ length: 400 }, (_, i) => ({ logProb: -i / 40, isRight: (i * 7) % 400 > i }));
  const calibration = calibrate(answers);
  const told = [-9, -5, -1, -0.01].map((logProb) => confidenceOf(calibration, logProb));
  expect([...told].sort((a, b) => a - b)).toEqual(told);
  expect(told[0]).toBeLessThan(0.25);
  expect(told.at(-1)).toBeGreaterThan(0.9);
  const mean = answers.reduce((sum, { logProb }) => sum + confidenceOf(calibration, logProb), 0) / answers.length;
  expect(mean).toBeCloseTo(answers.filter(({ isRight }) => isRight).length / answers.length, 1);
});
