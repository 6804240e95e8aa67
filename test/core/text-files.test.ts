// Files that people write are UTF-8: in another encoding they are refused, as their letters would silently be others.

import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readText } from '../../src/core/files.js';
import { readGame } from '../../src/games/pddl/text-game.js';
import { draftInto } from '../../src/run/draft.js';
import { loadAnyScenario } from '../../src/run/scenario.js';
import { readGraph } from '../../src/screens/graph/graph-file.js';
import { qualitySchema } from '../../src/synth/quality/quality-config.js';
import { QualityPipeline } from '../../src/synth/quality/quality-pipeline.js';
import { readProbes } from '../../src/worldmodel/must-fail/probes.js';
import { fixture } from '../env/tools/library.js';
import { parcelDomain } from '../synth/episode-records.js';
import { temporaryFolder } from '../temporary-folder.js';

const folder = temporaryFolder('text');
const domain = parcelDomain();

/** "ü" of Latin-1 in the second line. */
function written(name: string, lines: string): string {
  const file = join(folder, name);
  writeFileSync(file, Buffer.from(lines, 'latin1'));
  return file;
}

const probe = '- name: M\n  kind: unknown-id # für\n  expect: refuse\n  call: { name: track, arguments: {} }\n';
const CASES: [string, () => unknown][] = [
  ['a scenario', () => loadAnyScenario(written('scenario.yaml', 'name: a\ndescription: für\nfamily: vector\n'))],
  ['probes', () => readProbes(written('probes.yaml', probe), domain)],
  ['a graph', () => readGraph(written('graph.yaml', 'name: a\ntitle: für\n'))],
  ['a game', () => readGame({ name: 'a', files: [written('game.tw-pddl', '{"pddl_domain": "",\n"x": "für"}')] })],
  ['a description', () => draftInto(join(folder, 'new'), { from: written('about.md', 'A shop\nfür') } as never)],
  [
    'a domain to be filled',
    () => {
      const into = join(folder, 'shop');
      cpSync(fixture('library'), into, { recursive: true });
      rmSync(join(into, 'tasks.yaml'));
      written('shop/policy.md', 'A shop\nfür');
      return draftInto(into, { into: {} } as never);
    },
  ],
  [
    'what must not leak',
    () => {
      const config = qualitySchema.parse({ decontaminate: { files: [written('benchmark.txt', 'a\nfür')] } });
      return new QualityPipeline({ config, domain });
    },
  ],
];

test.each(CASES)('%s is refused with the line', async (_, read) => {
  const reading = (async () => read())();
  await expect(reading).rejects.toThrow(/line 2 is not UTF-8: save the file in this encoding/);
  await expect(reading).rejects.toHaveProperty('code');
});

test('a mark of byte order is no part of a text', () => {
  writeFileSync(join(folder, 'marked.txt'), '\uFEFFfür');
  expect(readText(join(folder, 'marked.txt'))).toBe('für');
});
