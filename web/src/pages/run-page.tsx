// One run: what it was, what it holds, and its episodes where it has some.

import type { RunView } from '../../../src/serve/page/wire.js';
import { useAsked, withQuery } from '../api.js';
import { formatDate } from '../format.js';
import { Facts } from '../parts/facts.js';
import { Loading } from '../parts/loading.js';
import { Problem } from '../parts/problem.js';
import { linkTo } from '../route.js';
import { Holdings, Results } from './episodes-page.js';

export function RunPage({ path }: { path: string }) {
  const { data, error } = useAsked<RunView>(withQuery('/web/api/run', { path: path }));
  if (data === undefined) return error === undefined ? <Loading /> : <Problem error={error} />;
  const { run, command, parts, notes } = data;
  return (
    <>
      <p class="way">
        <a href={linkTo('episodes')}>Episodes</a> › runs
      </p>
      <header class="head">
        <h1>{run.path}</h1>
        <p class="line">
          <span class={`tag status ${run.status}`}>{run.status}</span>
          <span>{run.job}</span>
          {run.scenario === null ? null : (
            <span>
              scenario <b>{run.scenario}</b>
            </span>
          )}
          {run.seed === null ? null : (
            <span>
              seed <b>{run.seed}</b>
            </span>
          )}
          <span>{formatDate(run.startedAt)}</span>
          <Holdings run={run} />
        </p>
        {command === '' ? null : <pre class="command">{command}</pre>}
      </header>
      {notes.map((note) => (
        <p class="note" key={note}>
          {note}
        </p>
      ))}
      {run.hasEpisodes ? <Results filter={{ run: run.path }} /> : null}
      <section class="panel" aria-label="What it holds">
        <h2>What it holds</h2>
        {parts.map((part) => (
          <details key={part.path} open={part.kind === 'replay' || parts.length < 3}>
            <summary>
              <b>{part.kind}</b> <small>{part.path}</small>
            </summary>
            <Facts facts={part.facts} />
          </details>
        ))}
      </section>
    </>
  );
}
