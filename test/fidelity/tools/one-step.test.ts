// One step of a model whose errors were put in by hand: each metric finds what it is to find, and the others stay clean.

import { describe, expect, it } from 'vitest';
import { reverieError } from '../../../src/core/errors.js';
import type { Prediction } from '../../../src/env/tools/prediction.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import type { Responder } from '../../../src/env/tools/tools-family.js';
import { toolsOneStep } from '../../../src/fidelity/one-step.js';
import type { ToolsQuestion } from '../../../src/fidelity/tools/answers.js';
import { nativeDomain } from '../../controlled/native-domain.js';
import { asked, deskQuestions, findingOf, judgedOf, metricOf } from './desk-questions.js';
import { type WrappedErrors, wrappedRules } from './wrapped-rules.js';

const COUNT = 300;

const domain = await nativeDomain('helpdesk');
const questions = await deskQuestions(domain, COUNT);

function oneStep(errors: WrappedErrors, repeats = 1) {
  return oneStepOf(wrappedRules(domain, errors), repeats);
}

function oneStepOf(responder: Responder, repeats = 1) {
  return findingOf(toolsOneStep(judgedOf({ asked: asked(responder, questions), repeats })));
}

/** Whether the interval holds what was put in. */
function holds({ low, high }: { low: number | null; high: number | null }, value: number): boolean {
  return low !== null && high !== null && low <= value && value <= high;
}

it('questions are different calls of many tasks, with many changes and none, the same every time', async () => {
  expect(questions).toHaveLength(COUNT);
  expect(new Set(questions.map(({ id }) => id)).size).toBe(COUNT);
  const changes = new Set(questions.map(({ truth }) => Math.min(2, truth.operations!.length)));
  expect([...changes].sort()).toEqual([0, 1, 2]);
  const [first, again, other] = [
    await deskQuestions(domain, 40),
    await deskQuestions(domain, 40),
    await deskQuestions(domain, 40, 1),
  ];
  const ids = (some: readonly ToolsQuestion[]) => some.map(({ id }) => id);
  expect(ids(again)).toEqual(ids(first));
  expect(ids(other)).not.toEqual(ids(first));
});

describe('one step', () => {
  it('finds nothing wrong with the real environment', async () => {
    const finding = await oneStepOf(rulesResponder(domain));
    for (const key of ['state-exact', 'observation-exact', 'error-flag', 'all-right'])
      expect(metricOf(finding, key), key).toMatchObject({ value: 1 });
    for (const key of ['state-distance', 'silent-state-error', 'refused', 'unanswered'])
      expect(metricOf(finding, key), key).toMatchObject({ value: 0 });
    expect(finding.section.worst).toEqual([]);
    expect(metricOf(finding, 'sampling-noise').value).toBeNull();
  });

  it('says that answers of the truth itself are right by construction, and only where all are', async () => {
    const rules = rulesResponder(domain);
    const judged = (truthBackend?: string) =>
      findingOf(toolsOneStep(judgedOf({ asked: asked(rules, questions), truthBackend })));
    expect((await judged('real')).section.byConstruction).toContain(`all ${COUNT} answers are by real`);
    expect((await judged('real')).section.notes.join()).toContain('What is worth a gate');
    expect((await judged('rules')).section.byConstruction).toBeUndefined();
    expect((await judged()).section.byConstruction).toBeUndefined();
  });

  it('finds states that are wrong behind feedback that is right', async () => {
    const finding = await oneStep({ state: 0.4 });
    const changing = questions.filter(({ truth }) => truth.operations!.length > 0).length / questions.length;
    expect(holds(metricOf(finding, 'silent-state-error'), 0.4 * changing)).toBe(true);
    expect(holds(metricOf(finding, 'state-exact'), 1 - 0.4 * changing)).toBe(true);
    for (const key of ['observation-exact', 'error-flag']) expect(metricOf(finding, key).value, key).toBe(1);
    const [worst] = finding.section.worst;
    expect(worst.differences).toContainEqual(expect.objectContaining({ path: expect.stringMatching(/WRONG-1/) }));
    expect(worst).toMatchObject({ backend: 'rules', confidence: 1 });
  });

  it('finds observations that are wrong over a state that is right', async () => {
    const finding = await oneStep({ observation: 0.25 });
    expect(holds(metricOf(finding, 'observation-exact'), 0.75)).toBe(true);
    for (const key of ['state-exact', 'error-flag']) expect(metricOf(finding, key).value, key).toBe(1);
    expect(metricOf(finding, 'silent-state-error').value).toBe(0);
  });

  it('finds errors that are none, and none that are errors', async () => {
    const finding = await oneStep({ flag: 0.2 });
    expect(holds(metricOf(finding, 'error-flag'), 0.8)).toBe(true);
    expect(holds(metricOf(finding, 'all-right'), 0.8)).toBe(true);
    for (const key of ['state-exact', 'observation-exact']) expect(metricOf(finding, key).value, key).toBe(1);
  });

  it('knows the noise of sampling from what is wrong every time', async () => {
    const steady = await oneStep({ observation: 0.5 }, 3);
    expect(metricOf(steady, 'sampling-noise').value).toBe(0);
    const noisy = await oneStep({ observation: 0.5, noisy: 1 }, 3);
    // Two answers of which each is wrong half the time differ half the time.
    expect(holds(metricOf(noisy, 'sampling-noise'), 0.5)).toBe(true);
  });

  it('shows beside right states what a model has that refuses every call', async () => {
    const refusing = { operations: [], observation: 'Error: no', isError: true, refused: ['no'] };
    const none: Responder = {
      ...rulesResponder(domain),
      answer: (query) => ({ ...(rulesResponder(domain).answer(query) as Prediction), ...refusing }),
    };
    const finding = await oneStepOf(none);
    const [exact, floor] = ['state-exact', 'state-exact-floor'].map((key) => metricOf(finding, key).value!);
    expect(exact).toBe(floor);
    expect(floor).toBeGreaterThan(0.2);
    expect(metricOf(finding, 'refused').value).toBe(1);
  });

  it('counts what was not answered as that, and as nothing else', async () => {
    const real = rulesResponder(domain);
    let asked = 0;
    const slow: Responder = {
      ...real,
      answer: (query) => {
        if (query.call.name !== 'get_employee') return real.answer(query) as Prediction;
        asked += 1;
        throw reverieError('LLM_TIMEOUT', { url: 'u', tries: 1, problem: 'slow' });
      },
    };
    const finding = await oneStepOf(slow);
    const lost = questions.filter(({ query }) => query.call.name === 'get_employee').length;
    expect(metricOf(finding, 'unanswered').value).toBeCloseTo(lost / questions.length, 12);
    expect(asked).toBeGreaterThanOrEqual(lost);
    expect(metricOf(finding, 'state-exact')).toMatchObject({ value: 1, n: questions.length - lost });
    const away: Responder = {
      ...real,
      answer: () => {
        throw reverieError('LLM_UNREACHABLE', { url: 'u', tries: 1, problem: 'refused' });
      },
    };
    await expect(oneStepOf(away)).rejects.toMatchObject({ code: 'LLM_UNREACHABLE' });
  });
});
