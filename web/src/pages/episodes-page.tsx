// The runs there are, and a search through the episodes they have kept.

import { useEffect, useState } from 'preact/hooks';
import type { EpisodeRow, EpisodesPage as Found, RunRow, RunsView } from '../../../src/serve/page/wire.js';
import { type ApiError, ask, useAsked, withQuery } from '../api.js';
import { formatCount, formatDate } from '../format.js';
import { Loading } from '../parts/loading.js';
import { Empty, Problem } from '../parts/problem.js';
import { SharesOf } from '../parts/shares.js';
import { Reward } from '../parts/verdict.js';
import { linkTo, replaceRoute } from '../route.js';

const FILTERS = ['run', 'words', 'task', 'backend', 'reward'] as const;
const BACKENDS = ['schema', 'rules', 'replay', 'llm', 'real'];
const REWARDS = [
  ['full', '1: solved'],
  ['part', 'between 0 and 1'],
  ['none', '0: not solved'],
  ['unjudged', 'not judged'],
] as const;

export function EpisodesPage({ params }: { params: URLSearchParams }) {
  const runs = useAsked<RunsView>('/web/api/runs');
  const filter = Object.fromEntries(FILTERS.map((name) => [name, params.get(name) ?? '']));
  const isSearch = FILTERS.some((name) => filter[name] !== '');
  const rows = runs.data?.runs ?? [];
  const set = (name: string, value: string) => replaceRoute(linkTo('episodes', { ...filter, [name]: value }));
  return (
    <>
      <h1>Episodes</h1>
      <Problem error={runs.error} />
      {runs.data?.root === null ? (
        <Empty>
          This server shows no runs: start it with <code>--runs FOLDER</code>.
        </Empty>
      ) : null}
      {rows.some(({ hasEpisodes }) => hasEpisodes) ? <SearchForm filter={filter} runs={rows} onSet={set} /> : null}
      {isSearch ? <Results filter={filter} /> : null}
      {runs.data === undefined || runs.data.root === null ? null : <Runs view={runs.data} />}
    </>
  );
}

interface SearchFormProps {
  readonly filter: Readonly<Record<string, string>>;
  readonly runs: readonly RunRow[];
  readonly onSet: (name: string, value: string) => void;
}

function SearchForm({ filter, runs, onSet }: SearchFormProps) {
  const [words, setWords] = useState(filter.words);
  const [task, setTask] = useState(filter.task);
  useEffect(() => setWords(filter.words), [filter.words]);
  const submit = (event: Event) => {
    event.preventDefault();
    onSet('words', words.trim());
  };
  return (
    <search>
      <form class="filters" onSubmit={submit}>
        <label class="grow">
          said, called or answered
          <input
            type="search"
            value={words}
            placeholder="words, all of which must occur"
            onInput={(event) => setWords(event.currentTarget.value)}
          />
        </label>
        <label>
          run
          <select value={filter.run} onChange={(event) => onSet('run', event.currentTarget.value)}>
            <option value="">all</option>
            {runs
              .filter(({ hasEpisodes }) => hasEpisodes)
              .map(({ path }) => (
                <option key={path}>{path}</option>
              ))}
          </select>
        </label>
        <label>
          return
          <select value={filter.reward} onChange={(event) => onSet('reward', event.currentTarget.value)}>
            <option value="">any</option>
            {REWARDS.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <label>
          answered by
          <select value={filter.backend} onChange={(event) => onSet('backend', event.currentTarget.value)}>
            <option value="">anyone</option>
            {BACKENDS.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          task
          <input
            value={task}
            size={16}
            onInput={(event) => setTask(event.currentTarget.value)}
            onChange={() => onSet('task', task.trim())}
          />
        </label>
        <button type="submit">Search</button>
      </form>
    </search>
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
function Holdings({ run: { path, hasEpisodes, hasReport } }: { run: RunRow }) {
  const report = `${path}/report.html`;
  return (
    <span class="links">
      {hasEpisodes ? <a href={linkTo('episodes', { run: path })}>episodes</a> : null}
      {hasReport ? <a href={linkTo('report', { path: report })}>report</a> : null}
    </span>
  );
}
