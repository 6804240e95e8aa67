// How fast TextWorldExpress' games are from here: the same commands of random walks, ours and the official package's, each with what
// it says and what can be done next. Both ask the same jar in a Java process, so seconds are those of the clock.

import { join } from 'node:path';
import { initialStateOf, makeDomain, type ToolsDomain, type ToolsTask } from '../src/env/index.js';
import { applyOperations } from '../src/env/state/operations.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, median } from './measure.js';
import { PythonPeer } from './python-peer.js';

const VERSIONS = { 'textworld-express': '1.1.0', scienceworld: '1.2.3', py4j: '0.10.9.9' };

interface OfficialWalk {
  readonly commands: readonly string[];
  readonly seconds: { readonly reset: number; readonly steps: number };
}

/** Passes over a game, the first of which warm the Java process up and are not counted. */
const PASSES = 6;
const WARM = 2;

export async function run(context: BenchmarkContext): Promise<Measurement> {
  const { quick, root, log } = context;
  const requirements = Object.entries(VERSIONS).map(([name, version]) => `${name}==${version}`);
  const peer = await PythonPeer.start({ name: 'java-games', requirements, script: 'java_games.py', root, log });
  process.env.REVERIE_PYTHON = join(root, 'benchmarks', '.cache', 'venv-java-games', 'bin', 'python');
  const domain = await makeDomain({ id: 'textworld-express', folds: ['train'], each: 1 });
  const raw: Record<string, { ours: number; official: number }> = {};
  try {
    for (const task of domain.tasks.slice(0, quick ? 1 : undefined)) {
      const [game] = task.tags!;
      const walk = { seed: 1, steps: quick ? 20 : 200 };
      const walks: OfficialWalk[] = [];
      for (let pass = 0; pass < PASSES; pass++) walks.push(await officialWalk(peer, game, walk));
      const { commands } = walks[0];
      const spent = Array.from({ length: PASSES }, () => secondsOf(domain, task, commands));
      raw[game] = {
        ours: 1 / median(spent.slice(WARM)),
        official: commands.length / median(walks.slice(WARM).map(({ seconds }) => seconds.steps)),
      };
      log(`${game}: ${Math.round(raw[game].ours)} steps/s, official ${Math.round(raw[game].official)}`);
    }
  } finally {
    domain.close();
    await peer.close();
  }
  const ratios = Object.values(raw).map(({ ours, official }) => ours / official);
  return { ...bootstrap(ratios, median), n: ratios.length, raw, versions: VERSIONS };
}

function officialWalk(peer: PythonPeer, name: string, walk: object): Promise<OfficialWalk> {
  return peer.call('play', { kind: 'textworld-express', game: { name, fold: 'train', seed: 0 }, walk });
}

/** Seconds a command. Of the first nothing is counted: it makes the game, which the official package does when it is reset. */
function secondsOf(domain: ToolsDomain, task: ToolsTask, commands: readonly string[]): number {
  const rules = domain.rules!;
  let state = initialStateOf(domain, task);
  let began = 0;
  for (const [i, text] of commands.entries()) {
    if (i === 1) began = performance.now();
    const { operations } = rules.execute(state, { id: '', name: 'act', arguments: { text } });
    state = applyOperations(state, operations);
    rules.admissible!(state);
  }
  return (performance.now() - began) / 1000 / (commands.length - 1);
}
