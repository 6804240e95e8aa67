// A folder of games as a domain that scenarios can name: `domain: { id: text-games, folder: my-games }`.

import path from 'node:path';
import { z } from 'zod';
import type { DomainEntry } from '../../env/tools/domains.js';
import { findGames, gamesHash, readGame } from './game-files.js';

const settings = z.strictObject({
  folder: z.string().min(1).describe('folder of the games, relative to the scenario'),
});

export const textGames: DomainEntry = {
  name: 'text-games',
  summary: 'Games of PDDL and a text grammar, in a folder of their own.',
  schema: settings,
  files: ({ folder: games = '.' }, folder) => {
    try {
      return [...new Set(findGames(path.resolve(folder, games as string)).flatMap(({ files }) => files))];
    } catch {
      // What is missing is told by whoever plays the games.
      return [];
    }
  },
  make: async () => {
    const { gamesDomain } = await import('./games-domain.js');
    return async (given, folder) => {
      const found = findGames(path.resolve(folder, settings.parse(given).folder));
      const games = found.map((game) => ({ id: game.name, read: () => readGame(game) }));
      return gamesDomain({ id: 'text-games', games, version: gamesHash(found) });
    };
  },
};
