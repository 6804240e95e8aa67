// Plays games with the official package and writes what came of it as recordings.json: of each game the walkthrough and a random walk.
//   node test/packs/alfworld/record.mjs --python PYTHON --data FOLDER [--games 60] [--steps 25] > test/packs/alfworld/recordings.json
// PYTHON has the packages alfworld and textworld; FOLDER holds json_2.1.1 or the folders of the splits. It takes 10 seconds a game.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findGames } from 'reverie/extend';
import { hashOf, placeOf } from './play-record.mjs';

const { values } = parseArgs({
  options: {
    python: { type: 'string', default: 'python3' },
    data: { type: 'string', default: process.env.ALFWORLD_DATA ?? '.' },
    games: { type: 'string', default: '60' },
    steps: { type: 'string', default: '25' },
  },
});

const inside = join(values.data, 'json_2.1.1');
const root = existsSync(inside) ? inside : values.data;

const games = new Map();
for (const line of played().trim().split('\n')) {
  const { game, commands, steps } = JSON.parse(line).result;
  const name = relative(root, game)
    .replaceAll('\\', '/')
    .replace(/\/game\.tw-pddl$/, '');
  const known = games.get(name) ?? { game: name, file: fileHash(game), walks: [] };
  const places = commands.map((command, i) => placeOf(command, steps[i].admissible));
  known.walks.push({ commands: places.join(' '), steps: steps.map(hashOf).join(' ') });
  games.set(name, known);
}
const kept = [...games.values()].filter(({ walks }) => walks.length === 2).map((game) => JSON.stringify(game));
process.stdout.write(`[\n${kept.join(',\n')}\n]\n`);

/** Asks the official package; one process plays all games, one after the other. */
function played() {
  const all = findGames(root);
  const count = Math.min(Number(values.games), all.length);
  const requests = Array.from({ length: count }, (_, i) => {
    const [game] = all[Math.floor((i * all.length) / count)].files;
    const { walkthrough } = JSON.parse(readFileSync(game, 'utf8'));
    return [
      { method: 'play', game, commands: walkthrough },
      { method: 'play', game, walk: { seed: i, steps: Number(values.steps) } },
    ];
  });
  const input = requests.flat().map((request) => JSON.stringify(request));
  const script = fileURLToPath(new URL('../../../benchmarks/peers/alfworld_games.py', import.meta.url));
  const options = { input: `${input.join('\n')}\n`, encoding: 'utf8', maxBuffer: 2 ** 30 };
  const { status, stdout, stderr } = spawnSync(values.python, [script], options);
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

function fileHash(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 16);
}
