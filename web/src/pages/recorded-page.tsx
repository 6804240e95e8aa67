// An episode that a run has kept; beside it, where one wants to see both, another of the same task: what was simulated beside what was real.

import type { EpisodesPage, EpisodeView } from '../../../src/serve/page/wire.js';
import { useAsked, withQuery } from '../api.js';
import { Episode, EpisodeHead } from '../parts/episode.js';
import { Loading } from '../parts/loading.js';
import { Problem } from '../parts/problem.js';
import { linkTo, replaceRoute } from '../route.js';

export interface RecordedProps {
  readonly run: string;
  readonly at: string;
  /** Another episode, as `at` and `run` with a colon between; none: the first alone. */
  readonly beside: string | null;
}

export function RecordedPage({ run, at, beside }: RecordedProps) {
  const { data: episode, error } = useAsked<EpisodeView>(withQuery('/web/api/episode', { run, at }));
  const [otherAt, otherRun] = split(beside);
  return (
    <>
      <p class="way">
        <a href={linkTo('episodes')}>Episodes</a> › <a href={linkTo('episodes', { run })}>{run}</a>
      </p>
      <Problem error={error} />
      {episode === undefined ? (
        error === undefined ? (
          <Loading />
        ) : null
      ) : (
        <>
          {episode.task === null ? null : <Beside task={episode.task} run={run} at={at} beside={beside} />}
          <div class={otherRun === '' ? undefined : 'branches'}>
            <Shown key={`${run} ${at}`} episode={episode} />
            {otherRun === '' ? null : <Other key={beside} run={otherRun} at={otherAt} />}
          </div>
        </>
      )}
    </>
  );
}

function split(beside: string | null): [at: string, run: string] {
  const [at, ...run] = (beside ?? '').split(':');
  return [at, run.join(':')];
}

function Shown({ episode }: { episode: EpisodeView }) {
  return (
    <section>
      <EpisodeHead episode={episode} />
      <Episode episode={episode} follow={false} />
    </section>
  );
}

function Other({ run, at }: { run: string; at: string }) {
  const { data: episode, error } = useAsked<EpisodeView>(withQuery('/web/api/episode', { run, at }));
  if (episode === undefined) return error === undefined ? <Loading /> : <Problem error={error} />;
  return <Shown episode={episode} />;
}

/** Other episodes of the same task to choose from; nothing where there are none. */
function Beside({ task, run, at, beside }: RecordedProps & { readonly task: string }) {
  const found = useAsked<EpisodesPage>(withQuery('/web/api/episodes', { task }));
  const others = (found.data?.episodes ?? []).filter(
    (one) => one.task === task && !(one.run === run && String(one.at) === at),
  );
  if (others.length === 0) return null;
  const choose = (chosen: string) => replaceRoute(linkTo('episode', { run, at, beside: chosen }));
  return (
    <div class="filters">
      <label>
        beside it
        <select value={beside ?? ''} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">nothing</option>
          {others.map((one) => (
            <option key={`${one.run} ${one.at}`} value={`${one.at}:${one.run}`}>
              {one.run}, row {one.row} ({one.source})
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}
