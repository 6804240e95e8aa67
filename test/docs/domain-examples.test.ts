// The examples of docs/domains.md are, as they stand there, the files of one domain that loads and passes its own checks.

import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ToolsDomain } from '../../src/env/tools/domain.js';
import { loadDomain } from '../../src/env/tools/load-domain.js';
import { rulesResponder } from '../../src/env/tools/rules-responder.js';
import { readEpisodeLogs } from '../../src/replay/experience/logs/read-episode-logs.js';
import { loadToolsScenario } from '../../src/run/scenario.js';
import { generateProbes, readProbes } from '../../src/worldmodel/must-fail/probes.js';
import { runMustFail } from '../../src/worldmodel/must-fail/run-must-fail.js';
import { readLabelledEpisodes } from '../../src/worldmodel/reward/judge-audit.js';
import { temporaryFolder } from '../temporary-folder.js';

const PAGE = fileURLToPath(new URL('../../docs/domains.md', import.meta.url));
/** Headings of the page to the files that the blocks below them are. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  'scenario.yaml': ['scenario.yaml'],
  'policy.md': ['policy.md'],
  'tools.yaml': ['tools.yaml'],
  'state.json, state.schema.json': ['state.json', 'state.schema.json'],
  'tasks.yaml': ['tasks.yaml'],
  'rules.js': ['rules.js'],
  'must-fail.yaml': ['must-fail.yaml'],
  logs: ['logs/desk.jsonl'],
  labelled: ['labelled/known.jsonl'],
};

const root = temporaryFolder('docs');
let folder: string;
let domain: ToolsDomain;

beforeAll(async () => {
  folder = join(root, 'library');
  for (const section of readFileSync(PAGE, 'utf8').split(/^## /m).slice(1)) {
    const files = FILES[section.slice(0, section.indexOf('\n'))] ?? [];
    const blocks = [...section.matchAll(/^```\w+\n(.*?)^```$/gms)].map((match) => match[1]);
    files.forEach((file, i) => {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), blocks[i]);
    });
  }
  domain = await loadDomain(folder);
});

afterAll(() => domain.close());

describe('the examples of docs/domains.md', () => {
  it('are a scenario and a domain', async () => {
    expect((await loadToolsScenario(folder)).config.name).toBe('library');
    expect(domain.tools.map(({ name }) => name)).toEqual(['get_book', 'lend_book', 'hand_over']);
    expect(domain.rules?.tools.size).toBe(3);
  });

  it('are declared as well as written as code', async () => {
    const declared = join(root, 'declared');
    const [rules] = /(?<=## rules\.yaml\n.*?```yaml\n).*?(?=^```$)/ms.exec(readFileSync(PAGE, 'utf8'))!;
    cpSync(folder, declared, { recursive: true, filter: (path) => !path.endsWith('rules.js') });
    writeFileSync(join(declared, 'rules.yaml'), rules);
    const tasks = readFileSync(join(folder, 'tasks.yaml'), 'utf8').replace(/^ +checks: .*\n/m, '');
    writeFileSync(join(declared, 'tasks.yaml'), tasks);
    const { declared: own, initialState } = await loadDomain(declared);
    const lend = { id: 'c', name: 'lend_book', arguments: { member_id: 'M1', book_id: 'B1' } };
    expect(own!.execute(initialState, lend)).toEqual(domain.rules!.execute(initialState, lend));
  });

  it('hold probes that the rules pass', async () => {
    const written = await readProbes(join(folder, 'must-fail.yaml'), domain);
    const probes = [...written, ...(await generateProbes(domain)).probes];
    const report = await runMustFail({ domain, responder: rulesResponder(domain), probes });
    expect(written).toHaveLength(3);
    expect(report.failures).toEqual([]);
  });

  it('hold logs, of which the rules know the calls, and a labelled episode', async () => {
    const { steps, episodes } = await readEpisodeLogs(join(folder, 'logs'), { domain });
    expect(episodes).toHaveLength(2);
    expect(steps.map(({ stateHash }) => stateHash !== undefined)).toEqual([true, true]);
    expect(steps[0].operations).toEqual([{ op: 'replace', path: '/books/B1/lentTo', value: 'M1' }]);
    expect(await readLabelledEpisodes(join(folder, 'labelled'), domain)).toMatchObject([{ success: false }]);
  });
});
