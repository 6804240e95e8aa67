// Tasks that a model proposes from the first screen: one is made only of what an agent could do, that shows, and that every judge saw done.

import '../../src/kinds/registry.js';
import { afterAll, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import { graphDomain } from '../../src/screens/graph/graph-domain.js';
import { makeTasks } from '../../src/synth/tasks/make-tasks.js';
import { tasksSchema } from '../../src/synth/tasks/tasks-schema.js';
import { type Plan, SILENT, shopper } from './shopper.js';

const shop = graphDomain('packs/shop/shop.yaml', { seeds: 1, screens: ['find', 'fill-cart'] });
afterAll(() => shop.close());
const seeds = shop.tasks.filter(({ id }) => id === 'find.0');

const TEA: Plan = [
  ['click', 'link', 'All coffee'],
  ['click', 'link', 'Mild coffee'],
  ['click', 'button', 'Add to cart'],
  ['click', 'link', 'Cart \\(1\\)'],
];
const GOAL = 'Put one "Mild coffee" into the cart and open the cart.';
const agree = { walk_verdict: () => ({ reasoning: 'It is in the cart.', done: true }) };
const proposes = (shows: object[], goal = GOAL) => ({ proposed_task: () => ({ reasoning: '', goal, shows }) as never });

async function made(model: ReturnType<typeof shopper> | typeof SILENT, variation: object = {}) {
  const config = tasksSchema.parse({
    variation: { count: 1, strategies: ['propose'], ...variation },
  });
  for await (const task of makeTasks({ domain: shop, config, rng: Rng.fromSeed(1), seeds, model }))
    return task.admission;
  throw new Error('nothing was proposed');
}

it('admits what was found, shows and was agreed on, and verifies it by the screen', async () => {
  const model = shopper(TEA, {
    ...proposes([{ role: 'cell', name: 'Mild coffee' }, { name: 'Total 8.25' }]),
    ...agree,
  });
  const admission = await made(model);
  if (!admission.admitted) throw new Error(JSON.stringify(admission.reasons));
  const { task } = admission;
  expect(task).toMatchObject({ family: 'find', split: 'train', origin: { strategy: 'propose', seeds: ['find.0'] } });
  expect(task.reference!.calls.map(({ name }) => name)).toEqual(['click', 'click', 'click', 'click']);
  expect(task.verifier).toEqual({
    checks: ['shows {"role":"cell","name":"Mild coffee"}', 'shows {"name":"Total 8.25"}'],
  });
  expect(model.asked.filter(({ name }) => name === 'walk_verdict')).toHaveLength(3);
});

it('is told by the whole screen where nothing else tells its end, and then only with judges', async () => {
  const admission = await made(shopper(TEA, { ...proposes([]), ...agree }));
  expect(admission).toMatchObject({
    admitted: true,
    task: { verifier: { checks: [expect.stringMatching(/^screen \w{64}$/)] } },
  });
  const unjudged = await made(shopper(TEA, proposes([])), { judges: 0 });
  expect(unjudged).toMatchObject({
    admitted: false,
    reasons: [{ code: 'reference_fails', detail: expect.stringMatching(/no judge is asked/) }],
  });
});

it.each([
  [
    'does not show what was said',
    shopper(TEA, { ...proposes([{ name: 'Total 3' }]), ...agree }),
    'reference_fails',
    /does not show/,
  ],
  [
    'is not what one of the judges saw',
    shopper(TEA, {
      ...proposes([{ name: 'Total 8.25' }]),
      walk_verdict: (nth) => ({ reasoning: 'Not so.', done: nth !== 2 }),
    }),
    'reference_fails',
    /a judge: Not so/,
  ],
  ['was found by nobody', shopper([], { ...proposes([]), ...agree }), 'reference_fails', /no way was found/],
  ['was not proposed', SILENT, 'bad_reply', /./],
])('makes none where it %s', async (_, model, code, detail) => {
  expect(await made(model)).toMatchObject({
    admitted: false,
    reasons: [{ code, detail: expect.stringMatching(detail) }],
  });
});
