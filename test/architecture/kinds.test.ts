// Which kind a world is of is asked of its kind, and never of its name: outside of src/kinds nothing compares one.

import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { filesUnder, syntaxOf, textOf, walk } from './source-files.js';

const NAMES = ['vector', 'tools', 'text', 'screen'];
/** Files without any of them need not be parsed. */
const WRITTEN = new RegExp(`['"\`](${NAMES.join('|')})['"\`]`);

/** Comparisons in which these words are something else than the name of a kind. */
const OTHER_WORDS: Readonly<Record<string, readonly string[]>> = {
  // The type of a space, as it is written in JSON: what data is, and not what a world is.
  'src/env/check-environment.ts': ["space.type === 'tools'", "space.type === 'text'"],
  'src/env/space-values.ts': ["case 'text'", "case 'tools'"],
  'src/serve/protocols/native.ts': ["space.type === 'text'"],
  // How a table is aligned, and a route of the Open Reward Standard.
  'src/run/report.ts': ["alignment === 'text'"],
  'src/env/tools/load-domain.ts': ["file !== 'tools'"],
  'src/serve/protocols/ors.ts': ["route === 'tools'"],
};

const sources = filesUnder('src', '.ts').filter((file) => !file.startsWith('src/kinds/'));

describe('a kind of world', () => {
  it('is never asked for by its name outside of its folder', () => {
    const found = sources.flatMap((file) =>
      comparisonsIn(file)
        .filter((text) => !(OTHER_WORDS[file] ?? []).includes(text))
        .map((text) => `${file}: ${text}`),
    );
    expect(found).toEqual([]);
  });

  it('has every word that means something else on the list', () => {
    const unused = Object.entries(OTHER_WORDS).flatMap(([file, texts]) => {
      const found = sources.includes(file) ? comparisonsIn(file) : [];
      return texts.filter((text) => !found.includes(text)).map((text) => `${file}: ${text}`);
    });
    expect(unused).toEqual([]);
  });
});

/** Comparisons with a kind's name, cases of it, and lists it is looked for in, as they are written. */
function comparisonsIn(file: string): string[] {
  if (!WRITTEN.test(textOf(file))) return [];
  const found: string[] = [];
  const isName = (node: ts.Node): boolean => ts.isStringLiteralLike(node) && NAMES.includes(node.text);
  walk(syntaxOf(file), (node) => {
    if (
      ts.isBinaryExpression(node) &&
      isEquality(node.operatorToken.kind) &&
      (isName(node.left) || isName(node.right))
    ) {
      found.push(node.getText());
    }
    if (ts.isCaseClause(node) && isName(node.expression)) found.push(`case ${node.expression.getText()}`);
  });
  return found;
}

function isEquality(kind: ts.SyntaxKind): boolean {
  return [
    ts.SyntaxKind.EqualsEqualsEqualsToken,
    ts.SyntaxKind.ExclamationEqualsEqualsToken,
    ts.SyntaxKind.EqualsEqualsToken,
    ts.SyntaxKind.ExclamationEqualsToken,
  ].includes(kind);
}
