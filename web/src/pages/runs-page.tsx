// The runs there are, and their reports.

import type { RunsView } from '../../../src/serve/page/wire.js';
import { useAsked } from '../api.js';
import { formatDate } from '../format.js';
import { Empty, Problem } from '../parts/problem.js';
import { linkTo } from '../route.js';

export function RunsPage() {
  const { data, error } = useAsked<RunsView>('/web/api/runs');
  return (
    <>
      <h1>Runs</h1>
      <Problem error={error} />
      {data?.root === null ? (
        <Empty>
          This server shows no runs: start it with <code>--runs FOLDER</code>.
        </Empty>
      ) : null}
      {data === undefined || data.root === null ? null : <Runs view={data} />}
    </>
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
                {run.report === undefined ? null : <a href={linkTo('report', { path: run.report })}>report</a>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
