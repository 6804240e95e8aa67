import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeFidelityReport } from '../../../src/fidelity/report.js';
import { inspectFolder, inspectionText } from '../../../src/run/inspect.js';
import { inventedReport, inventedSingle } from '../../fidelity/report/invented-report.js';

describe('inspecting a run of fidelity', () => {
  it('tells the headline numbers of each model and which gates are shut', async () => {
    const root = mkdtempSync(join(tmpdir(), 'reverie-inspect-fidelity-'));
    const record = {
      job: 'fidelity',
      status: 'finished',
      seed: 0,
      inputs: {},
      command: '',
      versions: {},
      startedAt: '',
    };
    writeFileSync(join(root, 'run.json'), JSON.stringify(record));
    await writeFidelityReport(join(root, 'fidelity.json'), inventedReport);
    const inspection = await inspectFolder(root);
    expect(inspection).toMatchObject({
      kind: 'run',
      facts: { job: 'fidelity', 'router: Trust horizon': '3 steps (2 to 4)', gates: 'failed: one-step.state-exact' },
    });
    expect(inspectionText(inspection)).toMatch(/\n {2}rules: State exactly right +100 % \(99 to 100\)\n/);
  });

  it('knows a report alone, and says where it is damaged', async () => {
    const root = mkdtempSync(join(tmpdir(), 'reverie-inspect-fidelity-'));
    const file = join(root, 'fidelity.json');
    mkdirSync(root, { recursive: true });
    await writeFidelityReport(file, inventedSingle);
    const { kind, facts } = await inspectFolder(root);
    expect([kind, facts['Trust horizon']]).toEqual(['fidelity report', '3 steps (2 to 4)']);
    writeFileSync(file, '{}');
    await expect(inspectFolder(root)).rejects.toMatchObject({ code: 'FILE_INVALID' });
  });
});
