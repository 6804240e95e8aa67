// Games on disk: TextWorld's game files for PDDL (`.tw-pddl`, JSON), and folders of PDDL as one writes it by hand: domain.pddl,
// grammar.twl, and a problem in each further `.pddl` file.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { sha256 } from '../../core/canonical-json.js';
import { type ReverieError, reverieError } from '../../core/errors.js';
import type { GameFile } from './games-domain.js';

const GAME_FILE = '.tw-pddl';
const DOMAIN = 'domain.pddl';
const GRAMMAR = 'grammar.twl';

/** What a game file holds; other keys are passed over. */
const gameFileSchema = z.object({
  pddl_domain: z.string(),
  pddl_problem: z.string(),
  grammar: z.string(),
  walkthrough: z.array(z.string()).nullish(),
});

/** `name`: its place below the folder, without the ending. */
export interface FoundGame {
  readonly name: string;
  /** Absolute paths of all files that decide what it is; the first is its own. */
  readonly files: readonly string[];
}

/**
 * All games below a folder, sorted by name.
 * @throws ENV_UNUSABLE if there is no such folder, or no game in it
 */
export function findGames(folder: string): FoundGame[] {
  const root = path.resolve(folder);
  if (!existsSync(root)) throw gamesNotFound(root, 'there is no such folder');
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' });
  const shared = [DOMAIN, GRAMMAR].map((file) => path.join(root, file));
  const isOwnFolder = names.includes(DOMAIN) && names.includes(GRAMMAR);
  const found = names.flatMap((name): FoundGame[] => {
    const file = path.join(root, name);
    const bare = name.slice(0, -path.extname(name).length).replaceAll(path.sep, '/');
    if (name.endsWith(GAME_FILE)) return [{ name: bare, files: [file] }];
    const isProblem = isOwnFolder && name.endsWith('.pddl') && name !== DOMAIN;
    return isProblem ? [{ name: bare, files: [file, ...shared] }] : [];
  });
  const lack = `it holds no ${GAME_FILE} file, nor ${DOMAIN} with ${GRAMMAR} and problems`;
  if (found.length === 0) throw gamesNotFound(root, lack);
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** ENV_UNUSABLE, for whoever looks for games in a place of its own. */
export function gamesNotFound(folder: string, problem: string): ReverieError {
  return reverieError('ENV_UNUSABLE', {
    problem: `No games are in "${folder}": ${problem}.`,
    hint: 'Name the folder that the games lie in; docs/text-games.md says where ALFWorld keeps its own, and how to lay out yours.',
  });
}

/** @throws FILE_INVALID if it cannot be read, is cut off, or holds something else */
export function readGame({ files: [file, domain, grammar] }: FoundGame): GameFile {
  if (domain !== undefined && grammar !== undefined) {
    return { domain: textOf(domain), problem: textOf(file), grammar: textOf(grammar) };
  }
  let json: unknown;
  try {
    json = JSON.parse(textOf(file));
  } catch (cause) {
    throw reverieError(
      'FILE_INVALID',
      {
        problem: `"${file}" is no game file: ${`it is no whole JSON: ${(cause as Error).message}`}.`,
        hint: 'Get the file from where it came once more if it was cut off; docs/text-games.md says what a game file holds.',
      },
      cause,
    );
  }
  const read = gameFileSchema.safeParse(json);
  if (!read.success) {
    const [{ path: keys, message }] = read.error.issues;
    throw reverieError('FILE_INVALID', {
      problem: `"${file}" is no game file: ${`"${keys.join('.')}": ${message}`}.`,
      hint: 'Get the file from where it came once more if it was cut off; docs/text-games.md says what a game file holds.',
    });
  }
  const { pddl_domain, pddl_problem, walkthrough } = read.data;
  const texts = { domain: pddl_domain, problem: pddl_problem, grammar: read.data.grammar };
  return walkthrough == null ? texts : { ...texts, walkthrough };
}

/** SHA-256 of the games' names and of all that their files hold. */
export function gamesHash(games: readonly FoundGame[]): string {
  return sha256(...games.flatMap(({ name, files }) => [name, ...files.map((file) => sha256(readFileSync(file)))]));
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw reverieError(
      'FILE_INVALID',
      {
        problem: `"${file}" is no game file: ${(cause as Error).message}.`,
        hint: 'Get the file from where it came once more if it was cut off; docs/text-games.md says what a game file holds.',
      },
      cause,
    );
  }
}
