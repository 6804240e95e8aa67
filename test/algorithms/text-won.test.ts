// Episodes to imitate come back as the choices that they were.

import { expect, it } from 'vitest';
import { playTexts } from '../../src/algorithms/index.js';
import { lessonsOf, wonText } from '../../src/algorithms/text-won.js';
import { Rng } from '../../src/core/rng.js';
import { attic, relevance } from '../rl/text/attic-training.js';

it('an episode that was kept has the situations and choices that were lived', async () => {
  const learner = await relevance(1);
  const starts = [{ task: 'book', seed: 1, rng: Rng.fromSeed(1) }];
  const [played] = await playTexts(learner.policy, starts, { environments: [attic()] });
  const back = lessonsOf(JSON.parse(JSON.stringify(wonText(played))));
  expect(played.steps.length).toBeGreaterThan(3);
  expect(back).toEqual(played.steps.map(({ situation, choice }) => ({ situation, choice })));
  await learner.close();
});
