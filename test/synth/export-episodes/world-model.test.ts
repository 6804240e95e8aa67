// The export `world-model`: the prompts of the backend `llm`, and replies that it reads as the recorded answers.

import { beforeEach, expect, it } from 'vitest';
import type { Json } from '../../../src/core/canonical-json.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import { stateHash } from '../../../src/env/state/state.js';
import type { ChatRequest, LanguageModel } from '../../../src/llm/language-model.js';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { ExperienceStore } from '../../../src/replay/experience/store.js';
import { answeredCalls } from '../../../src/synth/export/episodes/world-model.js';
import { llmSection } from '../../../src/worldmodel/llm/entry.js';
import { LlmStepModel, type LlmStepOptions } from '../../../src/worldmodel/llm/step-model.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { NO_COST, parcelDomain, parcelTask, type RecordSpec, record } from '../episode-records.js';
import { exported, jsonLines } from './exported.js';

let folder: string;
beforeEach(() => {
  folder = temporaryFolder('world-model');
});

const domain = parcelDomain({ tasks: [parcelTask('move')] });
const [{ id: task }] = domain.tasks;

/** With the hashes after its operations. */
function recorded(spec: RecordSpec = {}): EpisodeRecord {
  const made = record({ task, source: 'real', ...spec });
  let state = domain.initialState;
  const steps = made.steps.map((step) => {
    for (const { operations } of step.predictions) state = applyOperations(state, operations);
    return { ...step, stateHash: stateHash(state) };
  });
  return { ...made, steps };
}

/** A served model that answers each prompt as the rows say. */
function trained(rows: readonly { prompt: Json; completion: [{ content: string }] }[]): LanguageModel {
  return {
    version: 'trained',
    chat: async ({ messages }: ChatRequest) => {
      const row = rows.find(({ prompt }) => JSON.stringify(prompt) === JSON.stringify(messages));
      if (row === undefined) throw new Error('it was never shown this prompt');
      const text = row.completion[0].content;
      const reply = { text, json: JSON.parse(text) as Json, toolCalls: [], finishReason: 'stop' as const };
      return { ...reply, model: 'trained', usage: NO_COST, cached: false };
    },
    close: async () => {},
  };
}

it.each(['full', 'short'])(
  'a model that learned the rows comes back as the backend, instructions %s',
  async (instructions) => {
    const settings = { instructions, retrieval: { k: 2 } };
    const episode = recorded();
    const { tables } = await exported(folder, 'world-model', [episode, recorded()], { domain, world: { settings } });
    // The second episode has the same prompts.
    expect(tables).toEqual({ prompt_completion: 2, openai: 2 });
    const rows = jsonLines(folder, 'data/prompt_completion/train-00000-of-00001.jsonl');
    const [openAi] = jsonLines(folder, 'data/openai/train-00000-of-00001.jsonl');
    expect(openAi.messages).toEqual([...rows[0].prompt, ...rows[0].completion]);
    const system = rows[0].prompt[0].content;
    expect(system.includes(domain.policy)).toBe(instructions === 'full');
    const options = llmSection.parse(settings) as unknown as LlmStepOptions;
    const model = new LlmStepModel(trained(rows), options);
    for (const { query, prediction } of answeredCalls(episode, domain, domain.tasks[0])) {
      const { operations, observation, isError } = prediction;
      expect(await model.predict(query!, {})).toMatchObject({ operations, observation, isError });
    }
  },
);

it('shows records of other tasks, and never of its own', async () => {
  const index = await ExperienceStore.open();
  const step = { source: 'real', backend: 'real', modelVersion: '', scenario: 's', episode: 'e', row: -1 } as const;
  const known = {
    step: 0,
    history: [],
    isError: false,
    reward: null,
    terminated: false,
    confidence: 1,
    verified: true,
  };
  const get = { name: 'get_parcel', arguments: { parcel_id: 'P100' } };
  for (const [of, observation] of [
    [task, 'the answer itself'],
    ['another', 'what was seen elsewhere'],
  ])
    await index.add([{ ...step, ...known, task: of, call: get, observation }]);
  await exported(folder, 'world-model', [recorded()], { domain, world: { settings: {}, index } });
  const [{ prompt }] = jsonLines(folder, 'data/prompt_completion/train-00000-of-00001.jsonl');
  expect(JSON.stringify(prompt)).toContain('what was seen elsewhere');
  expect(JSON.stringify(prompt)).not.toContain('the answer itself');
});

it('learns no answer that may be false, and none in a state that is not known', async () => {
  const refused = recorded();
  const [first] = refused.steps;
  const withRefusal = { ...first, predictions: [{ ...first.predictions[0], refused: ['it broke a rule'] }] };
  const { tables, adapted } = await exported(
    folder,
    'world-model',
    [
      recorded({ source: 'synthetic', reward: 0 }),
      recorded({ source: 'synthetic', judge: 'a judge' }),
      { ...refused, steps: [withRefusal, ...refused.steps.slice(1)] },
      record({ task, source: 'real' }),
      record({ task: 'unknown' }),
    ],
    { domain },
  );
  expect(tables.prompt_completion).toBe(1);
  expect(adapted).toEqual({
    "calls left out: a model's answer in an episode that was not found right": 2,
    'calls left out: an answer that was refused': 1,
    'calls left out: the state is not known': 1,
    'left out: the task is not known': 1,
  });
});
