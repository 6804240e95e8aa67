// Plugins that a scenario names: how they are found, what counts of them, and how they are refused.

import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { environments, makeEnvironment } from '../../src/env/environments.js';
import { kinds } from '../../src/kinds/registry.js';
import {
  loadAnyScenario,
  loadScenario,
  loadToolsScenario,
  reviveScenario,
  scenarioText,
} from '../../src/run/scenario.js';
import { transitionExports } from '../../src/synth/export/transition-exports.js';
import { temporaryFolder } from '../temporary-folder.js';

const folder = temporaryFolder('plugins');

const environment = (name: string) =>
  `{ name: '${name}', summary: 'Nothing moves.', make: async () => async () => { throw new Error('not made'); } }`;

/** A folder with a scenario that names `./plugin.mjs`, and that module. */
function written(name: string, module: string, plugins = '[./plugin.mjs]', env = 'pendulum'): string {
  const home = join(folder, name);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'plugin.mjs'), module);
  writeFileSync(join(home, 'scenario.yaml'), `name: ${name}\nplugins: ${plugins}\nenv: { id: ${env} }\n`);
  return home;
}

describe('a plugin', () => {
  it('is loaded before the scenario that names it is checked, and stays with it when it is saved', async () => {
    const home = written('still', `export default { environments: [${environment('still')}] };`, undefined, 'still');
    const scenario = await loadScenario(home);
    expect(environments.has('still')).toBe(true);
    expect(scenario.config.plugins).toEqual(['./plugin.mjs']);
    expect(await reviveScenario(JSON.parse(JSON.stringify(scenario)), 'scenario.json')).toEqual(scenario);
    expect(scenarioText(scenario)).toContain('- ./plugin.mjs');
  });

  it('may bring an environment with a key that a body has, too, and means otherwise', async () => {
    const module = `
      import { z } from 'reverie/extend';
      const schema = z.strictObject({ reward: z.enum(['dense', 'sparse']) });
      export default { environments: [{ name: 'paid', summary: 'Nothing moves.', schema, make: async () => async () => undefined }] };`;
    const home = written('paid', module, undefined, 'paid, reward: sparse');
    expect((await loadScenario(home)).config.env).toEqual({ id: 'paid', reward: 'sparse' });
    const wrong = expect.objectContaining({ message: expect.stringMatching(/"env.reward" is "rare".*"sparse"/) });
    await expect(loadScenario(home, { set: ['env.reward=rare'] })).rejects.toEqual(wrong);
    const body = makeEnvironment({ id: 'hopper', reward: 'sparse' as never });
    await expect(body).rejects.toMatchObject({ code: 'ENV_SPEC_INVALID' });
  });

  it('may bring a format of transitions, which synth.export then takes', async () => {
    const module = `export default { transitionExports: [{ name: 'rewards', summary: 'Rewards alone.', target: 'rewards.txt',
      make: async () => async (rows) => (await rows.read(0, rows.rows, ['reward'])).reward }] };`;
    const home = written('formats', module);
    const { config } = await loadScenario(home, { set: ['synth.export=[rewards, parquet]'] });
    expect(config.synth.export).toEqual(['rewards', 'parquet']);
    expect(transitionExports.get('rewards').target).toBe('rewards.txt');
    await expect(loadScenario(home, { set: ['synth.export=[reward]'] })).rejects.toThrow(/"rewards"/);
  });

  it('counts by its bytes in what the scenario is', async () => {
    const home = written('counted', 'export default { environments: [] };');
    const scenario = await loadScenario(home);
    writeFileSync(join(home, 'plugin.mjs'), 'export default { environments: [] }; // changed');
    expect((await loadScenario(home)).hash).not.toBe(scenario.hash);
    await expect(reviveScenario(scenario, 'scenario.json')).rejects.toMatchObject({ code: 'SCENARIO_CHANGED' });
  });

  it('may be a package that is installed beside the scenario, one for import alone too', async () => {
    const home = written('packaged', '', '[still-worlds]', 'packaged');
    const home2 = join(home, 'node_modules', 'still-worlds');
    mkdirSync(home2, { recursive: true });
    const manifest = { name: 'still-worlds', type: 'module', exports: { '.': { import: './main.js' } } };
    writeFileSync(join(home2, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(home2, 'main.js'), `export default { environments: [${environment('packaged')}] };`);
    expect((await loadScenario(home)).config.env.id).toBe('packaged');
  });

  it('may bring a format of datasets, which a scenario of tools may then name', async () => {
    const module = `
      const make = async () => () => ({ tables: { default: {} },
        *rows({ id }) { yield { split: 'train', value: { id } }; } });
      export default { exports: [{ name: 'ids-alone', summary: 'Ids, one a line.', make }] };`;
    const home = written('exported', module);
    const text = readFileSync('packs/helpdesk/scenario.yaml', 'utf8');
    cpSync('packs/helpdesk', home, { recursive: true });
    writeFileSync(join(home, 'plugin.mjs'), module);
    writeFileSync(join(home, 'scenario.yaml'), `plugins: [./plugin.mjs]\n${text}`);
    const scenario = await loadToolsScenario(home, { set: ['synth.export=[ids-alone]'] });
    expect(scenario.config.synth.export).toEqual(['ids-alone']);
    await expect(loadToolsScenario(home, { set: ['synth.export=[ids]'] })).rejects.toThrow(/"ids-alone"/);
  });

  it('may bring a kind of world with sections of its own', async () => {
    const module = `
      import { z } from 'reverie/extend';
      const keys = { family: z.literal('dice'), name: z.string(), description: z.string().default(''), plugins: z.array(z.string()),
        sides: z.int().default(6), seed: z.int().default(0), workers: z.int().default(0) };
      const schema = z.strictObject(keys);
      const fileSchema = z.strictObject({ ...keys, profiles: z.record(z.string(), z.looseObject({})).default({}) });
      export default { kinds: [{ name: 'dice', summary: 'Dice.', representation: 'numbers', jobs: {},
        scenario: async () => ({ schema, fileSchema }) }] };`;
    const home = written('dice', module);
    writeFileSync(join(home, 'scenario.yaml'), 'family: dice\nname: dice\nplugins: [./plugin.mjs]\n');
    const scenario = await loadAnyScenario(home, { set: ['sides=8'] });
    expect(scenario).toMatchObject({ family: 'dice', config: { sides: 8 } });
    expect(kinds.has('dice')).toBe(true);
  });
});

describe('a plugin is refused', () => {
  const refused = (home: string, code: string, text: string | RegExp) =>
    expect(loadAnyScenario(home)).rejects.toMatchObject({ code, message: expect.stringMatching(text) });

  it('where there is none', async () => {
    await refused(written('absent', '', '[./none.mjs]'), 'PLUGIN_UNUSABLE', /"\.\/none\.mjs"/);
    await refused(written('uninstalled', '', '[no-such-worlds]'), 'PLUGIN_UNUSABLE', /"no-such-worlds"/);
    await refused(written('bare', '', 'plugin.mjs'), 'SCENARIO_INVALID', /expected array/);
  });

  it('that throws, exports nothing, or what is none', async () => {
    await refused(written('throwing', 'throw new Error("on import");'), 'PLUGIN_UNUSABLE', /on import/);
    await refused(written('silent', 'export const nothing = 1;'), 'PLUGIN_UNUSABLE', /no default export/);
    await refused(written('empty', 'export default {};'), 'PLUGIN_UNUSABLE', /is empty/);
    await refused(written('astray', 'export default { worlds: [] };'), 'PLUGIN_UNUSABLE', /"worlds" is none of kinds/);
    const nameless = 'export default { learners: [{ summary: "" }] };';
    await refused(written('nameless', nameless), 'PLUGIN_UNUSABLE', /learners\[0\] is no learner: it has no name/);
  });

  it('whose name is taken, or none', async () => {
    const taken = `export default { environments: [${environment('pendulum')}] };`;
    await refused(written('taken', taken), 'PLUGIN_UNUSABLE', /environment "pendulum".*taken/);
    const odd = `export default { environments: [${environment('Odd Name')}] };`;
    await refused(written('odd', odd), 'PLUGIN_UNUSABLE', /lower-case/);
  });

  it('in a profile or a flag, which are read too late', async () => {
    const home = written('late', 'export default { environments: [] };');
    const flag = loadAnyScenario(home, { set: ['plugins=[./other.mjs]'] });
    await expect(flag).rejects.toThrow(/top of the file alone/);
    const text = `name: late\nenv: { id: pendulum }\nprofiles: { more: { plugins: [./plugin.mjs] } }\n`;
    writeFileSync(join(home, 'scenario.yaml'), text);
    await refused(home, 'SCENARIO_INVALID', /top of the file alone/);
  });

  it('where the scenario comes from elsewhere', async () => {
    const scenario = await loadAnyScenario(written('elsewhere', 'export default { environments: [] };'));
    const revived = reviveScenario(scenario, 'of the queue', { plugins: false });
    await expect(revived).rejects.toMatchObject({ code: 'PLUGIN_UNUSABLE' });
  });
});
