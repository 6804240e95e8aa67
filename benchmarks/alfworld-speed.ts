// How fast ALFWorld's games are: the same commands of random walks, ours and the official package's, each with what it says and what
// can be done next. Seconds are the processor's, of one core; opening and resetting a game is measured apart, in `raw`.

import { type FoundGame, GamePlay } from '../src/games/pddl/text-game.js';
import { alfworldGames, gameOpener, type OfficialPlay, officialPeer, spread, VERSIONS } from './alfworld-games.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, median } from './measure.js';

interface Rates {
  readonly ours: number;
  readonly official: number;
  readonly ourReset: number;
  readonly officialReset: number;
}

export async function run(context: BenchmarkContext): Promise<Measurement> {
  const { quick, root, log } = context;
  const open = await gameOpener(root);
  const peer = await officialPeer(context);
  const rates: Rates[] = [];
  try {
    for (const [seed, found] of spread(alfworldGames(), quick ? 1 : 9).entries()) {
      const official = await peer.call<OfficialPlay>('play', {
        game: found.files[0],
        walk: { seed, steps: quick ? 5 : 40 },
      });
      const officialRate = official.commands.length / official.seconds.steps;
      const ours = measured(found, open, official.commands, quick ? 0.1 : 2);
      rates.push({ ...ours, official: officialRate, officialReset: official.seconds.reset });
      log(`${found.name}: ${Math.round(ours.ours)} steps/s, official ${officialRate.toFixed(1)}`);
    }
  } finally {
    await peer.close();
  }
  const raw = {
    stepsPerSecond: rates.map(({ ours }) => ours),
    officialStepsPerSecond: rates.map(({ official }) => official),
    openSeconds: rates.map(({ ourReset }) => ourReset),
    officialOpenSeconds: rates.map(({ officialReset }) => officialReset),
  };
  const ratios = rates.map(({ ours, official }) => ours / official);
  return { ...bootstrap(ratios, median), n: rates.length, raw, versions: VERSIONS };
}

function measured(
  found: FoundGame,
  open: Awaited<ReturnType<typeof gameOpener>>,
  commands: readonly string[],
  seconds: number,
): Pick<Rates, 'ours' | 'ourReset'> {
  const [play, ourReset] = timed(() => new GamePlay(open(found).game));
  let [steps, spent] = [0, 0];
  while (spent < seconds) {
    play.reset();
    const [, took] = timed(() => {
      for (const command of commands) {
        play.step(command);
        play.admissible();
      }
    });
    steps += commands.length;
    spent += took;
  }
  return { ours: steps / spent, ourReset };
}

/** What it answers, and the processor's seconds it took. */
function timed<T>(work: () => T): [T, number] {
  const began = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(began);
  return [result, (user + system) / 1e6];
}
