// The pages of benchmarks: what they are drawn from is kept in benchmarks/results as JSON; `npm run pages` draws them all
// into runs/pages, so that no generated page lies in the repository.

import { copyFile, mkdir, readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeFileAtomic } from '../src/core/files.js';
import type { Report } from '../src/core/report.js';
import { fidelityDocument } from '../src/fidelity/document.js';
import { openFidelityReport } from '../src/fidelity/report.js';
import { writeReport } from '../src/run/report-page.js';

const reportsFolder = (root: string) => join(root, 'benchmarks', 'results', 'reports');
const fidelityFolder = (root: string) => join(root, 'benchmarks', 'results', 'fidelity');

/** Keeps what the page of benchmark `id` is drawn from. */
export async function keepReport(root: string, id: string, report: Report): Promise<void> {
  await mkdir(reportsFolder(root), { recursive: true });
  await writeFileAtomic(join(reportsFolder(root), `${id}.json`), `${JSON.stringify(report)}\n`);
}

/** Keeps the fidelity report of the run in `out` as `name`. */
export async function keepFidelityReport(root: string, out: string, name: string): Promise<void> {
  await mkdir(fidelityFolder(root), { recursive: true });
  await copyFile(join(out, 'fidelity.json'), join(fidelityFolder(root), `${name}.json`));
}

/** Draws every page that something is kept for; answers their files. */
export async function drawPages(root: string, into: string): Promise<string[]> {
  await mkdir(into, { recursive: true });
  const drawn: string[] = [];
  for (const file of await kept(reportsFolder(root))) {
    const page = join(into, `${basename(file, '.json')}.html`);
    await writeReport(page, JSON.parse(await readFile(file, 'utf8')));
    drawn.push(page);
  }
  for (const file of await kept(fidelityFolder(root))) {
    const page = join(into, `fidelity-${basename(file, '.json')}.html`);
    await writeReport(page, fidelityDocument(openFidelityReport(await readFile(file, 'utf8'), file)));
    drawn.push(page);
  }
  return drawn;
}

async function kept(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.endsWith('.json')).map((name) => join(folder, name));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = process.cwd();
  const pages = await drawPages(root, join(root, 'runs', 'pages'));
  console.log(
    pages.length > 0 ? pages.join('\n') : 'No benchmark has kept anything to draw in benchmarks/results yet.',
  );
}
