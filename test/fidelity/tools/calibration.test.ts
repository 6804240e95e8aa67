// Confidence whose worth is known: found as it was put in.

import { beforeAll, describe, expect, it } from 'vitest';
import type { ToolsDomain } from '../../../src/env/tools/domain.js';
import type { Prediction } from '../../../src/env/tools/prediction.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import type { Responder } from '../../../src/env/tools/tools-family.js';
import { toolsCalibration } from '../../../src/fidelity/calibration.js';
import type { Finding } from '../../../src/fidelity/section.js';
import type { ToolsQuestion } from '../../../src/fidelity/tools/answers.js';
import { nativeDomain } from '../../controlled/native-domain.js';
import { asked, deskQuestions, findingOf, judgedOf, metricOf } from './desk-questions.js';
import { type WrappedErrors, wrappedRules } from './wrapped-rules.js';

let domain: ToolsDomain;
let questions: readonly ToolsQuestion[];
let honest: Finding;
beforeAll(async () => {
  domain = await nativeDomain('helpdesk');
  questions = await deskQuestions(domain, 240);
  honest = await calibration({ observation: 0.3, confidence: (right) => right });
});

function calibration(errors: WrappedErrors) {
  return findingOf(toolsCalibration(judgedOf({ asked: asked(wrappedRules(domain, errors), questions) })));
}

describe('calibration', () => {
  it('finds confidence that is worth its number', () => {
    // Of 240 answers in ten bins, chance alone makes about 0.06.
    expect(metricOf(honest, 'ece').value).toBeLessThan(0.1);
    // Risk r = 0.6 u, u uniform: a wrong answer's u has density 2u, a right one's (1 - 0.6 u) / 0.7.
    const area = (2 / 0.7) * (1 / 3 - 0.3 / 4);
    const { low, high } = metricOf(honest, 'auroc');
    expect(low! > 0.5 && low! <= area && area <= high!).toBe(true);
  });

  it('finds confidence that says too much', async () => {
    const finding = await calibration({ observation: 0.3, confidence: (right) => 0.9 + right / 10 });
    expect(metricOf(finding, 'ece').value).toBeGreaterThan(0.2);
    // It still tells right from wrong as well as before: only its numbers are off.
    expect(metricOf(finding, 'auroc').value).toBeCloseTo(metricOf(honest, 'auroc').value!, 6);
  });

  it('finds nothing in confidence that is always the same, and says so', async () => {
    const finding = await calibration({ observation: 0.3, confidence: () => 0.8 });
    for (const { key, estimate } of finding.section.metrics) expect(estimate.value, key).toBeNull();
    expect(finding.section.notes.join(' ')).toContain('always says 0.8');
    expect(finding.section.notes.join(' ')).toContain('not to be measured');
  });

  it('is not flattered by exact tiers beside the one that doubts', async () => {
    const doubting = wrappedRules(domain, { observation: 0.3, confidence: (right) => right });
    const real = rulesResponder(domain);
    const router: Responder = {
      ...doubting,
      answer: async (query) => {
        if (query.call.name.startsWith('get_')) return real.answer(query) as Prediction;
        return { ...((await doubting.answer(query)) as Prediction), backend: 'llm' };
      },
    };
    const finding = await findingOf(toolsCalibration(judgedOf({ asked: asked(router, questions) })));
    const doubted = questions.filter(({ query }) => !query.call.name.startsWith('get_')).length;
    expect(metricOf(finding, 'auroc').n).toBe(doubted);
    expect(finding.section.notes.join(' ')).toMatch(/Left out: \d+ answers of real, which always says 1/);
  });
});
