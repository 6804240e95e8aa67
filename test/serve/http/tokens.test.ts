import { timingSafeEqual } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { sha256 } from '../../../src/core/canonical-json.js';
import { readTokens, Tokens, tokenIn } from '../../../src/serve/http/access.js';
import { temporaryFolder } from '../../temporary-folder.js';

vi.mock('node:crypto', async (load) => {
  const real = await load<typeof import('node:crypto')>();
  return { ...real, timingSafeEqual: vi.fn(real.timingSafeEqual) };
});

const folder = temporaryFolder('tokens');
const ALICE = 'alice-0123456789abcdef';

function file(content: string): string {
  const path = join(folder, `${sha256(content).slice(0, 8)}.yaml`);
  writeFileSync(path, content);
  return path;
}

describe('tokens', () => {
  const tokens = new Tokens([
    { owner: 'alice', operator: false, quota: { sessions: 2 }, sha256: sha256(ALICE) },
    { owner: 'bob', operator: true, quota: {}, sha256: sha256('bob-0123456789abcdef') },
  ]);

  it('are found whole alone', () => {
    expect(tokens.find(ALICE)).toEqual({ owner: 'alice', operator: false, quota: { sessions: 2 } });
    for (const wrong of ['', ALICE.slice(0, -1), `${ALICE} `, ALICE.toUpperCase(), sha256(ALICE)]) {
      expect(tokens.find(wrong)).toBeUndefined();
    }
  });

  it('are compared in a time that says nothing, with every one there is', () => {
    const compared = vi.mocked(timingSafeEqual);
    for (const given of [ALICE, 'bob-0123456789abcdef', 'nobody']) {
      compared.mockClear();
      tokens.find(given);
      expect(compared).toHaveBeenCalledTimes(2);
      for (const [one, other] of compared.mock.calls) expect([one.byteLength, other.byteLength]).toEqual([32, 32]);
    }
  });
});

describe('a token file', () => {
  it('names owners, their tokens or hashes of them, and what they may use', () => {
    const path = file(`
- name: alice
  token: ${ALICE}
  quota: { sessions: 4, stepsPerMinute: 10 }
- name: grafana
  sha256: ${sha256('grafana-0123456789')}
  operator: true
`);
    expect(readTokens(path, undefined)).toEqual([
      {
        owner: 'alice',
        operator: false,
        quota: { sessions: 4, stepsPerMinute: 10 },
        sha256: sha256(ALICE),
      },
      { owner: 'grafana', operator: true, quota: {}, sha256: sha256('grafana-0123456789') },
    ]);
    expect(readTokens(path, 'one-more-0123456789').at(-1)).toMatchObject({ owner: 'default', operator: true });
  });

  it.each([
    ['- {name: a, token: short}', /at least 16 characters/],
    ['- {name: a}', /either token or sha256/],
    [`- {name: a, token: ${ALICE}}\n- {name: a, token: ${ALICE}2}`, /two tokens are called a/],
    [`- {name: a, token: ${ALICE}}\n- {name: b, token: ${ALICE}}`, /b has the token of another/],
    [`- {name: a, token: ${ALICE}`, /cannot be read/],
  ])('is refused for what is wrong in it, without showing a secret: %j', (content, problem) => {
    const attempt = () => readTokens(file(content), undefined);
    expect(attempt).toThrow(problem);
    expect(attempt).not.toThrow(ALICE);
  });

  it('is what docs/serving.md shows', () => {
    const guide = readFileSync(new URL('../../../docs/serving.md', import.meta.url), 'utf8');
    const [, example] = /```yaml\n(- name: alice[\s\S]*?)```/.exec(guide)!;
    const [alice, prometheus] = readTokens(file(example), undefined);
    expect(alice).toMatchObject({
      owner: 'alice',
      operator: false,
      quota: { sessions: 64, stepsPerMinute: 6000 },
    });
    expect(prometheus).toMatchObject({ owner: 'prometheus', operator: true, quota: {} });
  });

  it('must be there', () => {
    expect(() => readTokens(join(folder, 'none.yaml'), undefined)).toThrow(/no such file/);
    expect(() => readTokens(undefined, 'short')).toThrow(/REVERIE_TOKEN: at least 16/);
    expect(readTokens(undefined, undefined)).toEqual([]);
  });
});

it.each([
  [{ authorization: 'Bearer abc' }, 'abc'],
  [{ authorization: `Basic ${Buffer.from('anyone:a:bc').toString('base64')}` }, 'a:bc'],
  [{ 'x-api-key': 'abc' }, 'abc'],
  [{ authorization: 'Digest abc' }, undefined],
  [{}, undefined],
])('a request shows its token in %j', (headers, token) => {
  expect(tokenIn(headers)).toBe(token);
});
