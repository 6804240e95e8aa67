// `reverie draft` as a user runs it, with a model behind a real server: a domain that can be lived in at once, its record, and what
// is refused.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LlmServer, startLlmServer } from '../llm-server/llm-server.js';
import { CARELESS, LENDING, part, reply, WORLD } from '../synth/drafting/lending.js';
import { temporaryFolder } from '../temporary-folder.js';
import { reverie, set } from './reverie.js';

const folder = temporaryFolder('drafted');
let server: LlmServer;
let rules: readonly string[];
const at = (...path: string[]) => join(folder, ...path);
const draft = (name: string, ...more: string[]) =>
  reverie(
    ['draft', name, '--from', 'about.md', '--tasks', '3', ...set(`llm.url=${server.url}`, 'llm.model=m'), ...more],
    folder,
  );

beforeAll(async () => {
  writeFileSync(at('about.md'), 'A lending library.\n');
  let asked = 0;
  server = await startLlmServer({
    answer: ({ messages }) => {
      const prompt = messages[0].content ?? '';
      const isRepair = prompt.includes('were tried');
      const files =
        isRepair || prompt.includes('Write rules.yaml')
          ? { 'rules.yaml': rules[Math.min(asked++, rules.length - 1)] }
          : prompt.includes('- tasks.yaml')
            ? part('tasks.yaml', 'must-fail.yaml')
            : part(...WORLD);
      return { text: JSON.stringify(reply(files)) };
    },
  });
});

afterAll(() => server.close());

describe('reverie draft', () => {
  it('writes a domain that is lived in at once, after a repair, with the record of it', async () => {
    rules = [CARELESS, LENDING['rules.yaml']];
    const { code, stdout, stderr } = await draft('library', '--cache', at('kept'));
    expect(stderr).toContain('probe "lent already"');
    expect(stdout).toContain('Admitted: 3 tools, 3 tasks');
    expect(code).toBe(0);
    expect(readFileSync(at('library/rules.yaml'), 'utf8')).toBe(LENDING['rules.yaml']);
    const { admitted, steps } = JSON.parse(readFileSync(at('library/draft.json'), 'utf8'));
    expect([admitted, steps.map(({ stage }: { stage: string }) => stage)]).toEqual([
      true,
      ['world', 'tasks', 'rules', 'repair'],
    ]);
    const lived = await reverie(['synth', 'library', '--set', 'synth.episodes=6', '--out', 'run', '--quiet'], folder);
    expect([lived.code, lived.stderr]).toEqual([0, expect.any(String)]);
  });

  it('leaves of a refused domain nothing but the record', async () => {
    rules = [CARELESS];
    const { code, stderr } = await draft('refused', '--repairs', '1', '--seed', '7');
    expect(code).toBe(1);
    expect(stderr).toContain('DRAFT_UNUSABLE');
    expect(readdirSync(at('refused'))).toEqual(['draft.json']);
  });

  it('says what it lacks, and writes over nothing', async () => {
    const told = async (...args: string[]) => (await reverie(['draft', ...args], folder)).stderr;
    expect(await told('new')).toContain('DRAFT_UNUSABLE');
    expect(await told('new', '--from', 'nowhere.md')).toContain('nowhere.md');
    expect(await told('library', '--about', 'x')).toContain('OUTPUT_EXISTS');
    expect(await told('new', '--about', 'x', ...set('synth.episodes=3'))).toContain('FLAG_INVALID');
    expect(existsSync(at('new'))).toBe(false);
  });
});
