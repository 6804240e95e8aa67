// An episode that a run has kept.

import type { EpisodeView } from '../../../src/serve/page/wire.js';
import { useAsked, withQuery } from '../api.js';
import { Episode, EpisodeHead } from '../parts/episode.js';
import { Loading } from '../parts/loading.js';
import { Problem } from '../parts/problem.js';
import { linkTo } from '../route.js';

export function RecordedPage({ run, at }: { run: string; at: string }) {
  const { data: episode, error } = useAsked<EpisodeView>(withQuery('/web/api/episode', { run, at }));
  return (
    <>
      <p class="way">
        <a href={linkTo('episodes')}>Episodes</a> › <a href={linkTo('run', { path: run })}>{run}</a>
      </p>
      <Problem error={error} />
      {episode === undefined ? (
        error === undefined ? (
          <Loading />
        ) : null
      ) : (
        <>
          <EpisodeHead episode={episode} />
          <Episode key={`${run} ${at}`} episode={episode} follow={false} />
        </>
      )}
    </>
  );
}
