// Habits that hold everywhere: short files, one source of randomness, nothing of anyone's machine.

import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { filesUnder, syntaxOf, textOf, walk } from './source-files.js';

const MAX_FILE_LINES = 800;

const sources = [...filesUnder('src', '.ts'), ...filesUnder('packs', '.ts')];

describe('files', () => {
  it(`have fewer than ${MAX_FILE_LINES} lines`, () => {
    const scripts = filesUnder('scripts').filter((file) => !file.endsWith('.json'));
    const code = [...sources, ...filesUnder('test', '.ts'), ...scripts, 'vitest.config.ts'];
    const long = code
      .map((file) => [file, textOf(file).split('\n').length] as const)
      .filter(([, lines]) => lines > MAX_FILE_LINES);
    expect(long).toEqual([]);
  });

  it('begin by saying what they are for', () => {
    const silent = sources.filter((file) => {
      const first = textOf(file).replace(/^#!.*\n/, '');
      return !first.startsWith('//') && !first.startsWith('/**');
    });
    expect(silent.filter((file) => !file.endsWith('index.ts'))).toEqual([]);
  });

  it('are named in kebab-case', () => {
    expect(sources.filter((file) => !/^[a-z0-9/-]+\.ts$/.test(file))).toEqual([]);
  });
});

/** Ids that nobody may guess are no part of a result. */
const SECRETS = 'src/serve/core/session-contract.ts';

it('randomness comes from src/core/rng.ts alone', () => {
  const users = sources.filter((file) => {
    if (file === SECRETS || !/random|getRandomValues/.test(textOf(file))) return false;
    let found = false;
    walk(syntaxOf(file), (node) => {
      found ||= ts.isPropertyAccessExpression(node) && node.getText() === 'Math.random';
      found ||=
        ts.isIdentifier(node) && /^(randomBytes|randomInt|randomUUID|randomFill\w*|getRandomValues)$/.test(node.text);
    });
    return found;
  });
  expect(users).toEqual([]);
});

it('text names no place on anyone’s machine', () => {
  // Written in parts, or this file would name one itself.
  const places = ['/wo' + 'rk/', '/ro' + 'ot/', '/ho' + 'me/', '/Us' + 'ers/', 'C:\\\\Us' + 'ers'];
  const pattern = new RegExp(places.join('|'));
  const written = filesUnder('').filter((file) =>
    /\.(ts|mjs|js|json|jsonl|md|yaml|yml|xml|py|sh|html|svg)$|^[^.]+$/.test(file),
  );
  expect(written.filter((file) => file !== 'package-lock.json' && pattern.test(textOf(file)))).toEqual([]);
});
