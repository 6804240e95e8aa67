// Reports of runs: a list, and each in a frame that can do nothing.

import type { ReportRow } from '../../../src/serve/page/wire.js';
import { useAsked, withQuery } from '../api.js';
import { formatDate } from '../format.js';
import { Empty, Problem } from '../parts/problem.js';
import { linkTo } from '../route.js';

export function ReportsPage() {
  const { data, error } = useAsked<readonly ReportRow[]>('/web/api/reports');
  return (
    <>
      <h1>Reports</h1>
      <Problem error={error} />
      {data === undefined ? null : data.length === 0 ? (
        <Empty>
          No report yet. Jobs such as <code>reverie quickstart</code> and <code>reverie synth</code> write one.
        </Empty>
      ) : (
        <section class="panel">
          <table class="cards">
            <thead>
              <tr>
                <th scope="col">report</th>
                <th scope="col">run</th>
                <th scope="col">written</th>
              </tr>
            </thead>
            <tbody>
              {data.map(({ path, run, title, writtenAt }) => (
                <tr key={path}>
                  <th scope="row">
                    <a href={linkTo('report', { path })}>{title}</a>
                  </th>
                  <td data-label="run">{run}</td>
                  <td data-label="written">{formatDate(writtenAt)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </>
  );
}

export function ReportPage({ path }: { path: string }) {
  const source = withQuery('/web/api/report', { path });
  return (
    <>
      <p class="way">
        <a href={linkTo('reports')}>Reports</a> › {path}{' '}
        <a href={source} target="_blank" rel="noreferrer">
          on its own
        </a>
      </p>
      <iframe class="report" title={`Report ${path}`} src={source} sandbox="" />
    </>
  );
}
