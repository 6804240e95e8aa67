// The reference pages agree with the code. `npx vitest run test/docs -u` rewrites what is generated in them.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { makeProgram } from '../../src/cli/command-line.js';
import { packDomains } from '../../src/core/packs.js';
import { kinds } from '../../src/kinds/registry.js';
import { commandHere } from '../e2e/reverie.js';
import { loadQuirks } from '../llm-server/quirks.js';
import { recordingStream } from '../run/streams.js';
import { commandReference } from './command-reference.js';
import { scenarioTables, silentKeys } from './schema-tables.js';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const BEGIN = '<!-- generated: begin -->';
const END = '<!-- generated: end -->';

const { fileSchema: scenarioFileSchema } = await kinds.get('vector').scenario!();
// With the keys of every pack, whatever other tests of this process have loaded.
const everyDomain = packDomains.map((id) => ({ domain: { id } }));
const { fileSchema: toolsScenarioFileSchema } = await kinds.get('tools').scenario!(everyDomain);

/** The page with what lies between its markers replaced. */
function regenerated(page: string, generated: string): string {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const from = text.indexOf(BEGIN) + BEGIN.length;
  return `${text.slice(0, from)}\n\n${generated}\n\n${text.slice(text.indexOf(END))}`;
}

const helpOf = async (...args: string[]) => (await commandHere([...args, '--help'])).stdout.trim();

describe('docs/scenarios.md', () => {
  it('has every key of the schema', async () => {
    const page = regenerated('docs/scenarios.md', scenarioTables(scenarioFileSchema));
    await expect(page).toMatchFileSnapshot('../../docs/scenarios.md');
  });

  it('says what each key of the shell means', () => {
    const owned = /^(name|description|seed|workers|profiles|rollout|replay|rl|train|collect|eval|synth|quickstart)\b/;
    expect(silentKeys(scenarioFileSchema).filter((key) => owned.test(key) && !/\.kind$/.test(key))).toEqual([]);
  });
});

describe('docs/tools-reference.md', () => {
  it('has every key of the schema', async () => {
    const page = regenerated('docs/tools-reference.md', scenarioTables(toolsScenarioFileSchema));
    await expect(page).toMatchFileSnapshot('../../docs/tools-reference.md');
  });

  it('says what each key means', () => {
    expect(silentKeys(toolsScenarioFileSchema)).toEqual([]);
  });
});

it('docs/cli.md has every command', async () => {
  const terminal = { stdout: recordingStream(), stderr: recordingStream(), env: {} };
  const program = makeProgram(terminal, 'reverie', { exitCode: 0 });
  const page = regenerated('docs/cli.md', await commandReference(program, helpOf));
  await expect(page).toMatchFileSnapshot('../../docs/cli.md');
});

it('docs/language-models.md has every behaviour of servers that is met', async () => {
  const quirks = await loadQuirks(join(ROOT, 'benchmarks/trust/quirks.yaml'));
  const rows = quirks.map(({ does, source, serve, expect: { error, ofModel, requests = 1 }, asks = 1 }) => {
    const end = ofModel || error === 'refused' ? 'the call is refused or the episode fails' : 'the job ends';
    const isTaught = serve.some(({ status = 200 }) => status === 400 || status === 422);
    const again = isTaught ? 'asked in another form from then on' : 'asked again';
    const then = error === undefined ? (requests > asks ? again : 'read') : `\`${error}\`: ${end}`;
    const issue = /github\.com\/([^/]+\/[^/]+)\/\w+\/(\d+)/.exec(source);
    const name = issue ? `${issue[1]}#${issue[2]}` : source.replace(/^https:\/\/(www\.)?([^/]+).*/, '$2');
    const where = source.startsWith('http') ? `[${name}](${source})` : source;
    return `| ${does.replaceAll('|', '\\|').replace(/<[^>]*>/g, '`$&`')} | ${then.replace('`refused`: ', '')} | ${where} |`;
  });
  const table = ['| behaviour | what happens | source |', '| --- | --- | --- |', ...rows].join('\n');
  const page = regenerated('docs/language-models.md', table);
  await expect(page).toMatchFileSnapshot('../../docs/language-models.md');
});

describe('the pages', () => {
  const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];
  const docs = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));

  it.each([...pages, ...docs.map((name) => `docs/${name}`)])('%s links only to what is there', (page) => {
    const text = readFileSync(join(ROOT, page), 'utf8');
    const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]);
    const missing = targets.filter((target) => {
      if (/^https?:/.test(target)) return false;
      const [path, anchor] = target.split('#');
      const file = path === '' ? join(ROOT, page) : join(ROOT, dirname(page), path);
      if (!existsSync(file)) return true;
      return anchor !== undefined && file.endsWith('.md') && !anchorsOf(readFileSync(file, 'utf8')).has(anchor);
    });
    expect(missing).toEqual([]);
  });
});

/** The anchors that GitHub makes of a page's headings, and those it sets itself. */
function anchorsOf(page: string): Set<string> {
  const headings = page.replace(/^```.*?^```$/gms, '').matchAll(/^#+ (.*)$/gm);
  const slugs = [...headings].map(([, heading]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set([...slugs, ...[...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)]);
}
