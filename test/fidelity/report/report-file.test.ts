import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealedText } from '../../../src/core/files.js';
import { readFidelityReport, writeFidelityReport } from '../../../src/fidelity/report.js';
import { inventedReport } from './invented-report.js';

const folder = () => mkdtempSync(join(tmpdir(), 'reverie-fidelity-report-'));

describe("a report's file", () => {
  it('is read as it was written, from the file and from its folder', async () => {
    const out = folder();
    const file = join(out, 'fidelity.json');
    await writeFidelityReport(file, inventedReport);
    expect(await readFidelityReport(file)).toEqual(inventedReport);
    expect(await readFidelityReport(out)).toEqual(inventedReport);
  });

  it('is refused where it is not there, edited, of another format, or no report', async () => {
    const out = folder();
    const file = join(out, 'fidelity.json');
    await expect(readFidelityReport(out)).rejects.toMatchObject({ code: 'FILE_INVALID' });
    await writeFidelityReport(file, inventedReport);
    writeFileSync(file, readFileSync(file, 'utf8').replace('"passed": false', '"passed": true'));
    await expect(readFidelityReport(file)).rejects.toThrow(/changed after it was written/);
    writeFileSync(file, sealedText({ ...inventedReport, format: 'reverie-fidelity/2' }));
    await expect(readFidelityReport(file)).rejects.toThrow(/format/);
    writeFileSync(file, sealedText({ ...inventedReport, extra: 1 }));
    await expect(readFidelityReport(file)).rejects.toMatchObject({ code: 'FILE_INVALID' });
    writeFileSync(file, '{');
    await expect(readFidelityReport(file)).rejects.toThrow(/not JSON/);
  });

  it('is not written with what JSON cannot hold', async () => {
    const file = join(folder(), 'fidelity.json');
    const [first, ...others] = inventedReport.subjects;
    const subjects = [{ ...first, samples: { 'one-step.state-exact': [1, Number.NaN] } }, ...others];
    await expect(writeFidelityReport(file, { ...inventedReport, subjects })).rejects.toThrow(/samples/);
    await expect(readFidelityReport(file)).rejects.toMatchObject({ code: 'FILE_INVALID' });
  });

  it('of an older version is read without the sections and charts that are no more', async () => {
    const file = join(folder(), 'fidelity.json');
    const [first] = inventedReport.subjects;
    const older = first.sections.map((section) => ({ ...section, charts: [{ kind: 'bars' }, ...section.charts] }));
    const subjects = [{ ...first, sections: [{ id: 'learning' }, ...older] }];
    writeFileSync(file, sealedText({ ...inventedReport, subjects }));
    expect((await readFidelityReport(file)).subjects).toEqual([first]);
  });
});
