// ALFWorld's text games (Shridhar et al., "ALFWorld: Aligning Text and Embodied Environments for Interactive Learning",
// arXiv 2010.03768), from a folder that the user has: `domain: { id: alfworld, path: path/to/alfworld }`. Their PDDL and grammar
// are run as they are; what is here is their layout, their splits and the names of their things.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { definePlugin, findGames, gamesDomain, gamesHash, gamesNotFound, readGame, z } from 'reverie/extend';
import { alfworldNames } from './names.mjs';

/** Folders of games, and what their games are for. Rooms of `valid_seen` occur in `train`, those of `valid_unseen` do not. */
const SPLITS = { train: 'train', valid_train: 'validation', valid_seen: 'validation', valid_unseen: 'test' };

const split = z.enum(Object.keys(SPLITS));

const settings = z.strictObject({
  path: z
    .string()
    .min(1)
    .optional()
    .describe('alfworld: folder that holds json_2.1.1, relative to the scenario; default: $ALFWORLD_DATA'),
  splits: z.array(split).min(1).optional().describe('alfworld: which games; default [valid_seen]'),
  games: z
    .number()
    .int()
    .positive()
    .optional()
    .describe('alfworld: at most so many games of each split, evenly spaced'),
});

/** The games of a split's folder; those with movable containers or slicing are left out, as in the official package. */
function gamesOf(name, { path: named, games: limit }, folder) {
  const given = named ?? process.env.ALFWORLD_DATA;
  if (!given) throw gamesNotFound('$ALFWORLD_DATA', 'it is not set, and the scenario names no folder as domain.path');
  const root = resolve(folder, given);
  const version = join(root, 'json_2.1.1');
  const home = join(existsSync(version) ? version : root, name);
  const found = findGames(home).filter((game) => !/movable|Sliced/.test(game.name));
  const kept = limit === undefined || limit >= found.length ? found : evenly(found, limit);
  return kept.map((game) => ({ split: name, game }));
}

function evenly(list, count) {
  return Array.from({ length: count }, (_, i) => list[Math.floor((i * list.length) / count)]);
}

function chosen(given, folder) {
  const { splits = ['valid_seen'], ...rest } = settings.parse(given);
  return splits.flatMap((name) => gamesOf(name, rest, folder));
}

/** `look_at_obj_in_light-Pen-None-DeskLamp-320/trial_T2019.../game`: kind, things, room; then the recording it came from. */
function entryOf({ split: name, game }) {
  const [family, trial = ''] = game.name.split('/');
  return {
    id: [name, family, trial.replace(/^trial_/, '')].join('.'),
    family,
    split: SPLITS[name],
    tags: [name, family.split('-')[0]],
    read: () => {
      const file = readGame(game);
      const [, goal] = /Your task is to: ([^"\\]*)/.exec(file.grammar) ?? [];
      return { ...file, names: alfworldNames, ...(goal && { goal: goal.trim() }) };
    },
  };
}

const alfworld = {
  name: 'alfworld',
  summary: "ALFWorld's text games: find things in a house, clean, heat, cool and place them.",
  schema: settings,
  files: (given, folder) => {
    try {
      return chosen(given, folder).flatMap(({ game }) => game.files);
    } catch {
      // What is missing is told by whoever plays the games.
      return [];
    }
  },
  make: async () => async (given, folder) => {
    const found = chosen(given, folder);
    const version = gamesHash(found.map(({ game }) => game));
    return gamesDomain({ id: 'alfworld', games: found.map(entryOf), version });
  },
};

export default definePlugin({ domains: [alfworld] });
