import { dirname, posix } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { syntaxOf } from './source-files.js';

/** Packages that help and flags are made with. Anything else (networks, databases, physics, schemas) waits for a command. */
const LIGHT = ['commander', 'picocolors'];

it('loads no package but those that help is made with', () => {
  const { packages } = loadedAtStart('src/cli.ts');
  expect([...packages].filter((name) => !name.startsWith('node:')).sort()).toEqual(LIGHT);
});

it('loads few files of ours', () => {
  const { files } = loadedAtStart('src/cli.ts');
  expect(files.size).toBeLessThan(45);
});

/** All that `file` loads before it runs: what is imported statically and not for its types alone, and so on. */
function loadedAtStart(file: string, found = { files: new Set<string>(), packages: new Set<string>() }) {
  if (found.files.has(file)) return found;
  found.files.add(file);
  for (const name of valueImports(syntaxOf(file))) {
    if (!name.startsWith('.')) found.packages.add(name);
    else loadedAtStart(posix.join(dirname(file), name).replace(/\.js$/, '.ts'), found);
  }
  return found;
}

function valueImports(syntax: ts.SourceFile): string[] {
  return syntax.statements.flatMap((statement) => {
    const isForTypes = ts.isImportDeclaration(statement)
      ? statement.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
      : ts.isExportDeclaration(statement) && statement.isTypeOnly;
    if (isForTypes || !(ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement))) return [];
    const from = statement.moduleSpecifier;
    return from !== undefined && ts.isStringLiteral(from) ? [from.text] : [];
  });
}
