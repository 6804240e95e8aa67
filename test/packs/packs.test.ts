// Packs are found by name and loaded when they are named; whoever writes such a folder has the same by `plugins`.

import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packModule, packsFolder } from '../../src/core/packs.js';
import { domains, makeDomain } from '../../src/env/tools/domains.js';
import { loadDomain } from '../../src/env/tools/load-domain.js';
import { loadToolsScenario } from '../../src/run/scenario.js';
import { jsonLines } from '../data.js';
import { answerHere } from '../e2e/reverie.js';
import { temporaryFolder } from '../temporary-folder.js';

const folder = temporaryFolder('packs');

/** A scenario of tools in a folder of its own. */
function written(name: string, domain: string, more = ''): string {
  const home = join(folder, name);
  mkdirSync(home, { recursive: true });
  const text = `family: tools\nname: ${name}\n${more}domain: ${domain}\nmodel: { kind: tools, backends: [rules] }\n`;
  writeFileSync(join(home, 'scenario.yaml'), text);
  return home;
}

/** The folder of the pack `cellar` as somebody else's: its name is another. */
function copied(home: string, name: string): void {
  cpSync(join(packsFolder(), 'cellar'), join(home, name), { recursive: true });
  const module = join(home, name, 'index.mjs');
  writeFileSync(module, readFileSync(module, 'utf8').replaceAll("'cellar'", `'${name}'`));
}

describe('a pack', () => {
  it('is loaded when one of its domains is named, and no sooner', async () => {
    expect(domains.has('cellar')).toBe(false);
    await loadToolsScenario('cellar');
    expect(domains.has('cellar')).toBe(false);
    await loadToolsScenario(written('named', '{ id: cellar }'));
    expect(domains.has('cellar')).toBe(true);
    expect(domains.has('helpdesk')).toBe(false);
  });

  it('is the domain of its folder', async () => {
    const [named, read] = [await makeDomain({ id: 'cellar' }), await loadDomain(join(packsFolder(), 'cellar'))];
    expect({ id: named.id, version: named.version }).toEqual({ id: read.id, version: read.version });
    for (const domain of [named, read]) domain.close();
  });

  it('may be named by a profile or a flag, which bring its keys with them', async () => {
    const home = written('flagged', '{}', 'profiles: { inn: { domain: { id: cellar } } }\n');
    expect((await loadToolsScenario(home, { profile: 'inn' })).config.domain).toEqual({ id: 'cellar' });
    const set = ['domain.id=tau-airline', 'domain.data=air', 'domain.release=tau1'];
    expect((await loadToolsScenario(home, { set })).config.domain).toMatchObject({ data: 'air', release: 'tau1' });
  });

  it('counts by its files in what a scenario is', async () => {
    const home = written('counted', '{ id: wine-vault }', 'plugins: [./wine-vault/index.mjs]\n');
    copied(home, 'wine-vault');
    const { hash } = await loadToolsScenario(home);
    writeFileSync(join(home, 'wine-vault', 'policy.md'), 'Drink nothing.');
    expect((await loadToolsScenario(home)).hash).not.toBe(hash);
  });

  it('is refused keys that are not its own, and settings that do not fit', async () => {
    const refused = (domain: string) => loadToolsScenario(written('refused', domain));
    await expect(refused('{ id: cellar, policy: other.md }')).rejects.toThrow(/Unknown key "domain.policy"/);
    await expect(refused('{ id: celar }')).rejects.toThrow(
      /"domain.id" is "celar"; expected one of "alfworld", "cellar", "helpdesk"/,
    );
    await expect(refused('{ id: tau-retail }')).rejects.toThrow(/"domain.data" is missing/);
    await expect(refused('{ id: tau-retail, data: x, relaese: tau1 }')).rejects.toMatchObject({
      code: 'UNKNOWN_KEY',
      hint: 'Did you mean "domain.release"?',
    });
    await expect(makeDomain({ id: 'celar' })).rejects.toMatchObject({ code: 'ENV_SPEC_INVALID' });
  });

  it('keeps its name: a plugin cannot take it, whichever is loaded first', async () => {
    const home = written('taken', '{ id: helpdesk }', 'plugins: [./taken.mjs]\n');
    const make = 'async () => async () => ({})';
    writeFileSync(
      join(home, 'taken.mjs'),
      `export default { domains: [{ name: 'helpdesk', summary: '', make: ${make} }] };`,
    );
    await expect(loadToolsScenario(home)).rejects.toMatchObject({ code: 'PLUGIN_UNUSABLE' });
    expect(packModule('helpdesk')).toMatch(/helpdesk/);
  });
});

describe('a folder of the same form, named by `plugins`', () => {
  it('dreams the same episodes under a name of its own', async () => {
    const home = written('guest', '{ id: inn }', 'plugins: [./inn/index.mjs]\n');
    copied(home, 'inn');
    const synth = ['--seed', '3', '--set', 'synth.episodes=2', '--set', 'synth.license=mit'];
    const [ours, theirs] = [join(folder, 'ours'), join(folder, 'theirs')];
    const host = written('host', '{ id: cellar }');
    expect(await answerHere('synth', host, '--out', ours, ...synth)).toMatchObject({ episodes: 2 });
    expect(await answerHere('synth', home, '--out', theirs, ...synth)).toMatchObject({ episodes: 2 });
    const lived = (out: string) => jsonLines(join(out, 'data', 'episodes.jsonl')).map(({ messages }) => messages);
    expect(lived(theirs)).toEqual(lived(ours));
  });

  it('keeps its contract and passes its own must-fail suite, whose probes lie in it', async () => {
    const home = join(folder, 'guest');
    expect(await answerHere('check-env', home)).toMatchObject({ passed: true });
    const audited = async (scenario: string, out: string) => {
      const { mustFail } = await answerHere('audit', scenario, '--out', join(folder, out));
      return { ...mustFail, report: null };
    };
    expect(await audited(home, 'audited')).toEqual(await audited('cellar', 'audited-ours'));
  });
});
