// What the benchmarks of ALFWorld share: the user's games, ours opened, and the official package as a peer.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type FoundGame,
  findGames,
  type GameFile,
  gamesNotFound,
  readGame,
  TextGame,
} from '../src/games/pddl/text-game.js';
import type { BenchmarkContext } from './benchmark.js';
import { PythonPeer } from './python-peer.js';

/** As kept in test/packs/alfworld/recordings.json: of plays of the official package, hashes and places in lists. */
export interface Recording {
  readonly game: string;
  readonly walks: readonly { readonly commands: string; readonly steps: string }[];
}

export interface Seen {
  readonly observation: string;
  readonly admissible: readonly string[];
  readonly score: number;
  readonly done: boolean;
}

/** A play of the official package; seconds are the processor's. */
export interface OfficialPlay {
  readonly commands: readonly string[];
  readonly steps: readonly Seen[];
  readonly seconds: { readonly reset: number; readonly steps: number };
}

export const VERSIONS = { alfworld: '0.4.2', textworld: '1.7.0', 'fast-downward-textworld': '20.6.4' };

/** @throws ENV_UNUSABLE unless ALFWORLD_DATA leads to them */
export function alfworldGames(): FoundGame[] {
  const data = process.env.ALFWORLD_DATA;
  if (!data) throw gamesNotFound('$ALFWORLD_DATA', 'it is not set');
  return findGames(data);
}

/** So many of the list, evenly spaced. */
export function spread<T>(list: readonly T[], count: number): T[] {
  const kept = Math.min(count, list.length);
  return Array.from({ length: kept }, (_, i) => list[Math.floor((i * list.length) / kept)]);
}

/** What the pack calls the things of its games. */
export async function gameNames(root: string): Promise<NonNullable<GameFile['names']>> {
  const module = pathToFileURL(join(root, 'packs', 'alfworld', 'names.mjs')).href;
  return ((await import(module)) as { alfworldNames: NonNullable<GameFile['names']> }).alfworldNames;
}

/** Opens games with the names that the pack gives their things. */
export async function gameOpener(root: string): Promise<(game: FoundGame) => { file: GameFile; game: TextGame }> {
  const names = await gameNames(root);
  return (found) => {
    const file = readGame(found);
    return { file, game: new TextGame(file, { what: found.name, names }) };
  };
}

export function officialPeer({ root, log }: BenchmarkContext): Promise<PythonPeer> {
  const requirements = Object.entries(VERSIONS).map(([name, version]) => `${name}==${version}`);
  return PythonPeer.start({ name: 'alfworld', requirements, script: 'alfworld_games.py', root, log });
}

export function recordings(root: string): Recording[] {
  return JSON.parse(readFileSync(join(root, 'test', 'packs', 'alfworld', 'recordings.json'), 'utf8'));
}
