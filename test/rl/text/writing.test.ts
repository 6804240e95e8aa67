// A decoder that writes its calls: whatever it writes can be called, its log-probabilities are those of training to the byte, and it learns
// to write what it is shown.

import { afterAll, describe, expect, it } from 'vitest';
import { playTexts } from '../../../src/algorithms/index.js';
import { Rng } from '../../../src/core/rng.js';
import {
  callChecks,
  loadDomain,
  rulesResponder,
  ScriptedUser,
  type ToolSpec,
  ToolsEpisodeEnvironment,
} from '../../../src/env/index.js';
import { type TextLearner, type TextLesson, type TextSituation, textNetworks } from '../../../src/rl/index.js';
import { ChoicesEnvironment, WrittenActions } from '../../../src/synth/index.js';
import { PLAIN, smallDecoder } from './attic-training.js';

const open: TextLearner[] = [];
afterAll(async () => {
  for (const learner of open) await learner.close();
});

async function writer(seed: number, objective = PLAIN, given = {}): Promise<TextLearner> {
  const sizes = { hidden: 16, layers: 1, heads: 2, kvHeads: 1, context: 256, vocabulary: 300, written: 90 };
  const learner = await smallDecoder(seed, objective, { ...sizes, ...given });
  open.push(learner);
  return learner;
}

const tools: ToolSpec[] = [
  {
    ...{ name: 'unlock', description: '', kind: 'write' },
    parameters: {
      properties: { door: { enum: ['front', 'back'] }, who: { $ref: '#/$defs/user' }, times: { type: 'integer' } },
      required: ['door', 'who'],
      $defs: { user: { type: 'string', pattern: '^USR-\\d+$' } },
    },
  },
];
const forms = new WrittenActions(tools);
const situation = (goal: string): TextSituation => {
  const { admissible, schema } = forms.offer();
  return { goal, text: 'Hello.', turns: [], admissible, schema };
};
/** As an episode keeps what was written. */
const lessonOf = (goal: string, text: string, more: Partial<TextLesson> = {}): TextLesson => {
  return { situation: { ...situation(goal), admissible: [text] }, choice: 0, ...more };
};

describe('actions that are written', () => {
  it('are texts in the order of the schema, and read as they were', () => {
    const call = { name: 'unlock', arguments: { who: 'USR-1', door: 'back' } };
    const text = forms.textOf({ content: null, call });
    expect(text).toBe('{"name":"unlock","arguments":{"door":"back","who":"USR-1"}}');
    const { actionOf } = forms.offer();
    expect(actionOf(text)).toEqual({ content: null, call });
    expect(actionOf(forms.textOf({ content: 'Done.' }))).toEqual({ content: 'Done.' });
    expect([forms.kindOf(text), forms.kindOf('{"say":"x"}')]).toEqual(['unlock', 'say']);
    for (const text of ['', '[]', '{"name":"unlock"}', '{"name":"unlock","arguments":[]}', 'null'])
      expect(actionOf(text)).toBeUndefined();
  });
});

describe('a decoder that writes', () => {
  it('writes calls that tools accept, and has in training, and as its own reference, their log-probabilities to the byte', async () => {
    const domain = await loadDomain('packs/helpdesk');
    const responder = rulesResponder(domain);
    const environments = Array.from({ length: 4 }, () => {
      const parts = { id: 'desk', domain, responder, user: new ScriptedUser(), maxSteps: 2 };
      return new ChoicesEnvironment(new ToolsEpisodeEnvironment(parts), new WrittenActions(domain.tools));
    });
    const learner = await writer(1, { ...PLAIN, klCoefficient: 0.1, valueCoefficient: 0.5 }, { written: 110 });
    const starts = environments.map((_, i) => ({ task: domain.tasks[i].id, seed: i, rng: Rng.fromSeed(i) }));
    const played = await playTexts(learner.policy, starts, { environments });
    const steps = played.flatMap((episode) => episode.steps);
    const calls = played.flatMap(({ messages }) =>
      messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : [])),
    );
    expect(calls.length).toBeGreaterThan(2);
    for (const call of calls) expect(callChecks(domain.tools).problems(call)).toEqual([]);
    expect(steps.every(({ kind, written }) => written!.text.includes(kind))).toBe(true);

    const lessons = steps.map(({ situation, choice, logProb, terms, written, value = 0 }, i): TextLesson => {
      const advantage = i % 2 === 0 ? 1 : -1;
      return { situation, choice, logProb, terms, tokens: written!.tokens, advantage, target: value };
    });
    const same = await learner.update(lessons, { lr: 1e-12 });
    expect(same).toMatchObject({ kl: 0, referenceKl: 0, clipFraction: 0, valueError: 0 });
    const off = lessons.map((lesson) => ({ ...lesson, terms: lesson.terms!.map((term) => term + 1e-3) }));
    expect((await learner.update(off, { lr: 1e-12 })).kl).toBeGreaterThan(1e-7);
  });

  it('writes alike in any company, and again from a checkpoint', async () => {
    const learner = await writer(2);
    const situations = Array.from({ length: 5 }, (_, i) => situation(`Task ${i}`));
    const draws = situations.map((_, i) => (i + 0.5) / 5);
    const together = await learner.policy.decide(situations, draws);
    expect(await learner.policy.decide([situations[3]], [draws[3]])).toEqual([together[3]]);
    expect(new Set(together.map(({ written }) => written!.text)).size).toBe(5);
    const { meta, arrays } = learner.state();
    const { keptSchema, make } = textNetworks.get('decoder');
    const settings = keptSchema!.parse(JSON.parse(JSON.stringify(meta.settings)));
    const again = await (await make())(settings as never, PLAIN, Rng.fromSeed(9));
    open.push(again);
    again.restore({ meta, arrays });
    expect(again.policy.writes).toBe(true);
    expect(await again.policy.decide(situations, draws)).toEqual(together);
  });

  it('learns to write what it is shown', async () => {
    const shown = [
      lessonOf('Open the front for USR-12!', '{"name":"unlock","arguments":{"door":"front","who":"USR-12"}}'),
      lessonOf('Say hello!', '{"say":"Hello to you."}'),
    ];
    const learner = await writer(3, PLAIN, { hidden: 32, rows: 1 });
    learner.prepare!(shown.map(({ situation }) => situation));
    for (let pass = 0; pass < 30; pass++) await learner.update(shown, { lr: 2e-2 });
    const decisions = await learner.policy.decide(shown.map(({ situation }) => situation));
    expect(decisions.map(({ written }) => written!.text)).toEqual(
      shown.map(({ situation }) => situation.admissible[0]),
    );
  });

  it('refuses what cannot be written', async () => {
    const unfit = (problem: RegExp) => ({ code: 'TEXT_WRITING_UNFIT', message: expect.stringMatching(problem) });
    const short = await writer(4, PLAIN, { written: 30 });
    await expect(short.policy.decide([situation('x')])).rejects.toMatchObject(
      unfit(/takes \d+ tokens, and it says 30/),
    );
    const long = await writer(4, PLAIN, { written: 300 });
    await expect(long.policy.decide([situation('x')])).rejects.toMatchObject(unfit(/context of 256 tokens holds/));
    const learner = await writer(4);
    const taught = (text: string) => learner.update([lessonOf('x', text)], { lr: 1e-3 });
    await expect(taught('{"name":"unlock","arguments":{}}')).rejects.toMatchObject(unfit(/not allowed by the schemas/));
    await expect(taught(`{"say":"${'long '.repeat(40)}"}`)).rejects.toMatchObject(unfit(/takes \d+ tokens/));
  });
});
