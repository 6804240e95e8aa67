// node codes.mjs ROOT: merges error codes at their throw sites.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const root = process.argv[2];
const require = createRequire(root + '/package.json');
const ts = require('typescript');
const G = {
  SETTING_INVALID: [
    400,
    'MODEL_CONFIG_INVALID REPLAY_OPTION_INVALID POOL_OPTION_INVALID DREAM_INVALID CURRICULUM_INVALID EXPERIENCE_INVALID DECODER_CONFIG_INVALID',
  ],
  DATA_MISMATCH: [
    400,
    'FEED_MISMATCH PARAMETER_UNKNOWN GRAPH_MISMATCH ROW_SCHEMA_INVALID EPISODE_TOO_LONG ROW_OUT_OF_RANGE COLUMN_INVALID PROVENANCE_INVALID FIDELITY_NUMBERS_INVALID MODEL_INPUT_INVALID',
  ],
  CLOSED: [409, 'SESSION_RELEASED POOL_CLOSED'],
  MODEL_FILE_INVALID: [
    400,
    'MODEL_NOT_FOUND MODEL_NOT_A_FILE MODEL_TOO_LARGE MODEL_INVALID MODEL_EXTERNAL_DATA TOKENIZER_INVALID DECODER_FOLDER_INVALID POLICY_INVALID',
  ],
  NOT_PORTABLE: [409, 'MODEL_NOT_PORTABLE TASK_NOT_PORTABLE'],
  INPUT_INVALID: [409, 'FIDELITY_TRUTH_UNFIT FIDELITY_SUBJECT_UNFIT FIDELITY_UNFIT INPUT_UNFIT FIDELITY_HELD_OUT_SEEN'],
  INPUT_NEEDED: [404, 'INPUT_NEEDED INPUT_NOT_FOUND FIDELITY_NO_MODEL'],
  GATE_INVALID: [400, 'FIDELITY_GATE_INVALID FIDELITY_METRIC_UNKNOWN'],
  FILE_INVALID: [
    422,
    'LABEL_INVALID AUDIT_INVALID MUST_FAIL_INVALID EXPERIENCE_STORE_INVALID LOG_INVALID BATCH_RESULTS_INVALID METRICS_CORRUPT LLM_CACHE_CORRUPT FIDELITY_REPORT_INVALID FIDELITY_REPORT_MISSING OPERATORS_INVALID INDUCED_RULES_INVALID GRAPH_INVALID QUALITY_FILE_UNREADABLE ARCHIVE_UNREADABLE GAME_FILE_INVALID',
  ],
  DOMAIN_UNFIT: [
    422,
    'TEXT_COMMANDS_UNKNOWN TEXT_TOO_MANY_COMMANDS TEXT_CHOICES_TOO_MANY TEXT_WRITING_UNFIT TEXT_SCREEN_UNREADABLE TEXT_VALUES_UNFIT TEXT_TASKS_MISSING AGENT_UNFIT SCREENS_NEEDED OPERATORS_NO_FACTS',
  ],
  SCENARIO_UNFIT: [
    400,
    'WALKS_TOO_FEW TASKS_MISSING AIM_EMPTY INDUCTION_EMPTY ADMISSION_NEEDS_ANSWERS VARIATION_NEEDS_MODEL MODEL_BACKENDS_MISSING',
  ],
  WALK_INVALID: [422, 'WALK_PRUNED WALK_REFUSED', 'episode'],
  REPLY_INVALID: [502, 'USER_TURN_INVALID TRAJECTORY_INVALID', 'episode'],
  ENV_UNUSABLE: [
    422,
    'GYMNASIUM_NO_PYTHON GYMNASIUM_MISSING GYMNASIUM_IMPORT GYMNASIUM_UNKNOWN GYMNASIUM_SPACE JAVA_MISSING JAR_NOT_FOUND JAVA_GAME_UNKNOWN BROWSER_MISSING PAGES_NOT_FOUND APP_NOT_FOUND GAMES_NOT_FOUND SCREENSHOTS_UNAVAILABLE UPLOADS_UNAVAILABLE MJCF_INVALID',
  ],
  ENV_FAILED: [502, 'GYMNASIUM_FAILED GYMNASIUM_DIED GYMNASIUM_TIMEOUT'],
  ENV_NOT_REPEATABLE: [409, 'GYMNASIUM_NOT_REPEATABLE GAME_CHANGED'],
  EPISODE_FAILED: [502, 'BROWSER_DIED JAVA_DIED JAVA_GAME_FAILED', 'episode'],
  PAGE_UNSTABLE: [502, 'PAGE_FAILED PAGE_NOT_REPEATABLE JAVA_GAME_NOT_REPEATABLE', 'attempt'],
  PDDL_UNFIT: [422, 'PDDL_INVALID PDDL_UNSUPPORTED'],
  DOMAIN_FILE_INVALID: [400, 'DOMAIN_NOT_FOUND DOMAIN_INVALID'],
  PLUGIN_UNUSABLE: [400, 'PLUGIN_NOT_FOUND PLUGIN_FAILED PLUGIN_INVALID'],
  NAME_UNKNOWN: [404, 'PROFILE_UNKNOWN INDUCED_RULE_UNKNOWN PAGE_UNKNOWN ENV_UNKNOWN'],
  DRAFT_UNUSABLE: [422, 'DRAFT_REFUSED DRAFT_INVALID WORLD_NOT_CARRIED'],
  OUTPUT_EXISTS: [409, 'RUN_EXISTS OUT_NOT_EMPTY EXPORT_EXISTS'],
  QUEUE_REFUSED: [409, 'QUEUE_JOB_REFUSED QUEUE_UNSUITED QUEUE_URL_INVALID'],
  ROLLOUT_GIVEN_UP: [500, 'ROLLOUT_LOST ROLLOUT_FAILED', 'episode'],
  BENCHMARK_FAILED: [500, 'BENCHMARK_UNKNOWN BENCHMARK_USAGE BENCHMARK_PEER_FAILED BENCHMARK_GPU_FAILED'],
  DEVICE_UNAVAILABLE: [503, 'CUDA_UNAVAILABLE NATIVE_UNAVAILABLE DEVICE_UNSUPPORTED'],
  DEVICE_FAILED: [500, 'CUDA_OUT_OF_MEMORY CUDA_FAILED'],
  STATE_MISMATCH: [
    409,
    'CHECKPOINT_MISMATCH SELECTOR_STATE_MISMATCH DEVICE_CHANGED JOURNAL_MISMATCH RUN_NOT_RESUMABLE PANEL_DIFFERS',
  ],
  EVALUATION_SET_UNREADABLE: [400, 'PANEL_UNREADABLE'],
  SERVER_FAULT: [502, 'SERVER_REFUSED SERVER_ANSWER_INVALID REMOTE_ANSWER_INVALID'],
  LLM_FAULT: [502, 'LLM_REPLY_UNREADABLE LLM_UNREACHABLE'],
  LLM_PROMPT_INVALID: [400, 'LLM_PROMPT_TOO_LONG CONTEXT_TOO_LONG'],
};
const files = [];
const walk = (d) => {
  for (const e of fs.readdirSync(d, { withFileTypes: true })) {
    if (e.name === 'node_modules' || e.name === 'results' || e.name === '.cache' || e.name === 'dist') continue;
    const p = path.join(d, e.name);
    if (e.isDirectory()) walk(p);
    else if (/\.tsx?$/.test(e.name)) files.push(p);
  }
};
for (const r of ['src', 'packs', 'benchmarks', 'test', 'web', 'clients'])
  if (fs.existsSync(path.join(root, r))) walk(path.join(root, r));
const isCatalogue = (f) => f.includes('/core/error-catalogue') || f.endsWith('/core/errors.ts');
const catFiles = files.filter(isCatalogue);
// catalogue entries, by AST
const entries = {};
for (const f of catFiles) {
  const s = ts.createSourceFile(f, fs.readFileSync(f, 'utf8'), ts.ScriptTarget.Latest, true);
  const v = (n) => {
    if (
      ts.isPropertyAssignment(n) &&
      ts.isObjectLiteralExpression(n.initializer) &&
      n.initializer.properties.some((p) => p.name?.text === 'message') &&
      n.initializer.properties.some((p) => p.name?.text === 'status')
    ) {
      const g = (k) => {
        const p = n.initializer.properties.find((q) => q.name?.text === k);
        return p && (ts.isNumericLiteral(p.initializer) ? Number(p.initializer.text) : p.initializer.text);
      };
      entries[n.name.text] = { status: g('status'), message: g('message'), hint: g('hint'), costs: g('costs') };
    }
    ts.forEachChild(n, v);
  };
  v(s);
}
const target = {};
for (const [k, [status, list, costs]] of Object.entries(G))
  for (const c of list.split(' ')) if (entries[c]) target[c] = { to: k, status, costs };
const sites = {};
const bad = new Set();
const why = {};
const names = new RegExp(`['"](${Object.keys(target).join('|')})['"]`);
for (const f of files) {
  if (isCatalogue(f) || f.includes('/test/')) continue;
  const text = fs.readFileSync(f, 'utf8');
  if (!names.test(text)) continue;
  const s = ts.createSourceFile(
    f,
    text,
    ts.ScriptTarget.Latest,
    true,
    f.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS,
  );
  const v = (n) => {
    if (ts.isStringLiteralLike(n) && target[n.text]) {
      const call = n.parent;
      const c = n.text;
      let ok = false;
      let reason = 'not a throw';
      if (ts.isCallExpression(call) && call.expression.getText() === 'reverieError' && call.arguments[0] === n) {
        const a = call.arguments[1];
        reason = 'values not literal';
        if (
          a &&
          ts.isObjectLiteralExpression(a) &&
          !a.properties.some((p) => ts.isSpreadAssignment(p) || ts.isMethodDeclaration(p))
        ) {
          const need = new Set([...`${entries[c].message} ${entries[c].hint}`.matchAll(/\{(\w+)\}/g)].map((m) => m[1]));
          const have = {};
          for (const p of a.properties)
            have[p.name.text] = ts.isShorthandPropertyAssignment(p) ? p.name.text : p.initializer.getText();
          reason = 'placeholder missing';
          ok = [...need].every((k) => k in have);
          if (ok) (sites[c] ??= []).push({ f, a, n, have });
        }
      }
      if (!ok) {
        bad.add(c);
        why[c] = `${reason} ${path.relative(root, f)}`;
      }
    }
    ts.forEachChild(n, v);
  };
  v(s);
}
const MAX = 4;
for (const c of Object.keys(sites))
  if (sites[c].length > MAX) {
    bad.add(c);
    why[c] = `${sites[c].length} sites`;
  }
for (const c of Object.keys(target))
  if (!sites[c] && !bad.has(c)) {
    bad.add(c);
    why[c] = 'no site';
  }
// a group of one merges nothing
for (const k of Object.keys(G)) {
  const m = Object.keys(target).filter((c) => target[c].to === k && !bad.has(c));
  if (m.length < 2 && k !== 'EVALUATION_SET_UNREADABLE')
    for (const c of m) {
      bad.add(c);
      why[c] = 'alone';
    }
}
const merged = Object.keys(target).filter((c) => !bad.has(c));
const unfound = Object.keys(entries).filter((c) => false);
// edits
const edits = {};
const asTemplate = (text, have) => {
  const parts = text.split(/\{(\w+)\}/);
  const esc = (t) => t.replace(/\\/g, '\\\\').replace(/`/g, '\\`').replace(/\$\{/g, '\\${');
  if (parts.length === 1) return text.includes("'") ? JSON.stringify(text) : `'${text}'`;
  if (parts.length === 3 && parts[0] === '' && parts[2] === '') return have[parts[1]];
  return (
    '`' +
    parts
      .map((p, i) => {
        if (i % 2 === 0) return esc(p);
        const e = have[p];
        const lit = /^'([^'\\]*)'$/.exec(e);
        return lit ? esc(lit[1]) : `\${${e}}`;
      })
      .join('') +
    '`'
  );
};
for (const c of merged)
  for (const { f, a, n, have } of sites[c]) {
    const m = asTemplate(entries[c].message, have),
      h = asTemplate(entries[c].hint, have);
    const extra = Object.entries(have)
      .filter(([k]) => ['retryable', 'ofModel', 'usage'].includes(k))
      .map(([k, v]) => (k === v ? `, ${k}` : `, ${k}: ${v}`))
      .join('');
    const props = `{ ${m === 'problem' ? 'problem' : `problem: ${m}`}, ${h === 'hint' ? 'hint' : `hint: ${h}`}${extra} }`;
    (edits[f] ??= []).push([n.getStart(), n.getEnd(), `'${target[c].to}'`], [a.getStart(), a.getEnd(), props]);
  }
for (const [f, list] of Object.entries(edits)) {
  let t = fs.readFileSync(f, 'utf8');
  for (const [s, e, r] of list.sort((x, y) => y[0] - x[0])) t = t.slice(0, s) + r + t.slice(e);
  fs.writeFileSync(f, t);
}
// comments, tests
const word = new RegExp(`\\b(${merged.join('|')})\\b`, 'g');
for (const f of files) {
  if (isCatalogue(f)) continue;
  const t = fs.readFileSync(f, 'utf8');
  let u = t.replace(word, (c) => target[c].to);
  if (u !== t) {
    u = u.replace(/(@throws[^\n]*)/g, (l) => {
      const seen = new Set();
      return l.replace(/\b[A-Z]+(?:_[A-Z]+)+\b(, | or | and )?/g, (m) => m);
    });
    fs.writeFileSync(f, u);
  }
}
// the catalogue
const out = [];
const group = new Set();
const entry = (k, e) =>
  `  ${k}: { status: ${e.status}, message: ${JSON.stringify(e.message)}, hint: ${JSON.stringify(e.hint)}${e.costs ? `, costs: '${e.costs}'` : ''} },`;
const used = files
  .filter((f) => !isCatalogue(f) && !f.includes('/test/'))
  .map((f) => fs.readFileSync(f, 'utf8'))
  .join('\n');
for (const c of Object.keys(entries)) {
  if (merged.includes(c)) {
    const t = target[c];
    if (!group.has(t.to)) {
      group.add(t.to);
      out.push(entry(t.to, { status: t.status, message: '{problem}', hint: '{hint}', costs: t.costs }));
    }
  } else if (used.includes(`'${c}'`)) out.push(entry(c, entries[c]));
  else console.log('dead code', c);
}
const dir = path.join(root, 'src/core/error-catalogue');
fs.rmSync(dir, { recursive: true, force: true });
fs.writeFileSync(
  path.join(root, 'src/core/error-catalogue.ts'),
  `// Every failure that a user can cause: code, sentence, way out and HTTP status. Where the sentence is "{problem}", several failures share
// a code that nobody tells apart, and the place that throws writes the sentence.

export interface ErrorEntry {
  /** HTTP status a server answers with. */
  readonly status: number;
  /** The sentence; \`{name}\` is replaced by the value of that name. */
  readonly message: string;
  /** What the user can do about it; same placeholders. */
  readonly hint: string;
  /**
   * What is lost of a job of many episodes: \`episode\`, the one that met it, which would end alike if it were run again; \`attempt\`, this
   * try at the episode, which is begun again a few times before it is given up. Absent: the job ends.
   */
  readonly costs?: 'episode' | 'attempt';
}

export const ERROR_CATALOGUE = {
${out.join('\n')}
} as const satisfies Record<string, ErrorEntry>;
`,
);
const ef = path.join(root, 'src/core/errors.ts');
let e = fs.readFileSync(ef, 'utf8');
const a = e.indexOf('import {'),
  b = e.indexOf('export type ErrorCode');
e = `${e.slice(0, a)}import { ERROR_CATALOGUE, type ErrorEntry } from './error-catalogue.js';\n\nexport { ERROR_CATALOGUE };\n\n${e.slice(b)}`;
fs.writeFileSync(ef, e);
fs.writeFileSync('/tmp/codes-merged.txt', merged.map((c) => `code: ${c} → ${target[c].to}`).join('\n') + '\n');
console.log(Object.keys(entries).length, '→', out.length, 'merged', merged.length);
for (const c of bad) console.log('kept', c, why[c]);
for (const f of files) {
  if (isCatalogue(f)) continue;
  const t = fs.readFileSync(f, 'utf8');
  const u = t.replace(/error-catalogue\/(index|error-entry)\.js/g, 'error-catalogue.js');
  if (u !== t) fs.writeFileSync(f, u);
}
