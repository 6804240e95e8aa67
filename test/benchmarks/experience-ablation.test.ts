// The measures of experience.ablation themselves: the truth scores full marks, and each kind of error is seen where it is.

import { beforeAll, describe, expect, it } from 'vitest';
import { controlledName, errorsOfModel } from '../../benchmarks/controlled-name.js';
import { ARMS, type Arm } from '../../benchmarks/experience-ablation-arms.js';
import { liveEpisodes, scoreEpisodes } from '../../benchmarks/experience-ablation-episodes.js';
import { ablationQuestions } from '../../benchmarks/experience-ablation-questions.js';
import { total } from '../../benchmarks/experience-ablation-share.js';
import { scoreSteps } from '../../benchmarks/experience-ablation-steps.js';
import type { ToolsDomain } from '../../src/env/tools/domain.js';
import type { Prediction } from '../../src/env/tools/prediction.js';
import { rulesResponder } from '../../src/env/tools/rules-responder.js';
import type { Responder } from '../../src/env/tools/tools-family.js';
import { changeGroup, type ToolsQuestion } from '../../src/fidelity/tools/question.js';
import { nativeDomain } from '../controlled/native-domain.js';

const OPTIONS = { seed: 1, concurrency: 4 };
const typed = ARMS.find(({ name }) => name === '+typed') as Arm;

let domain: ToolsDomain;
let questions: ToolsQuestion[];
beforeAll(async () => {
  domain = await nativeDomain('helpdesk');
  const heldOut = domain.tasks.filter(({ split }) => split !== 'train').slice(0, 12);
  questions = await ablationQuestions(domain, heldOut, 60);
});

/** The truth, spoilt by `spoil`. */
function spoilt(spoil: (truth: Prediction) => Partial<Prediction>): Responder {
  const rules = rulesResponder(domain);
  return {
    ...rules,
    answer: (query) => {
      const truth = rules.answer(query) as Prediction;
      return { ...truth, ...spoil(truth) };
    },
  };
}

describe('one step', () => {
  it('asks calls of every number of changes, and of changes reads that show them', () => {
    expect(new Set(questions.map(changeGroup))).toEqual(new Set(['0', '1', '2-3', '4+']));
    const shown = questions.filter(({ readBacks }) => readBacks.length > 0);
    expect(shown.length).toBeGreaterThan(8);
    expect(shown.every(({ truth }) => truth.operations!.length > 0)).toBe(true);
  });

  it('gives the truth full marks', async () => {
    const scores = await scoreSteps(typed, rulesResponder(domain), questions, OPTIONS);
    const full = { hits: questions.length, of: questions.length };
    expect(scores).toMatchObject({ observation: full, errorFlag: full, refused: { hits: 0 } });
    expect(total(scores.state)).toEqual(full);
    expect(scores.readBack.all.hits).toBe(scores.readBack.all.of);
  });

  it('sees changes that are forgotten, by state and by reading them back', async () => {
    const forgetful = spoilt(() => ({ operations: [] }));
    const { observation, state, readBack } = await scoreSteps(typed, forgetful, questions, OPTIONS);
    expect(observation.hits).toBe(questions.length);
    expect(state).toMatchObject({ '1': { hits: 0 }, '2-3': { hits: 0 }, '4+': { hits: 0 } });
    expect(state?.['0'].hits).toBe(state?.['0'].of);
    expect(readBack.all.hits).toBe(0);
  });

  it('sees wrong answers, and leaves out what time does not allow', async () => {
    const liar = spoilt(({ isError }) => ({ observation: 'none', isError: !isError }));
    const { observation, errorFlag } = await scoreSteps(typed, liar, questions, OPTIONS);
    expect([observation.hits, errorFlag.hits]).toEqual([0, 0]);
    const late = await scoreSteps(typed, liar, questions, { ...OPTIONS, until: 0 });
    expect(late.observation.of).toBe(0);
  });
});

describe('whole episodes', () => {
  const tasks = () => domain.tasks.filter(({ split }) => split === 'train').slice(0, 10);
  const verified = (lived: Awaited<ReturnType<typeof liveEpisodes>>) =>
    lived.map(({ record }) => record.verdict.reward);

  it('are all true where the truth answers', async () => {
    const lived = await liveEpisodes(domain, rulesResponder(domain), tasks(), OPTIONS);
    const scores = scoreEpisodes(typed, domain, lived, verified(lived));
    expect(scores.endState).toEqual({ hits: 10, of: 10 });
    expect(scores.precision).toEqual(scores.recall);
    expect(scores.precision.hits).toBe(scores.precision.of);
    expect(scores.falseDone.hits).toBe(0);
    expect(scores.yield.hits).toBeGreaterThan(0);
  });

  it('count rewards that were not earned', async () => {
    const lived = await liveEpisodes(domain, rulesResponder(domain), tasks(), OPTIONS);
    const scores = scoreEpisodes(
      typed,
      domain,
      lived,
      lived.map(() => 1),
    );
    expect(scores.falseDone.hits).toBe(scores.falseDone.of);
    expect(scores.falseDone.of).toBeGreaterThan(0);
    expect(scores.precision.of).toBe(10);
    expect(scores.precision.hits).toBeLessThan(10);
  });
});

it('names of controlled models say how they err', () => {
  const errors = { transitionError: 0.1, rewardError: 0.3, seed: 4 };
  expect(errorsOfModel(controlledName(errors))).toEqual(errors);
});
