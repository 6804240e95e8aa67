import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealedText } from '../../../src/core/files.js';
import { openFidelityReport, writeFidelityReport } from '../../../src/fidelity/report.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { inventedReport } from './invented-report.js';

const folder = () => temporaryFolder('fidelity-report');
const read = (file: string) => openFidelityReport(readFileSync(file, 'utf8'), file);

describe("a report's file", () => {
  it('is read as it was written', async () => {
    const out = folder();
    const file = join(out, 'fidelity.json');
    await writeFidelityReport(file, inventedReport);
    expect(read(file)).toEqual(inventedReport);
  });

  it('is refused where it was edited, is of another format, or no report', async () => {
    const out = folder();
    const file = join(out, 'fidelity.json');
    await writeFidelityReport(file, inventedReport);
    writeFileSync(file, readFileSync(file, 'utf8').replace('"passed": false', '"passed": true'));
    expect(() => read(file)).toThrow(/changed after it was written/);
    writeFileSync(file, sealedText({ ...inventedReport, format: 'reverie-fidelity/2' }));
    expect(() => read(file)).toThrow(/format/);
    writeFileSync(file, sealedText({ ...inventedReport, extra: 1 }));
    expect(() => read(file)).toThrow(expect.objectContaining({ code: 'FILE_INVALID' }));
    writeFileSync(file, '{');
    expect(() => read(file)).toThrow(/not JSON/);
  });

  it('is not written with what JSON cannot hold', async () => {
    const file = join(folder(), 'fidelity.json');
    const [first, ...others] = inventedReport.subjects;
    const subjects = [{ ...first, samples: { 'one-step.state-exact': [1, Number.NaN] } }, ...others];
    await expect(writeFidelityReport(file, { ...inventedReport, subjects })).rejects.toThrow(/samples/);
    expect(existsSync(file)).toBe(false);
  });
});
