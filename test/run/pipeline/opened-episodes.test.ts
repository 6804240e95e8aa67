// What a job of tools opened before it failed is closed, and what it had half written is gone.

import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { reverieError } from '../../../src/core/errors.js';
import { ServedModel } from '../../../src/llm/served-model.js';
import { ExperienceStore } from '../../../src/replay/experience/store.js';
import type { JobContext } from '../../../src/run/job.js';
import { launch } from '../../../src/run/launch.js';
import { synthEpisodesJob } from '../../../src/run/pipeline/tools/episodes.js';
import { makeParts } from '../../../src/run/pipeline/tools/rows.js';
import { RowQueue } from '../../../src/run/queue/redis-queue.js';
import { loadToolsScenario, type ToolsScenario } from '../../../src/run/scenario.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { recordingStream } from '../streams.js';

const folder = temporaryFolder('opened-episodes');
const given = { scenario: 'helpdesk', seed: 1, stream: recordingStream(), command: 'reverie', quiet: true };
const QUICK = ['synth.episodes=2', 'experience.logs=[]'];
const LLM = ['provider=openai-compatible', 'url=http://127.0.0.1:9/v1', 'model=m'].map((one) => `llm.${one}`);
const KEYED = [...QUICK, ...LLM, 'roles.agent={apiKeyEnv: REVERIE_TEST_KEY}', 'user.kind=llm', 'agent.kind=llm'];

afterEach(() => void vi.restoreAllMocks());

it('closes the world where a role has no model, and can be begun again in the same folder', async () => {
  const { contexts } = vi.spyOn(ExperienceStore.prototype, 'close').mock;
  for (const worlds of [1, 2]) {
    const job = launch('synth', { ...given, set: KEYED, out: join(folder, 'keyless') });
    await expect(job).rejects.toMatchObject({ code: 'SETTING_INVALID' });
    expect(new Set(contexts).size).toBe(worlds);
  }
});

it('keeps the replies that an earlier process of the run paid for where a role has no model any more', async () => {
  const out = join(folder, 'paid');
  const scenario = await loadToolsScenario('helpdesk', { set: KEYED });
  const parts = () => makeParts({ scenario, out, log: () => {} });
  vi.stubEnv('REVERIE_TEST_KEY', 'sk-1');
  await (await parts()).close();
  vi.unstubAllEnvs();
  await expect(parts()).rejects.toMatchObject({ code: 'SETTING_INVALID' });
  expect(existsSync(join(out, 'cache'))).toBe(true);
});

it('closes its queue and its world though replies cannot be made durable', async () => {
  const queue = { close: vi.fn() };
  vi.spyOn(RowQueue, 'open').mockResolvedValue(queue as never);
  vi.spyOn(ServedModel.prototype, 'close').mockRejectedValue(reverieError('STORAGE_FULL', { path: 'cache' }));
  const world = vi.spyOn(ExperienceStore.prototype, 'close');
  const set = [...QUICK, ...LLM, 'user.kind=llm', 'reward.mustFail.enabled=false', 'reward.mustSucceed.enabled=false'];
  const job = launch('synth', { ...given, set, queue: 'redis://127.0.0.1:9/x', out: join(folder, 'full') });
  await expect(job).rejects.toMatchObject({ code: 'STORAGE_FULL' });
  expect([queue.close.mock.calls.length, world.mock.calls.length]).toEqual([1, 1]);
});

it('leaves no half of a file of episodes where the job fails once all rows are there', async () => {
  const out = join(folder, 'unwritable');
  const synth = (context: JobContext<ToolsScenario>) => {
    // What is to be written there cannot be.
    mkdirSync(join(out, 'deficits.json'));
    return synthEpisodesJob(context);
  };
  const job = launch('synth', { ...given, set: QUICK, out, jobs: { tools: async () => synth } });
  await expect(job).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
  expect(existsSync(join(out, 'data', 'episodes.jsonl.tmp'))).toBe(false);
});
