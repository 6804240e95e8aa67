// A world of tools with a rule that never comes to an end, and one that counts.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const FILES: Readonly<Record<string, string>> = {
  'scenario.yaml':
    'family: tools\nname: spinning\nmodel: { kind: tools, backends: [rules] }\nagent: { kind: reference }\n',
  'policy.md': 'Count, and do not spin.\n',
  'state.json': '{ "count": 0 }',
  'state.schema.json': '{ "type": "object", "properties": { "count": { "type": "integer" } }, "required": ["count"] }',
  'tools.yaml': `
- { name: count, kind: write, description: Counts., parameters: { type: object, properties: {}, additionalProperties: false } }
- { name: spin, kind: write, description: Never ends., parameters: { type: object, properties: {}, additionalProperties: false } }
`,
  'tasks.yaml': `
- id: count
  family: counting
  user: { opening: Count to two., goal: Count to two., script: [{ say: Thank you., done: true }] }
  verifier: { checks: [counted] }
  reference: { calls: [{ name: count, arguments: {} }, { name: count, arguments: {} }], say: I am done. }
`,
  'rules.js': `
export const tools = {
  count(state) {
    state.count += 1;
    return 'This is ' + state.count + '.';
  },
  spin(state) {
    while (true) state.count;
  },
};
export const checks = { counted: ({ finalState }) => finalState.count === 2 };
`,
};

/** Writes it to a folder of its own, which is a scenario. */
export function spinningWorld(): string {
  const folder = mkdtempSync(join(tmpdir(), 'reverie-spinning-'));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  return folder;
}
