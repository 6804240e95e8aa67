// Do policies rank in the dream as they do for real? A ladder of policies lives the same episodes in both worlds.

import type { Finding, Instrument } from '../instrument.js';
import { RANK_TITLE, rankFinding } from './rank-finding.js';
import type { RankOptions, RankRow, RankSource } from './rank-source.js';

const CHUNK_EPISODES = 32;

export function rankInstrument(source: RankSource, options: RankOptions): Instrument<RankRow> {
  const { policies, episodes } = source;
  const perChunk = Math.min(options.chunkEpisodes ?? CHUNK_EPISODES, episodes);
  const chunksPerPolicy = Math.ceil(episodes / perChunk);
  return {
    id: 'rank',
    unit: 'chunks of episodes',
    chunks: policies.length * chunksPerPolicy,
    measure: (chunk, signal) => {
      const policy = Math.floor(chunk / chunksPerPolicy);
      const from = (chunk % chunksPerPolicy) * perChunk;
      const wanted = Array.from({ length: Math.min(perChunk, episodes - from) }, (_, i) => from + i);
      return rowsOf(source, policy, wanted, signal);
    },
    conclude: (rows) => rankFinding(rows, source, options),
  };
}

async function rowsOf(
  source: RankSource,
  policy: number,
  episodes: readonly number[],
  signal?: AbortSignal,
): Promise<RankRow[]> {
  const real = await source.returnsOf('real', policy, episodes, signal);
  const dreamt = await source.returnsOf('dream', policy, episodes, signal);
  return episodes.map((episode, i) => ({ policy, episode, real: real[i], dreamt: dreamt[i] }));
}

/** The section of a model whose policies could not be ranked, with the reason. */
export function unrankable(reason: string): Instrument<RankRow> {
  const finding: Finding = {
    section: {
      ...{ id: 'rank', title: RANK_TITLE, summary: 'Not measured.' },
      ...{ metrics: [], charts: [], tables: [], worst: [], notes: [reason] },
    },
    samples: {},
  };
  return { id: 'rank', unit: 'chunks of episodes', chunks: 0, measure: async () => [], conclude: () => finding };
}
