// Loading a domain folder: what it gives, and that each fault names its file and its place.

import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { makeDomain } from '../../../src/env/tools/domains.js';
import { loadDomain, withTasks } from '../../../src/env/tools/load-domain.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { fixture } from './library.js';

const root = temporaryFolder('domain');
const folder = path.join(root, 'library');

beforeEach(() => {
  rmSync(folder, { recursive: true, force: true });
  cpSync(fixture('library'), folder, { recursive: true });
});

const literal = (text: string) => new RegExp(text.replace(/[\\[\](){}.*+?^$|]/g, '\\$&'));

function change(file: string, from: string | RegExp, to: string): void {
  const name = path.join(folder, file);
  const text = readFileSync(name, 'utf8');
  if (text.search(typeof from === 'string' ? literal(from) : from) < 0) throw new Error(`nothing to change in ${file}`);
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

const FAULTS: [string, string, string | RegExp, string, string][] = [
  ['an unknown key of a tool', 'tools.yaml', 'kind: read', 'knd: read', 'Unknown key "knd" in'],
  ['two tools of one name', 'tools.yaml', 'name: find_books', 'name: get_member', 'two tools are called "get_member"'],
  [
    'parameters that are no schema',
    'tools.yaml',
    'type: integer',
    'type: integr',
    'The schema of the tool "find_books"',
  ],
  ['a key twice', 'tools.yaml', 'kind: read', 'kind: read\n  kind: read', 'Map keys must be unique'],
  ['JSON that is none', 'state.json', '{', '{{', 'state.json": it is not JSON'],
  ['a state with __proto__', 'state.json', '"M1": {', '"__proto__": {}, "M1": {', '/members has a key "__proto__"'],
  [
    'a state that does not fit',
    'state.json',
    '"blocked": false',
    '"blocked": 0',
    '/members/M1/blocked must be boolean',
  ],
  [
    'a whole number that would be rounded',
    'state.json',
    '"blocked": false',
    '"blocked": 9007199254740993',
    '/members/M1/blocked is a whole number beyond 2^53',
  ],
  [
    'one in a task',
    'tasks.yaml',
    'equals: M1 }',
    'equals: -12345678901234567890 }',
    '/0/verifier/assert/0/equals is a whole number beyond 2^53',
  ],
  ['an unknown key of a task', 'tasks.yaml', 'family: lend', 'famly: lend', 'Unknown key "famly" in'],
  ['an unknown tool', 'tasks.yaml', 'notCalled: [hand_over]', 'notCalled: [handover]', 'did you mean "hand_over"?'],
  ['a pointer that is none', 'tasks.yaml', 'path: /books', 'path: books', '"books/B1/lentTo" is not a JSON Pointer'],
  ['a reference call that is refused', 'tasks.yaml', '{ member_id: M1 }', '{ member_id: 1 }', 'reference, call 1: the'],
  [
    'a reference that is missing',
    'tasks.yaml',
    / {2}reference:\n {4}calls:\n {6}- \{ name: return.*\n/,
    '',
    'needs the ref',
  ],
  ['operations that break the schema', 'tasks.yaml', 'value: M1 }', 'value: 5 }', 'no longer fits its schema'],
  [
    'a verifier of nothing',
    'tasks.yaml',
    / {4}checks: \[nothing.*\n {4}notCalled.*\n/,
    '    checks: []\n',
    'verifies nothing',
  ],
  [
    'rules that do not parse',
    'rules.js',
    'export const tools = {',
    'export const tools = {{',
    'rules.js" cannot be used',
  ],
];

describe('a domain folder', () => {
  test.each(FAULTS)('with %s is refused', async (_, file, from, to, problem) => {
    change(file, from, to);
    const error = await loadDomain(folder).catch((thrown) => thrown);
    expect(error.code).toMatch(/^(DOMAIN_FILE_INVALID|UNKNOWN_KEY|SCHEMA_INVALID|RULES_INVALID)$/);
    expect(`${error.message}`).toContain(problem);
    expect(error.message).not.toMatch(/[\r\n{]name}/);
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
