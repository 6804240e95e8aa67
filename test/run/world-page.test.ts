// A learned world in a page: what it answers there, by ONNX Runtime compiled to WebAssembly, is what it answers here.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rng } from '../../src/core/rng.js';
import {
  applyOperations,
  type CarriedGames,
  carriedDomain,
  initialStateOf,
  makeDomain,
  type Prediction,
  ScriptedUser,
  stateHash,
  type ToolsDomain,
  ToolsEpisodeEnvironment,
  textEnvironment,
} from '../../src/env/index.js';
import type { ExperienceStep } from '../../src/replay/index.js';
import { writeWorldPage } from '../../src/run/world-page/write-world-page.js';
import { induceOperators, recordedTries } from '../../src/synth/index.js';
import { makeRouter, parseToolsModelConfig } from '../../src/worldmodel/index.js';
import { fitSequence } from '../../src/worldmodel/sequence/fit.js';
import type { LearnedEpisode } from '../../src/worldmodel/sequence/recorded-steps.js';
import { saveSequence } from '../../src/worldmodel/sequence/sequence-folder.js';
import { sequenceSection } from '../../src/worldmodel/sequence/settings.js';
import { builtWorldPage, launchBrowser, noBrowser, watchedPage } from '../serve/page/browser.js';
import { DEPOT_DOMAIN, DEPOT_GRAMMAR, depotProblem } from '../synth/operators/depot.js';
import { depotEpisodes } from '../worldmodel/sequence/depot-records.js';

const root = mkdtempSync(join(tmpdir(), 'reverie-world-page-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Half trained, so that it is often wrong. */
const SIZES = { rows: 4, length: 128, hidden: 32, layers: 2, heads: 2, kvHeads: 1, vocabulary: 450, heldOut: 0.5 };
const MODEL = {
  backends: ['sequence', 'operators'],
  sequence: { model: 'small', minExactness: 0, minConfidence: 0 },
  operators: { file: 'operators.json', minConfidence: 0 },
};
const COMMANDS = ['look', 'go to cellar', 'open trunk', 'take rope from trunk', 'dance', 'put rope into basket'];

let domain: ToolsDomain;
beforeAll(async () => {
  mkdirSync(join(root, 'games'));
  const files = { 'domain.pddl': DEPOT_DOMAIN, 'grammar.twl': DEPOT_GRAMMAR };
  const problems = ['one', 'two', 'three'].map((name) => [`${name}.pddl`, depotProblem(name)]);
  for (const [name, text] of [...Object.entries(files), ...problems]) writeFileSync(join(root, 'games', name), text);
  const games = { id: 'text-games', folder: 'games' };
  const scenario = { family: 'tools', name: 'depot', domain: games, model: { kind: 'tools', ...MODEL } };
  writeFileSync(join(root, 'scenario.yaml'), JSON.stringify(scenario));
  domain = await makeDomain(games, { folder: root });
  const episodes = depotEpisodes(domain, [1, 2], 40);
  const settings = sequenceSection.parse({ fit: { ...SIZES, learningRate: 4e-3, steps: 120, heldOutSteps: 20 } });
  await saveSequence(join(root, 'small'), await fitSequence({ domain, episodes, settings, rng: Rng.fromSeed(1) }));
  const tries = recordedTries(experienceOf(episodes), domain);
  writeFileSync(join(root, 'operators.json'), JSON.stringify(induceOperators(tries)));
}, 120_000);

describe('a world in a page', () => {
  it('has the games whole, and nothing else of their domain', () => {
    const carried = carriedDomain(JSON.parse(JSON.stringify(domain.carry!(['two', 'one']))) as CarriedGames);
    expect(carried.tasks.map(({ id }) => id)).toEqual(['two', 'one']);
    expect(walk(carried)).toEqual(walk(domain));
    expect(() => domain.carry!(['four'])).toThrow(/has no task "four"/);
  });

  it('refuses a world that lives from files and services', async () => {
    const page = writeWorldPage('helpdesk', { tasks: 1, out: join(root, 'desk.html'), built: await builtWorldPage() });
    await expect(page).rejects.toMatchObject({ code: 'WORLD_NOT_CARRIED' });
  });

  it.skipIf(noBrowser)('answers there as it does here', async () => {
    const out = join(root, 'world.html');
    const built = await builtWorldPage();
    const written = await writeWorldPage(root, { tasks: 1, out, built });
    expect(written).toMatchObject({ tasks: 1, backends: ['sequence', 'operators'], absent: [] });
    const browser = await launchBrowser();
    try {
      const { page, complaints } = await watchedPage(browser, 'null');
      await page.goto(pathToFileURL(out).href);
      const told = await played(page);
      expect(told).toEqual(await dreamt());
      expect(told.filter(({ backend }) => backend === 'sequence').length).toBeGreaterThan(2);
      await page.getByRole('button', { name: 'go on from step 1' }).click();
      await page.getByLabel('command', { exact: true }).fill('inventory');
      await page.getByRole('button', { name: 'Say' }).click();
      await page.getByRole('navigation', { name: 'Branches' }).waitFor();
      expect(complaints).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});

/** Texts and states of a walk by the rules. */
function walk(world: ToolsDomain): string[] {
  let state = initialStateOf(world, world.tasks.find(({ id }) => id === 'one')!);
  return COMMANDS.map((text) => {
    const { observation, operations } = world.rules!.execute(state, { id: '', name: 'act', arguments: { text } });
    state = applyOperations(state, operations);
    return `${observation} ${stateHash(state)}`;
  });
}

interface Told {
  readonly text: string;
  readonly backend: string;
  readonly confidence: string;
  /** Sorted, as `+in rope, trunk`. */
  readonly changes: readonly string[];
}

/** What the page shows of the dream, command by command. */
async function played(page: Page): Promise<Told[]> {
  const told: Told[] = [];
  for (const command of COMMANDS) {
    await page.getByLabel('command', { exact: true }).fill(command);
    await page.getByRole('button', { name: 'Say' }).click();
    const side = page.locator(`[data-step="${told.length + 1}"] .side.dream`);
    // Answered once it is shown.
    await side.locator('.answer').waitFor();
    const changes = await side.locator('.diff li').allTextContents();
    told.push({
      text: (await side.locator('.text').textContent())!,
      backend: (await side.locator('.backend').textContent())!,
      confidence: (await side.locator('.sure').textContent())!,
      changes: changes.map((change) => change.replace(/^(.*?)([+−])/, '$2$1 ')).sort(),
    });
  }
  return told;
}

/** The same, lived here. */
async function dreamt(): Promise<Told[]> {
  const responder = await makeRouter(parseToolsModelConfig(MODEL), { domain, folder: root });
  const tools = new ToolsEpisodeEnvironment({ id: 'dream', domain, responder, user: new ScriptedUser() });
  const environment = textEnvironment(tools);
  await environment.reset({ task: 'one', seed: 0 });
  const told: Told[] = [];
  for (const command of COMMANDS) {
    const { observation, info } = await environment.step(command);
    const [{ backend, confidence, operations }] = info['predictions'] as readonly Prediction[];
    const changes = operations.map(({ op, path }) => {
      const [predicate, objects] = path.split('/').slice(2);
      return `${op === 'remove' ? '−' : '+'}${predicate} ${objects}`;
    });
    told.push({ text: observation, backend, confidence: confidence.toFixed(2), changes: changes.sort() });
  }
  return told;
}

const experienceOf = (episodes: readonly LearnedEpisode[]) =>
  episodes.flatMap(({ id: episode, task, steps }) =>
    steps.map(({ action, predictions: [{ operations, observation, isError }] }) => {
      return {
        episode,
        task,
        call: action.toolCalls![0],
        operations,
        observation,
        isError,
      } as Partial<ExperienceStep> as ExperienceStep;
    }),
  );
