// merge.mjs TARGET SRC… : TARGET becomes the concatenation of SRC… (in order; TARGET itself may be among them). Importers everywhere are rewritten.
// move: `merge.mjs NEW OLD` with one source.   Folder: `merge.mjs --dir NEWDIR OLDDIR`.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import ts from 'typescript';

const args = process.argv.slice(2);
const files = [];
const list = (d) => {
  if (!existsSync(d)) return;
  for (const n of readdirSync(d)) {
    if (['node_modules', 'dist', '.cache', 'results'].includes(n)) continue;
    const p = `${d}/${n}`;
    if (statSync(p).isDirectory()) list(p);
    else if (/\.(tsx?|mts)$/.test(n)) files.push(p);
  }
};
for (const d of ['src', 'test', 'benchmarks', 'packs', 'web']) list(d);
const groups = [];
if (args[0] === '--dir') {
  const [, to, from] = args;
  for (const f of files.filter((f) => f.startsWith(`${from}/`))) groups.push([to + f.slice(from.length), [f]]);
} else {
  const [target, ...src] = args;
  groups.push([target, src]);
}
const parse = (f, text) =>
  ts.createSourceFile(
    f,
    text ?? readFileSync(f, 'utf8'),
    ts.ScriptTarget.Latest,
    true,
    f.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS,
  );
const moved = new Map();
for (const [t, ss] of groups) for (const s of ss) if (s !== t) moved.set(s, t);
const all = new Set(files);
const resolve = (from, spec) => {
  if (!spec.startsWith('.')) return;
  const p = posix.join(posix.dirname(from), spec);
  for (const c of [p.replace(/\.js$/, '.ts'), p.replace(/\.js$/, '.tsx'), p, `${p}.ts`, `${p}.tsx`])
    if (all.has(c)) return c;
  return { outside: p };
};
const rel = (from, to, like) => {
  let r = posix.relative(posix.dirname(from), to);
  if (!r.startsWith('.')) r = `./${r}`;
  return /\.js$/.test(like) ? r.replace(/\.tsx?$/, '.js') : r;
};
// every string literal that is a relative module path
const specs = (sf) => {
  const out = [];
  const v = (n) => {
    if (ts.isStringLiteralLike(n) && /^\.\.?\//.test(n.text)) out.push(n);
    n.forEachChild(v);
  };
  v(sf);
  return out;
};
const isModuleRef = (n) => {
  const p = n.parent;
  return (
    ts.isImportDeclaration(p) ||
    ts.isExportDeclaration(p) ||
    (ts.isLiteralTypeNode(p) && ts.isImportTypeNode(p.parent)) ||
    (ts.isCallExpression(p) &&
      (p.expression.kind === ts.SyntaxKind.ImportKeyword ||
        /^vi\.|importActual|importOriginal/.test(p.expression.getText()))) ||
    (ts.isNewExpression(p) && p.expression.getText() === 'URL')
  );
};
// text of file f as it reads when it lives at `at`, with module references rewritten
function rewritten(f, at) {
  const sf = parse(f);
  let t = sf.text;
  for (const n of specs(sf).reverse()) {
    if (!isModuleRef(n)) {
      const r = resolve(f, n.text);
      if (typeof r === 'string' && (moved.has(r) || at !== f)) console.error(`LOOK ${f}: ${n.getText()}`);
      continue;
    }
    const r = resolve(f, n.text);
    const goal = typeof r === 'string' ? (moved.get(r) ?? r) : r.outside;
    if (at === f && (typeof r !== 'string' || !moved.has(r))) continue;
    if (at !== f && typeof r !== 'string' && ts.isNewExpression(n.parent)) {
    }
    const q = sf.text[n.getStart()];
    t =
      t.slice(0, n.getStart()) +
      q +
      (goal === at
        ? `./${posix.basename(at).replace(/\.tsx?$/, '.js')}`
        : rel(at, goal, n.text) + (typeof r !== 'string' && n.text.endsWith('/') ? '/' : '')) +
      q +
      t.slice(n.end);
  }
  return t;
}
const outputs = new Map();
for (const [target, sources] of groups) {
  const imports = [];
  const bodies = [];
  const names = new Map();
  let clash = false;
  let head = '';
  const self = `./${posix.basename(target).replace(/\.tsx?$/, '.js')}`;
  for (const s of sources) {
    const text = rewritten(s, target);
    const sf = parse(target, text);
    let first = true;
    let body = '';
    let bodyStart;
    for (const st of sf.statements) {
      if (ts.isImportDeclaration(st)) {
        if (first) head ||= text.slice(0, st.getStart()).trim();
        first = false;
        bodyStart = st.end;
        if (st.moduleSpecifier.text === self) {
          const els = st.importClause?.namedBindings?.elements ?? [];
          for (const e of els)
            if (e.propertyName) console.error(`ALIAS ${s}: ${e.getText()} (now in the same file: rename by hand)`);
          if (st.importClause && !st.importClause.namedBindings?.elements)
            console.error(`NAMESPACE ${s}: ${st.getText()}`);
        } else imports.push(st.getText());
        continue;
      }
      if (ts.isExportDeclaration(st) && st.moduleSpecifier?.text === self) {
        bodyStart = st.end;
        continue;
      }
      body += text.slice(bodyStart ?? 0, st.end);
      bodyStart = st.end;
      first = false;
      const add = (n) => {
        if (names.has(n) && names.get(n) !== s) {
          console.error(`CLASH ${n}: ${names.get(n)} and ${s}`);
          clash = true;
        }
        names.set(n, s);
      };
      if (ts.isVariableStatement(st))
        st.declarationList.declarations.forEach((d) => ts.isIdentifier(d.name) && add(d.name.text));
      else if (st.name && !ts.isModuleDeclaration(st)) add(st.name.text);
    }
    body += text.slice(bodyStart ?? 0);
    if (head && body.startsWith(head)) body = body.slice(head.length);
    bodies.push(body.trim());
  }
  if (clash) {
    console.error('Nothing was written: rename first.');
    process.exit(1);
  }
  outputs.set(target, `${head ? `${head}\n\n` : ''}${imports.join('\n')}\n\n${bodies.join('\n\n')}\n`);
}
const changed = [];
for (const f of files) {
  if (groups.some(([, ss]) => ss.includes(f))) continue;
  const t = rewritten(f, f);
  if (t !== readFileSync(f, 'utf8')) {
    writeFileSync(f, t);
    changed.push(f);
  }
}
for (const [, ss] of groups) for (const s of ss) rmSync(s);
for (const [t, text] of outputs) {
  mkdirSync(dirname(t), { recursive: true });
  writeFileSync(t, text);
  changed.push(t);
}
try {
  execFileSync(
    'npx',
    ['--no-install', 'biome', 'check', '--write', '--no-errors-on-unmatched', ...changed.filter((f) => existsSync(f))],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
} catch {
  console.error('biome has remarks: see `npx biome check`');
}
for (const [t] of outputs) console.log(`${t}: ${readFileSync(t, 'utf8').split('\n').length} lines`);
