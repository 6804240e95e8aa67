// What a fit tells a person: whether the model is any good, why not, what more records would bring, and what to do next.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Report } from '../../../src/core/report.js';
import { ReplayBuffer } from '../../../src/replay/buffer.js';
import type { JobResult } from '../../../src/run/job.js';
import { launch } from '../../../src/run/launch.js';
import { readMetrics } from '../../../src/run/metrics.js';
import type { FitResult } from '../../../src/run/pipeline/fit.js';
import { terminalText } from '../../../src/run/report.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { recordingStream } from '../streams.js';

const folder = temporaryFolder('fit');
beforeAll(async () => {
  await run('collect', ['collect.steps=600']);
});

const at = (...path: string[]) => join(folder, ...path);

/** Of the last run. */
let shown = '';
const stream = recordingStream();

function run(job: 'collect' | 'fit' | 'synth', set: readonly string[], out: string = job): Promise<JobResult> {
  const inputs = {
    ...(job !== 'collect' && { data: at('collect') }),
    ...(job === 'synth' && { model: at('good') }),
  };
  const given = { scenario: 'pendulum', seed: 1, stream, command: `reverie ${job}` };
  const onReport = (report: Report) => {
    shown = terminalText(report);
  };
  return launch<JobResult>(job, { ...given, set: [...set], inputs, out: at(out), onReport });
}

const fitted = (set: readonly string[], out: string) =>
  run('fit', ['model.members=3', 'model.elites=2', ...set], out) as Promise<FitResult>;

describe('a fit', () => {
  it('says that a good model is worth dreaming in, and what to do next', async () => {
    const result = await fitted(['model.hidden=[32, 32]'], 'good');
    const verdict = result.verdict!;
    expect(verdict.isWorthDreaming).toBe(true);
    expect(verdict.next).toMatch(/^reverie synth --model .*good.* --data /);
    expect(existsSync(result.report!)).toBe(true);
    const events = readMetrics(at('good', 'metrics.jsonl'));
    expect(events.filter(({ kind }) => kind === 'epoch').length).toBeGreaterThan(3);
    expect(events.at(-1)).toMatchObject({ kind: 'fit', verdict: { isWorthDreaming: true } });
    expect(shown).toMatch(/verdict +worth dreaming in: held out, the model explains \d+/);
  });

  it('is simulated as far as its rollouts stay near the records', async () => {
    const { transitions } = (await run('synth', [
      'rollout.horizon=auto',
      'synth.starts=20',
      'synth.export=[]',
    ])) as JobResult & {
      transitions: number;
    };
    expect(transitions).toBeGreaterThan(0);
    expect(stream.text()).toMatch(/\d+ simulated steps \(.*real.*\), a limit of disagreement of /);
  });

  it('is as confident of whole episodes as its members agree', async () => {
    await run('synth', ['synth.episodes=true', 'synth.starts=2', 'synth.export=[]'], 'whole');
    const { confidence } = (await ReplayBuffer.load(at('whole', 'data'))).columns();
    expect(confidence.some((one) => one < 1)).toBe(true);
    expect(confidence.every((one) => one > 0 && one <= 1)).toBe(true);
  });

  it('says why a bad one is not, and what to do about it', async () => {
    const result = await fitted(['model.hidden=[4]', 'model.maxEpochs=1', 'model.lr=0.00001'], 'bad');
    const verdict = result.verdict!;
    expect(verdict.isWorthDreaming).toBe(false);
    expect(verdict.next).toMatch(/--set model.maxEpochs=4$/);
    expect(shown).toMatch(/verdict +not worth dreaming in: /);
  });
});
