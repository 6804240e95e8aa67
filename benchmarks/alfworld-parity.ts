// Are ALFWorld's games the official package's to the byte? Walkthroughs and random walks, with some nonsense among their commands:
// after each step the observation, the admissible commands in their order, the score and the end. Most was recorded (hashes, in
// test/packs/alfworld); some is asked of the package anew. `raw` also says how many walkthroughs win here.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type FoundGame, GamePlay } from '../src/games/pddl/text-game.js';
import {
  alfworldGames,
  gameOpener,
  type OfficialPlay,
  officialPeer,
  recordings,
  type Seen,
  spread,
  VERSIONS,
} from './alfworld-games.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';

interface Tally {
  readonly name: string;
  readonly equal: number;
  readonly steps: number;
}

type Open = Awaited<ReturnType<typeof gameOpener>>;

export async function run(context: BenchmarkContext): Promise<Measurement> {
  const { quick, root, log } = context;
  const games = alfworldGames();
  const open = await gameOpener(root);
  const recorded = await compareRecorded(games, open, root, quick ? 2 : Number.POSITIVE_INFINITY);
  log(`recorded: ${recorded.length} games`);
  const asked = await compareAsked(spread(games, quick ? 1 : 8), open, context);
  const walked = spread(games, quick ? 4 : 400);
  const won = walked.filter((found) => isWon(found, open)).length;
  const tallies = [...recorded, ...asked];
  const steps = tallies.reduce((sum, one) => sum + one.steps, 0);
  const equal = tallies.reduce((sum, one) => sum + one.equal, 0);
  const shares = tallies.map((one) => one.equal / one.steps);
  const raw = {
    steps,
    equal,
    gamesRecorded: recorded.length,
    gamesAsked: asked.length,
    different: tallies.filter((one) => one.equal < one.steps).map(({ name }) => name),
    walkthroughs: { games: walked.length, won },
  };
  const { low, high } = bootstrap(shares, mean);
  return { value: equal / steps, low, high, n: steps, raw, versions: VERSIONS };
}

async function compareRecorded(games: readonly FoundGame[], open: Open, root: string, limit: number): Promise<Tally[]> {
  const module = pathToFileURL(join(root, 'test', 'packs', 'alfworld', 'play-record.mjs')).href;
  const { hashOf, commandAt } = (await import(module)) as {
    hashOf: (seen: Seen) => string;
    commandAt: (place: number, admissible: readonly string[]) => string;
  };
  const here = recordings(root).flatMap((one) => {
    const found = games.find(({ name }) => name.endsWith(`${one.game}/game`));
    return found === undefined ? [] : [{ ...one, found }];
  });
  return here.slice(0, limit).map(({ game, walks, found }) => {
    const play = new GamePlay(open(found).game);
    let [equal, steps] = [0, 0];
    for (const walk of walks) {
      const wanted = walk.steps.split(' ');
      const places = walk.commands.split(' ').map(Number);
      const seen = [
        told(play, play.reset()),
        ...places.map((at) => told(play, play.step(commandAt(at, play.admissible())))),
      ];
      equal += seen.filter((one, i) => hashOf(one) === wanted[i]).length;
      steps += wanted.length;
    }
    return { name: game, equal, steps };
  });
}

async function compareAsked(games: readonly FoundGame[], open: Open, context: BenchmarkContext): Promise<Tally[]> {
  const peer = await officialPeer(context);
  const tallies: Tally[] = [];
  try {
    for (const [seed, found] of games.entries()) {
      const { file, game } = open(found);
      const play = new GamePlay(game);
      const walks = [{ commands: file.walkthrough ?? [] }, { walk: { seed, steps: 25 } }];
      let [equal, steps] = [0, 0];
      for (const walk of walks) {
        const official = await peer.call<OfficialPlay>('play', { game: found.files[0], ...walk });
        const seen = [told(play, play.reset()), ...official.commands.map((command) => told(play, play.step(command)))];
        equal += seen.filter((one, i) => JSON.stringify(one) === JSON.stringify(official.steps[i])).length;
        steps += official.steps.length;
      }
      tallies.push({ name: found.name, equal, steps });
      context.log(`asked: ${found.name} ${equal}/${steps}`);
    }
  } finally {
    await peer.close();
  }
  return tallies;
}

/** Every command of the walkthrough can be carried out, and the last one wins. */
function isWon(found: FoundGame, open: Open): boolean {
  const { file, game } = open(found);
  const play = new GamePlay(game);
  play.reset();
  const isPlayed = (file.walkthrough ?? []).every((command) => {
    const isPossible = !play.isWon && play.admissible().includes(command);
    play.step(command);
    return isPossible;
  });
  return isPlayed && play.isWon;
}

function told(play: GamePlay, observation: string): Seen {
  return { observation, admissible: play.admissible(), score: play.isWon ? 1 : 0, done: play.isWon };
}
