// The audit finds how wrong a judge is; no other judge, domain or worse one gets past it.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Judge } from '../../../src/worldmodel/reward/judge.js';
import { auditJudge, readLabelledEpisodes, requireAudited } from '../../../src/worldmodel/reward/judge-audit.js';
import { nativeDomain, scenarioFolder } from '../../controlled/native-domain.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { DoubleModel, truthfulModel, verdict } from './judge-models.js';

const domain = await nativeDomain('helpdesk');
const labelled = await readLabelledEpisodes(join(scenarioFolder('helpdesk'), 'labelled'), domain);
const folder = temporaryFolder('audit');

const one = { votes: 1, audit: { repeats: 1 } } as const;

describe('labelled episodes', () => {
  it.each([
    ['a task that does not exist', { task: 'nothing' }, 'there is no task "nothing"'],
    ['the same id twice', { id: 'audit-1' }, 'the id "audit-1" was there before'],
  ])('with %s are an error that names the line', async (_, changes, problem) => {
    const messages = [{ role: 'assistant', content: 'Hello.' }];
    const good = { id: 'audit-1', task: domain.tasks[0].id, messages, success: true, reason: 'fine' };
    const path = join(folder, 'bad.jsonl');
    writeFileSync(path, `${JSON.stringify(good)}\n${JSON.stringify({ ...good, id: 'audit-2', ...changes })}\n`);
    const failing = readLabelledEpisodes(path, domain);
    await expect(failing).rejects.toMatchObject({ code: 'FILE_INVALID' });
    await expect(failing).rejects.toThrow('line 2');
    await expect(failing).rejects.toThrow(problem);
  });
});

describe('an audit', () => {
  it('finds nothing wrong with a judge that knows the truth', async () => {
    const judge = new Judge(truthfulModel(domain), one);
    const report = await auditJudge(judge, domain, labelled);
    expect(report.worst).toEqual([]);
    expect(report).toMatchObject({
      judge: judge.version,
      falsePositive: { count: 0, of: 26 },
      falseNegative: { count: 0 },
    });
    expect(report.falsePositive.high).toBeCloseTo(0.129, 3);
    expect(report.cost.calls).toBe(52);
    requireAudited(judge, domain, report);
  });

  it('finds a judge that passes everything, and whom it was surest of', async () => {
    const judge = new Judge(new DoubleModel('yes', (request) => verdict(request, true)), one);
    const report = await auditJudge(judge, domain, labelled);
    expect(report.falsePositive).toMatchObject({ value: 1, count: 26, of: 26 });
    expect(report.falseNegative).toMatchObject({ value: 0, count: 0, of: 26 });
    expect(report.worst[0]).toMatchObject({ error: 'false positive' });
    expect(() => requireAudited(judge, domain, report)).toThrow('falsePositive 26 of 26');
  });

  it('measures what errors a judge makes, and how often it changes its mind', async () => {
    const judge = new Judge(truthfulModel(domain, { rewardError: 0.25 }), { votes: 1, audit: { repeats: 3 } });
    const report = await auditJudge(judge, domain, labelled, { seed: 5 });
    const wrong = report.falsePositive.count + report.falseNegative.count;
    // 52 episodes, one in four wrong: 13 expected, 3.1 standard deviation.
    expect(wrong).toBeGreaterThan(3);
    expect(wrong).toBeLessThan(24);
    // Three draws agree with probability 0.75^3 + 0.25^3 = 0.44.
    expect(report.flip.value).toBeGreaterThan(0.3);
    expect(report.flip.value).toBeLessThan(0.8);
    const again = await auditJudge(judge, domain, labelled, { seed: 5 });
    expect(again).toEqual(report);
  });
});

describe('the gate', () => {
  const gate = async () => {
    const judge = new Judge(truthfulModel(domain), one);
    return { judge, report: await auditJudge(judge, domain, labelled) };
  };

  it('is shut without an audit, to another judge, on another domain, and after the policy changed', async () => {
    const { judge, report } = await gate();
    const other = new Judge(truthfulModel(domain), { ...one, votes: 3 });
    const unaudited = expect.objectContaining({ code: 'JUDGE_UNRELIABLE' });
    expect(() => requireAudited(judge, domain, undefined)).toThrow(unaudited);
    expect(() => requireAudited(other, domain, report)).toThrow(unaudited);
    expect(() => requireAudited(judge, { ...domain, id: 'other' }, report)).toThrow(unaudited);
    expect(() => requireAudited(judge, { ...domain, policy: 'Anything goes.' }, report)).toThrow(unaudited);
    requireAudited(judge, { ...domain, tasks: [] }, report);
  });
});
