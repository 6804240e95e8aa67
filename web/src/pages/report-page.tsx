// A report of a run, in a frame that can do nothing.

import { withQuery } from '../api.js';
import { linkTo } from '../route.js';

export function ReportPage({ path }: { path: string }) {
  const source = withQuery('/web/api/report', { path });
  return (
    <>
      <p class="way">
        <a href={linkTo('runs')}>Runs</a> › {path}{' '}
        <a href={source} target="_blank" rel="noreferrer">
          on its own
        </a>
      </p>
      <iframe class="report" title={`Report ${path}`} src={source} sandbox="" />
    </>
  );
}
