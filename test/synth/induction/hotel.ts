// The logs of examples/hotel, and others like them.

import { fileURLToPath } from 'node:url';
import { readTools } from '../../../src/env/tools/load-domain.js';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { readEpisodeLogs } from '../../../src/replay/experience/logs/read-episode-logs.js';

export const HOTEL = fileURLToPath(new URL('../../../examples/hotel/', import.meta.url));

export const hotelTools = () => readTools(HOTEL).tools;

export async function hotelEpisodes(): Promise<readonly EpisodeRecord[]> {
  return (await readEpisodeLogs(`${HOTEL}logs`)).episodes;
}
