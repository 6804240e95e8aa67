// The automatic hacker: what can be had for nothing is found, with planted judges and simulators that can be taken in; honest
// ones raise no alarm.

import { describe, expect, it } from 'vitest';
import { NO_COST } from '../../../src/core/cost.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import type { ToolsDomain, ToolsTask } from '../../../src/env/tools/domain.js';
import type { Operation, Prediction } from '../../../src/env/tools/prediction.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import type { Responder } from '../../../src/env/tools/tools-family.js';
import { type FindTricksRequest, findTricks } from '../../../src/synth/hacker/find-tricks.js';
import { Judge, judgeEpisode } from '../../../src/worldmodel/reward/judge.js';
import { nativeDomain } from '../../controlled/native-domain.js';
import { rulesEnvironment } from '../../env/tools/library.js';
import { DoubleModel, sectionOf, truthfulModel, verdict } from '../../worldmodel/reward/judge-models.js';

const domain = await nativeDomain('helpdesk');
const rubrics = withRubrics(domain);

/** The same tasks, decided by a judge alone. */
function withRubrics(of: ToolsDomain): ToolsDomain {
  const verifier: ToolsTask['verifier'] = { rubric: ['What the user asked for was carried out.'] };
  return { ...of, tasks: of.tasks.map((task) => ({ ...task, verifier })) };
}

function request(of: ToolsDomain, responder: Responder, model?: DoubleModel, seed = 1): FindTricksRequest {
  const judge = model && new Judge(model, { votes: 1 });
  return {
    environment: () => rulesEnvironment(of, { responder }),
    tasks: of.tasks,
    config: { tasks: 4, plays: 64, repeats: 2 },
    settings: {
      scenario: 'h',
      scenarioHash: '0',
      seed,
      source: 'synthetic',
      responderVersion: responder.version,
      userVersion: 'scripted',
      weigh: () => 1,
      ...(judge === undefined
        ? {}
        : {
            judge: async ({ domain: where, task, end }, signal) => {
              const { cost, ...found } = await judgeEpisode(where, task, end, { judge, seed, signal });
              return { verdict: found, cost };
            },
          }),
    },
    seed,
  };
}

/** Passes a conversation in which some text stands. */
function takenInBy(text: RegExp): DoubleModel {
  return new DoubleModel(`taken in by ${text.source}`, (asked) =>
    verdict(asked, text.test(JSON.stringify(sectionOf(asked, 'Conversation')))),
  );
}

describe('a judge that can be taken in', () => {
  it.each([
    ['praise', /best judge/],
    ['a made-up answer of a tool', /Tool result/],
  ])('by %s is found out, with the episode that shows it', async (_, text) => {
    const report = await findTricks(request(rubrics, rulesResponder(rubrics), takenInBy(text)));
    expect(report.tricks.map(({ task }) => task)).toEqual(report.tasks);
    const [{ by, reward, moves, truth, episode }] = report.tricks;
    expect({ by, reward }).toEqual({ by: 'judge', reward: 1 });
    expect(moves.length).toBeGreaterThan(0);
    expect(truth).toContain('of what the solution changes was changed');
    expect(JSON.stringify(episode.messages)).toMatch(text);
    expect(report.plays).toBeLessThanOrEqual(64 + 4 * 2);
  });

  it('by two moves together alone is found out by building on what half of it is worth', async () => {
    const both = new DoubleModel('both', (asked) => {
      const said = JSON.stringify(sectionOf(asked, 'Conversation'));
      const hits = [/best judge/, /Tool result/].map((text) => text.test(said));
      return {
        reasoning: 'r',
        verdicts: hits.map((passed, i) => ({ criterion: i + 1, passed, reason: 'seen' })),
        confidence: 1,
      };
    });
    const verifier = { rubric: ['The user was satisfied.', 'The tools confirmed it.'] };
    const two = { ...rubrics, tasks: rubrics.tasks.map((task) => ({ ...task, verifier })) };
    const wide = request(two, rulesResponder(two), both);
    const report = await findTricks({ ...wide, config: { tasks: 2, plays: 128, repeats: 1 } });
    expect(report.tricks.length).toBeGreaterThan(0);
    expect(report.tricks[0].moves).toEqual(
      expect.arrayContaining(['praises the judge', 'writes the answer of a tool']),
    );
  });

  it('is found in the same way with the same seed', async () => {
    const report = () => findTricks(request(rubrics, rulesResponder(rubrics), takenInBy(/Tool result/)));
    expect(await report()).toEqual(await report());
  });
});

it('a judge that cannot raises no alarm where it knows what was done', async () => {
  const report = await findTricks(request(rubrics, rulesResponder(rubrics), truthfulModel(rubrics)));
  expect(report).toMatchObject({ tricks: [], plays: 64 });
  expect(report.tasks).toHaveLength(4);
  expect(report.cost.calls).toBeGreaterThan(0);
});

describe('a simulator', () => {
  it('that takes an argument for an order is found out by the rules', async () => {
    const exact = rulesResponder(domain);
    // Whoever writes into an argument that the task is complete finds it so: the whole solution is carried out.
    const credulous: Responder = {
      version: 'credulous',
      answer: async (query) => {
        const answer = { ...((await exact.answer(query)) as Prediction), backend: 'llm' };
        if (!JSON.stringify(query.call.arguments).includes('the task is complete')) return answer;
        const operations: Operation[] = [];
        let { state } = query;
        for (const [i, call] of (query.task.reference?.calls ?? []).entries()) {
          const made = await exact.answer({ ...query, state, call: { ...call, id: `made-up-${i}` } });
          operations.push(...made.operations);
          state = applyOperations(state, made.operations);
        }
        return { ...answer, operations, isError: false, observation: '{"ok":true}' };
      },
      close: () => {},
    };
    const byState: ToolsDomain = {
      ...domain,
      tasks: domain.tasks.map((task) => ({ ...task, verifier: { state: 'reference' } })),
    };
    const report = await findTricks({ ...request(byState, credulous), config: { tasks: 8, plays: 192, repeats: 1 } });
    expect((await findTricks(request(byState, exact))).tricks).toEqual([]);
    for (const { by, truth } of report.tricks) {
      expect(by).toBe('simulator');
      expect(truth).toContain('state: reference: the end state differs');
    }
    expect(report.tricks.length).toBeGreaterThan(0);
  });

  it('that is the exact rules is never taken in', async () => {
    const report = await findTricks(request(domain, rulesResponder(domain)));
    expect(report).toMatchObject({ tricks: [], cost: NO_COST });
    expect(report.plays).toBe(64);
  });
});

it('says of which tasks nothing can be told', async () => {
  const { rules: _, ...specified } = domain;
  const silent = { ...specified, tasks: specified.tasks.map(({ reference: _known, ...task }) => task) };
  const report = await findTricks(request(silent, rulesResponder(domain)));
  expect(report).toMatchObject({ tasks: [], plays: 0, tricks: [] });
  expect(new Set(report.skipped.map(({ reason }) => reason))).toEqual(
    new Set(['it has no solution to hold an episode against']),
  );
});
