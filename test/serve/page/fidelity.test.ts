import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fidelityDocument } from '../../../src/fidelity/document.js';
import { ARM_COLOURS } from '../../../src/run/report-chart.js';
import { armProperties, reportPage } from '../../../src/run/report-page.js';
import { readReport } from '../../../src/serve/page/runs.js';
import { inventedReport } from '../../fidelity/report/invented-report.js';

const ARM_COUNT = /export const COLOURS = (?<COLOURS>\d+);/;

it('draws what it compares in the colours of reports', () => {
  const css = readFileSync(new URL('../../../web/src/style/base.css', import.meta.url), 'utf8');
  for (const scheme of ['light', 'dark'] as const) expect(css).toContain(armProperties(scheme));
  const chart = readFileSync(new URL('../../../web/src/parts/line-chart.tsx', import.meta.url), 'utf8');
  expect(Number(ARM_COUNT.exec(chart)!.groups!['COLOURS'])).toBe(ARM_COLOURS.light.length);
});

it('shows reports of fidelity', async () => {
  const root = mkdtempSync(join(tmpdir(), 'reverie-page-fidelity-'));
  writeFileSync(join(root, 'fidelity.html'), await reportPage(fidelityDocument(inventedReport)));
  expect(String(await readReport(root, 'fidelity.html'))).toContain('<!doctype html>');
});
