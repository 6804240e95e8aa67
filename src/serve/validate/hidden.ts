// What only the owner of a scenario knows of its tasks, for the checks that compare it with what clients see.

import type { ToolsTask } from '../../env/index.js';
import type { JsonObject } from '../../json.js';
import type { AnyScenario, Servable } from '../../run/index.js';
import { sayToolOf } from '../facades/say-tool.js';
import { callOf } from './policies.js';
import type { Hidden } from './validate-contract.js';

/** A text this short stands in an observation by chance. */
const TELLING = 20;

export function hiddenOf(scenario: AnyScenario, served: Servable, environment: Hidden['environment']): Hidden {
  const tasks = served.domain?.tasks ?? [];
  return {
    solutions: new Map(tasks.flatMap((task) => solutionOf(task, served))),
    secrets: tasks.flatMap(secretsOf).filter(({ text }) => text.length >= TELLING),
    calls: tasks
      .flatMap(({ reference }) => reference?.calls ?? [])
      .flatMap(({ arguments: given }) => {
        return Object.keys(given).length > 1 ? [given] : [];
      }),
    judge: judgeOf(scenario),
    environment,
  };
}

function solutionOf(task: ToolsTask, served: Servable): [string, readonly JsonObject[]][] {
  const { id, reference } = task;
  if (reference === undefined) return [];
  const { calls, say } = reference;
  if (served.family === 'text') return [[id, calls.map(({ arguments: given }) => ({ message: given['text'] }))]];
  const said = say === undefined ? [] : [callOf(sayToolOf(served).name, { content: say })];
  return [[id, [...calls.map(({ name, arguments: given }) => callOf(name, given)), ...said]]];
}

function secretsOf({ id, user, verifier, reference }: ToolsTask): { what: string; text: string }[] {
  const of = (what: string, texts: readonly (string | undefined)[]) =>
    texts.flatMap((text) =>
      text === undefined || text === user.opening ? [] : [{ what: `${what} of task "${id}"`, text }],
    );
  return [
    ...of('the hidden goal', [user.goal]),
    ...of('what the reference says', [reference?.say]),
    ...of('the rubric', verifier.rubric ?? []),
  ];
}

function judgeOf({ family, config }: AnyScenario): Hidden['judge'] {
  if (family !== 'tools' || config.reward.judge === null || config.llm === null) return null;
  const { votes, temperature } = config.reward.judge;
  const llm = { ...config.llm, ...config.roles.judge } as { provider: string; model?: unknown };
  return { model: String(llm.model ?? llm.provider), parameters: `${votes} votes at temperature ${temperature}` };
}
