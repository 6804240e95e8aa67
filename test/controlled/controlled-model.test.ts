// The controlled model errs as often as it is told to, in the ways it is told to, and always the same way.

import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/core/canonical-json.js';
import type { CallSpec, ToolsDomain, ToolsTask } from '../../src/env/tools/domain.js';
import { judgeMessages } from '../../src/worldmodel/reward/judge.js';
import type { LlmServerRequestBody } from '../llm-server/llm-server.js';
import { playCalls } from '../packs/own-scenario.js';
import { bodyOf, faultsOf, isLikely, type Question, questionsOf, stepBody } from './asking.js';
import { answerOf, type ControlledOptions } from './controlled-model.js';
import { nativeDomain } from './native-domain.js';
import { Truth } from './truth.js';

let domain: ToolsDomain;
let truth: Truth;
let questions: Question[];
beforeAll(async () => {
  domain = await nativeDomain('helpdesk');
  truth = new Truth(domain);
  questions = questionsOf(domain);
});

const SEEDS = 3;

/** Prompts are made once; the seed is all that differs. */
const bodies = new Map<string, LlmServerRequestBody>();

function body(question: Question, mode: 'typed' | 'text', seed: number): LlmServerRequestBody {
  const key = `${mode} ${questions.indexOf(question)}`;
  const made = bodies.get(key) ?? stepBody(domain, question, mode, 0);
  bodies.set(key, made);
  return { ...made, seed };
}

function replies(options: Partial<ControlledOptions>, mode: 'typed' | 'text' = 'typed', seeds = SEEDS) {
  const all = { domain, seed: 5, ...options };
  return Array.from({ length: seeds }, (_, seed) => seed).flatMap((seed) =>
    questions.map((question) => {
      const { text = '' } = answerOf(body(question, mode, seed), truth, all);
      const reply = JSON.parse(text) as JsonObject;
      return { question, reply, wrong: faultsOf(question, reply) };
    }),
  );
}

describe('a controlled model with a state', () => {
  it('tells the truth if it is told to, also where the state is shown in part', () => {
    for (const stateTokens of [1_500, 6_000, 100_000])
      for (const question of questions.filter((_, i) => i % 3 === 0)) {
        const { text = '' } = answerOf(stepBody(domain, question, 'typed', 1, stateTokens), truth, { domain, seed: 5 });
        const at = `${question.task.id}: ${question.call.name}, ${stateTokens} tokens`;
        expect(faultsOf(question, JSON.parse(text)), at).toEqual({ state: false, observation: false });
      }
  });

  it.each([0.02, 0.3])('is wrong in a share of %f of its answers', (transitionError) => {
    const found = replies({ transitionError });
    const wrong = found.filter(({ wrong: { state, observation } }) => state || observation).length;
    expect(isLikely(wrong, found.length, transitionError), `${wrong} of ${found.length}`).toBe(true);
  });

  it('looks right and is wrong in the share of changes that is asked for', () => {
    for (const silentShare of [0.4, 1]) {
      const found = replies({ transitionError: 0.5, silentShare });
      const writes = found.filter(({ question, wrong }) => {
        return question.operations.length > 0 && (wrong.state || wrong.observation);
      });
      const silent = writes.filter(({ wrong }) => !wrong.observation).length;
      expect(isLikely(silent, writes.length, silentShare), `${silent} of ${writes.length}`).toBe(true);
    }
  });

  it('claims a confidence that is right in the share it says', () => {
    const found = replies({ transitionError: 0.25 }, 'typed', 6);
    const bins = [0, 0.6, 0.92, 0.96, 1.01];
    bins.slice(1).forEach((high, i) => {
      const inBin = found.filter(({ reply }) => Number(reply.confidence) >= bins[i] && Number(reply.confidence) < high);
      const mean = inBin.reduce((sum, { reply }) => sum + Number(reply.confidence), 0) / inBin.length;
      const right = inBin.filter(({ wrong }) => !wrong.state && !wrong.observation).length;
      expect(inBin.length).toBeGreaterThan(100);
      expect(isLikely(right, inBin.length, mean), `bin ${i}: ${right} of ${inBin.length}, ${mean}`).toBe(true);
    });
  });

  it('invents entities in the share it is told to', () => {
    const found = replies({ inventedEntities: 0.2 }).filter(({ question }) => !question.isError);
    const invented = found.filter(({ wrong }) => wrong.observation).length;
    expect(isLikely(invented, found.length, 0.2), `${invented} of ${found.length}`).toBe(true);
  });
});

describe('a controlled model without a state', () => {
  it('tells the truth if it is told to', () => {
    expect(replies({}, 'text').filter(({ wrong }) => wrong.observation)).toEqual([]);
  });

  it('shows nothing wrong but what it has forgotten, where all errors are silent', () => {
    const found = replies({ transitionError: 0.5, silentShare: 1 }, 'text');
    const isFirst = ({ task, call }: Question) => task.reference!.calls[0] === call;
    expect(found.filter(({ question, wrong }) => isFirst(question) && wrong.observation)).toEqual([]);
    expect(found.filter(({ wrong }) => wrong.observation).length).toBeGreaterThan(0);
  });
});

describe('a controlled judge', () => {
  const judged = (rewardError: number) =>
    domain.tasks.flatMap((task) =>
      [task.reference!, ...task.failures!].flatMap((ending, i) => {
        const request = bodyOf('verdict', judgePrompt(task, ending) as never, 0);
        return Array.from({ length: SEEDS }, (_, seed) => {
          const { text } = answerOf({ ...request, seed }, truth, { domain, seed: 3, rewardError });
          const { verdicts } = JSON.parse(text!) as { verdicts: { passed: boolean }[] };
          return { isRight: verdicts.every(({ passed }) => passed === (i === 0)), count: verdicts.length };
        });
      }),
    );

  /** The judge's own prompt on the conversation in which these calls are made. */
  function judgePrompt(task: ToolsTask, { calls, say }: { calls: readonly CallSpec[]; say?: string }) {
    const { messages } = playCalls(domain, task, { calls, say });
    const { policy } = domain;
    return judgeMessages({
      policy,
      goal: task.user.goal,
      messages,
      criteria: ['It was done.', 'Rightly so.'],
      seed: 0,
    });
  }

  it('knows success from failure', () => {
    expect(judged(0).filter(({ isRight, count }) => !isRight || count !== 2)).toEqual([]);
  });

  it.each([0.25])('is wrong in a share of %f of its verdicts', (rewardError) => {
    const found = judged(rewardError);
    const wrong = found.filter(({ isRight }) => !isRight).length;
    expect(isLikely(wrong, found.length, rewardError), `${wrong} of ${found.length}`).toBe(true);
  });
});
