// Loading a domain folder: what it gives, and that each fault names its file and its place.

import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { makeDomain } from '../../../src/env/tools/domains.js';
import { loadDomain, withTasks } from '../../../src/env/tools/load-domain.js';
import { testData } from '../../data.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { fixture } from './library.js';

const root = temporaryFolder('domain');
const folder = path.join(root, 'library');

beforeEach(() => {
  rmSync(folder, { recursive: true, force: true });
  cpSync(fixture('library'), folder, { recursive: true });
});

function change(file: string, from: string, to: string): void {
  const name = path.join(folder, file);
  const text = readFileSync(name, 'utf8');
  if (!text.includes(from)) throw new Error(`nothing to change in ${file}`);
  writeFileSync(name, text.replace(from, to));
}

test('a domain has all its parts, frozen, and a version that changes with any of them', async () => {
  const domain = await loadDomain(folder);
  expect(domain.id).toBe('library');
  expect(domain.tools.map(({ name }) => name)).toContain('lend_book');
  expect(domain.tasks[0].reference?.calls[1]).toEqual({
    name: 'lend_book',
    arguments: { member_id: 'M1', book_id: 'B1' },
  });
  expect(Object.isFrozen(domain.initialState.books)).toBe(true);
  expect([...(domain.rules?.tools ?? [])]).toEqual(domain.tools.map(({ name }) => name));
  domain.close();
  const versions = [domain.version, withTasks(domain, []).version];
  for (const [file, from, to] of [
    ['policy.md', 'Lending', 'Town'],
    ['state.json', 'Emma', 'Persuasion'],
    ['rules.js', 'takes over', 'will take over'],
  ]) {
    change(file, from, to);
    const changed = await loadDomain(folder);
    changed.close();
    versions.push(changed.version);
  }
  expect(new Set(versions).size).toBe(5);
  expect(versions.every((version) => /^[0-9a-f]{64}$/.test(version))).toBe(true);
});

test('a domain without rules is a specification alone', async () => {
  rmSync(path.join(folder, 'rules.js'));
  const domain = await loadDomain(folder);
  expect(domain.rules).toBeUndefined();
});

const FAULTS = testData<[string, string, string, string, string][]>('env/tools/library-faults.yaml');

describe('a domain folder', () => {
  test.each(FAULTS)('with %s is refused', async (_, file, from, to, problem) => {
    change(file, from, to);
    const error = await loadDomain(folder).catch((thrown) => thrown);
    expect(error.code).toMatch(/^(DOMAIN_FILE_INVALID|UNKNOWN_KEY|SCHEMA_INVALID|RULES_INVALID)$/);
    expect(`${error.message}`).toContain(problem);
    expect(error.message).not.toMatch(/[\r\n{]name}/);
  });

  test.each(['policy.md', 'tools.yaml', 'state.json', 'tasks.yaml', 'rules.js'])('is UTF-8, %s too', async (file) => {
    const name = path.join(folder, file);
    writeFileSync(name, Buffer.from(`${readFileSync(name, 'utf8')}\n\u00fc\u00f6`, 'latin1'));
    const error = await loadDomain(folder).catch((thrown) => thrown);
    expect(error.code).toBe('DOMAIN_FILE_INVALID');
    expect(error.message).toMatch(/line \d+ is not UTF-8/);
  });

  test('may merge keys from an anchor, and may hold colons in its texts', async () => {
    change('tools.yaml', 'parameters:', 'parameters: &any');
    change('state.json', 'Emma', 'Emma\\": \\"a novel\\":');
    const name = path.join(folder, 'tasks.yaml');
    writeFileSync(
      name,
      readFileSync(name, 'utf8').replace('{ member_id: M1, book_id: B1 }', '{ <<: { member_id: M1 }, book_id: B1 }'),
    );
    const domain = await loadDomain(folder);
    expect(domain.tasks[0].reference?.calls[1].arguments).toEqual({ member_id: 'M1', book_id: 'B1' });
    domain.close();
  });

  test('names the nearest of known keys and the file that is missing', async () => {
    change('tasks.yaml', 'family: lend', 'famly: lend');
    await expect(loadDomain(folder)).rejects.toMatchObject({ hint: 'Did you mean "family"?' });
    rmSync(path.join(folder, 'tools.yaml'));
    await expect(loadDomain(folder)).rejects.toMatchObject({
      code: 'DOMAIN_FILE_INVALID',
      message: `There is no domain file "${path.join(folder, 'tools.yaml')}".`,
    });
  });
});

describe('a domain as data', () => {
  test.each([
    [{ folde: 'x' }, 'UNKNOWN_KEY'],
    [{ id: 'tau-airlin' }, 'ENV_SPEC_INVALID'],
    [{ id: 'tau-airline' }, 'ENV_SPEC_INVALID'],
    [{ id: 'tau-airline', data: 'x', tools: 'y' }, 'UNKNOWN_KEY'],
    [{ release: 'tau1' }, 'ENV_SPEC_INVALID'],
    [{ folder: 'nowhere' }, 'DOMAIN_FILE_INVALID'],
  ])('%j is refused with %s', async (spec, code) => {
    await expect(makeDomain(spec as never, { folder: root })).rejects.toMatchObject({ code });
  });
});
