// The logs of examples/hotel, and others like them.

import { fileURLToPath } from 'node:url';
import { readTools } from '../../../src/env/index.js';
import { type EpisodeRecord, readEpisodeLogs } from '../../../src/replay/index.js';

export const HOTEL = fileURLToPath(new URL('../../../examples/hotel/', import.meta.url));

export const hotelTools = () => readTools(HOTEL);

export async function hotelEpisodes(): Promise<readonly EpisodeRecord[]> {
  return (await readEpisodeLogs(`${HOTEL}logs`)).episodes;
}
