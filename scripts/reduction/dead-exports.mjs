// dead.mjs ROOM… : exports of src/ROOM that no other file names (DEAD or only used in their own file), or that tests alone name.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';

const files = new Map();
const list = (d) => {
  if (!existsSync(d)) return;
  for (const n of readdirSync(d)) {
    if (['node_modules', 'dist', '.cache', 'results'].includes(n)) continue;
    const p = `${d}/${n}`;
    if (statSync(p).isDirectory()) list(p);
    else if (/\.(tsx?|mts|mjs|js)$/.test(n)) files.set(p, readFileSync(p, 'utf8'));
  }
};
for (const d of ['src', 'test', 'benchmarks', 'packs', 'web', 'examples', 'scripts', 'docs']) list(d);
const words = new Map();
for (const [f, t] of files)
  for (const w of new Set(t.match(/[A-Za-z_$][\w$]*/g) ?? [])) {
    if (!words.has(w)) words.set(w, []);
    words.get(w).push(f);
  }
for (const room of process.argv.slice(2))
  for (const [f, t] of files) {
    if (!f.startsWith(`src/${room}/`)) continue;
    for (const m of t.matchAll(
      /^export (?:async |abstract |declare )*(?:function\*?|const|let|class|interface|type|enum) ([\w$]+)/gm,
    )) {
      const users = words.get(m[1]).filter((u) => u !== f);
      const prod = users.filter((u) => !u.startsWith('test/'));
      if (prod.length) continue;
      const own = [...t.matchAll(new RegExp(`\\b${m[1].replace(/\$/g, '\\$')}\\b`, 'g'))].length > 1;
      console.log(
        `${users.length ? 'TEST-ONLY' : own ? 'UNEXPORT ' : 'DEAD     '} ${f}: ${m[1]}${users.length && !own ? ' (and not used in its own file)' : ''}`,
      );
    }
  }
