// The runs there are, and the episodes they have kept.

import { useEffect, useState } from 'preact/hooks';
import type { EpisodeRow, EpisodesPage as Found, RunRow, RunsView } from '../../../src/serve/page/wire.js';
import { type ApiError, ask, useAsked, withQuery } from '../api.js';
import { formatCount, formatDate } from '../format.js';
import { Loading } from '../parts/loading.js';
import { Empty, Problem } from '../parts/problem.js';
import { SharesOf } from '../parts/shares.js';
import { Reward } from '../parts/verdict.js';
import { linkTo } from '../route.js';

export function EpisodesPage({ params }: { params: URLSearchParams }) {
  const runs = useAsked<RunsView>('/web/api/runs');
  const filter = { run: params.get('run') ?? '', task: params.get('task') ?? '' };
  return (
    <>
      <h1>Episodes</h1>
      <Problem error={runs.error} />
      {runs.data?.root === null ? (
        <Empty>
          This server shows no runs: start it with <code>--runs FOLDER</code>.
        </Empty>
      ) : null}
      {filter.run === '' && filter.task === '' ? null : <Results filter={filter} />}
      {runs.data === undefined || runs.data.root === null ? null : <Runs view={runs.data} />}
    </>
  );
}

interface FoundSoFar {
  readonly key: string;
  readonly episodes: readonly EpisodeRow[];
  readonly looked: number;
  readonly next?: string;
  readonly notes: readonly string[];
}

/** Found episodes, more of them when asked for. */
export function Results({ filter }: { filter: Readonly<Record<string, string>> }) {
  const key = JSON.stringify(filter);
  const [found, setFound] = useState<FoundSoFar>();
  const [error, setError] = useState<ApiError>();
  const more = (before: FoundSoFar | undefined) =>
    ask<Found>(withQuery('/web/api/episodes', { ...filter, cursor: before?.next })).then((page) => {
      setError(undefined);
      const episodes = [...(before?.episodes ?? []), ...page.episodes];
      setFound({ key, episodes, looked: (before?.looked ?? 0) + page.looked, next: page.next, notes: page.notes });
    }, setError);
  useEffect(() => void more(undefined), [key]);
  return (
    <section class="panel" aria-label="Found episodes" aria-busy={found?.key !== key}>
      <Problem error={error} />
      {found === undefined ? (
        <Loading />
      ) : (
        <>
          <h2 aria-live="polite">
            {formatCount(found.episodes.length)} found{' '}
            <small>
              {found.next === undefined
                ? `of ${formatCount(found.looked)}`
                : `in the first ${formatCount(found.looked)}; there are more`}
            </small>
          </h2>
          {found.notes.map((note) => (
            <p class="note" key={note}>
              {note}
            </p>
          ))}
          {found.episodes.length === 0 ? (
            <Empty>No episode is like this{found.next === undefined ? '' : ' yet'}.</Empty>
          ) : (
            <FoundTable rows={found.episodes} />
          )}
          {found.next === undefined ? null : (
            <button type="button" onClick={() => more(found)}>
              Look further
            </button>
          )}
        </>
      )}
    </section>
  );
}

function FoundTable({ rows }: { rows: readonly EpisodeRow[] }) {
  return (
    <table class="cards">
      <thead>
        <tr>
          <th scope="col">task</th>
          <th scope="col" class="num">
            return
          </th>
          <th scope="col" class="num">
            steps
          </th>
          <th scope="col">answered by</th>
          <th scope="col">what was said</th>
          <th scope="col">run</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ run, at, task, row, return: sum, steps, answered, excerpt, ended }) => (
          <tr key={`${run} ${at}`}>
            <th scope="row">
              <a href={linkTo('episode', { run, at })}>{task}</a> <small>#{row}</small>
            </th>
            <td data-label="return" class="num">
              <Reward value={sum} />
            </td>
            <td data-label="steps" class="num">
              {steps}
              {ended === 'truncated' ? <small> cut</small> : null}
            </td>
            <td data-label="answered by">
              <SharesOf shares={answered} />
            </td>
            <td data-label="said" class="wide">
              {excerpt}
            </td>
            <td data-label="run">
              <a href={linkTo('episodes', { run })}>{run}</a>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Runs({ view: { runs, root, cut } }: { view: RunsView }) {
  if (runs.length === 0) return <Empty>No run lies in {root}.</Empty>;
  return (
    <section class="panel" aria-label="Runs">
      <h2>
        Runs{' '}
        <small>
          in {root}
          {cut ? ', the first of many' : ''}
        </small>
      </h2>
      <table class="cards">
        <thead>
          <tr>
            <th scope="col">run</th>
            <th scope="col">job</th>
            <th scope="col">status</th>
            <th scope="col">begun</th>
            <th scope="col">holds</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.path}>
              <th scope="row">
                {run.scenario ?? run.path}
                {run.scenario === null ? null : <small class="path">{run.path}</small>}
              </th>
              <td data-label="job">{run.job}</td>
              <td data-label="status">
                <span class={`tag status ${run.status}`}>{run.status}</span>
              </td>
              <td data-label="begun">{formatDate(run.startedAt)}</td>
              <td data-label="holds">
                <Holdings run={run} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** What can be opened of a run. */
function Holdings({ run: { path, hasEpisodes, report } }: { run: RunRow }) {
  return (
    <span class="links">
      {hasEpisodes ? <a href={linkTo('episodes', { run: path })}>episodes</a> : null}
      {report === undefined ? null : <a href={linkTo('report', { path: report })}>report</a>}
    </span>
  );
}
