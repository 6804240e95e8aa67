// The error catalogue and the code that throws from it agree.

import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { ERROR_CATALOGUE, type ErrorCode } from '../../src/core/errors.js';
import { filesUnder, syntaxOf, textOf, walk } from './source-files.js';

const sources = [...filesUnder('src', '.ts'), ...filesUnder('benchmarks', '.ts')].filter(
  (file) => file !== 'src/core/errors.ts',
);
const codes = Object.keys(ERROR_CATALOGUE) as ErrorCode[];

describe('the error catalogue', () => {
  it('holds no code that nothing throws', () => {
    const text = sources.map(textOf).join('\n');
    expect(codes.filter((code) => !text.includes(`'${code}'`))).toEqual([]);
  });

  it('has a sentence, a hint and a fitting HTTP status for each code', () => {
    for (const code of codes) {
      const { status, message, hint } = ERROR_CATALOGUE[code];
      expect(code).toMatch(/^[A-Z][A-Z0-9_]+$/);
      expect(message, code).toMatch(/^[A-Z"{].*[.}]$/);
      expect(hint.length, code).toBeGreaterThan(5);
      expect(status, code).toSatisfy((value: number) => value >= 400 && value < 600);
    }
  });

  it('has every placeholder filled wherever values are written out', () => {
    const unfilled = sources.flatMap(literalThrows).flatMap(({ where, code, keys }) => {
      const missing = placeholders(code).filter((name) => !keys.includes(name));
      return missing.map((name) => `${where}: ${code} leaves {${name}} empty`);
    });
    expect(unfilled).toEqual([]);
  });
});

function placeholders(code: ErrorCode): string[] {
  const { message, hint } = ERROR_CATALOGUE[code];
  return [...`${message} ${hint}`.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
}

interface LiteralThrow {
  readonly where: string;
  readonly code: ErrorCode;
  readonly keys: readonly string[];
}

/** Calls of `reverieError` whose code and values are both written out in place. */
function literalThrows(file: string): LiteralThrow[] {
  if (!textOf(file).includes('reverieError(')) return [];
  const source = syntaxOf(file);
  const found: LiteralThrow[] = [];
  walk(source, (node) => {
    if (!ts.isCallExpression(node) || node.expression.getText() !== 'reverieError') return;
    const [code, values] = node.arguments;
    if (!code || !ts.isStringLiteral(code)) return;
    const properties = values && ts.isObjectLiteralExpression(values) ? values.properties : undefined;
    if (values !== undefined && (properties === undefined || properties.some(ts.isSpreadAssignment))) return;
    const { line } = source.getLineAndCharacterOfPosition(node.getStart());
    const keys = (properties ?? []).map((property) => property.name?.getText() ?? '');
    found.push({ where: `${file}:${line + 1}`, code: code.text as ErrorCode, keys });
  });
  return found;
}
