// What the server does now: how fast, for whom, and who answers.

import { useRef, useState } from 'preact/hooks';
import type { EnvironmentRow, LiveView, SessionRow } from '../../../src/serve/page/wire.js';
import { useAsked, useEvents } from '../api.js';
import { formatAge, formatCount } from '../format.js';
import { LineChart } from '../parts/line-chart.js';
import { Empty, Problem } from '../parts/problem.js';
import { SharesOf } from '../parts/shares.js';
import { Reward } from '../parts/verdict.js';
import { linkTo } from '../route.js';

/** Points of the chart: five minutes of views, two a second. */
const KEPT = 600;

interface Point {
  readonly at: number;
  readonly steps: number;
}

export function LivePage() {
  const first = useAsked<LiveView>('/web/api/live');
  const [view, setView] = useState<LiveView>();
  const points = useRef<Point[]>([]);
  const isConnected = useEvents<LiveView>('/web/api/live/events', 'live', (next) => {
    points.current = [...points.current, { at: next.at, steps: sumOf(next, 'steps') }].slice(-KEPT);
    setView(next);
  });
  const shown = view ?? first.data;
  return (
    <>
      <h1 class="sr">Live</h1>
      <Problem error={first.error} />
      {shown === undefined ? null : (
        <>
          <Figures view={shown} isConnected={isConnected} />
          <Throughput points={points.current} />
          <Environments rows={shown.environments} />
          <Sessions view={shown} />
        </>
      )}
    </>
  );
}

function sumOf({ environments }: LiveView, name: 'steps' | 'episodes' | 'failures'): number {
  return environments.reduce((sum, row) => sum + row[name], 0);
}

function Figures({ view, isConnected }: { view: LiveView; isConnected: boolean }) {
  const { counts } = view;
  const figures = [
    [formatCount(counts.open), 'sessions'],
    [`${formatCount(counts.active)}/${formatCount(counts.slots)}`, 'slots taken'],
    [formatCount(counts.waiting), 'waiting'],
    [formatCount(sumOf(view, 'episodes')), 'episodes'],
    [formatCount(sumOf(view, 'steps')), 'steps'],
    [formatCount(sumOf(view, 'failures')), 'failures'],
  ] as const;
  return (
    <ul class="figures">
      {figures.map(([value, label]) => (
        <li key={label}>
          <b>{value}</b> {label}
        </li>
      ))}
      <li class="line" role="status">
        <i class={isConnected ? 'light on' : 'light'} />
        {isConnected ? 'live' : 'reconnecting'} <small>{view.version}</small>
      </li>
    </ul>
  );
}

/** Steps a second between one view and the next, since the page was opened. */
function Throughput({ points }: { points: readonly Point[] }) {
  const last = points.at(-1)?.at ?? 0;
  const rates = points.slice(1).map(({ at, steps }, i): [number, number] => {
    return [(at - last) / 1000, (1000 * (steps - points[i].steps)) / Math.max(1, at - points[i].at)];
  });
  return (
    <section class="panel" aria-label="Throughput">
      <h2>
        Steps per second <small>since this page was opened</small>
      </h2>
      <LineChart
        label="Steps per second"
        lines={[{ name: 'steps', colour: 0, points: rates }]}
        height={150}
        floor={0}
        area
        formatX={(x) => (x === 0 ? 'now' : `${Math.round(x)} s`)}
      />
    </section>
  );
}

function Environments({ rows }: { rows: readonly EnvironmentRow[] }) {
  return (
    <section class="panel" aria-label="Environments">
      <h2>Environments</h2>
      <table class="cards">
        <thead>
          <tr>
            <th scope="col">name</th>
            <th scope="col">what answers</th>
            <th scope="col">family</th>
            <th scope="col" class="num">
              tasks
            </th>
            <th scope="col" class="num">
              sessions
            </th>
            <th scope="col" class="num">
              steps
            </th>
            <th scope="col" class="num">
              failures
            </th>
            <th scope="col">answered by</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">
                <a href={linkTo('play', { env: row.name })} title={row.description}>
                  {row.name}
                </a>
              </th>
              <td data-label="what answers">
                <span class={`tag ${row.source}`}>{row.source}</span>
              </td>
              <td data-label="family">{row.family}</td>
              <td data-label="tasks" class="num">
                {row.tasks === 0 || row.family === 'vector' ? '–' : formatCount(row.tasks)}
              </td>
              <td data-label="sessions" class="num">
                {formatCount(row.sessions)}
              </td>
              <td data-label="steps" class="num">
                {formatCount(row.steps)}
              </td>
              <td data-label="failures" class={row.failures > 0 ? 'num bad' : 'num'}>
                {row.failures}
              </td>
              <td data-label="answered by">
                <SharesOf shares={row.answered} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Sessions({ view: { sessions, sessionsInAll, at } }: { view: LiveView }) {
  return (
    <section class="panel" aria-label="Sessions">
      <h2>
        Sessions{' '}
        <small>
          {sessionsInAll > sessions.length ? `latest ${sessions.length} of ${formatCount(sessionsInAll)}` : ''}
        </small>
      </h2>
      {sessions.length === 0 ? (
        <Empty>
          No session yet: a client opens one, or <a href={linkTo('play')}>play one by hand</a>.
        </Empty>
      ) : (
        <table class="cards">
          <thead>
            <tr>
              <th scope="col">session</th>
              <th scope="col">environment</th>
              <th scope="col">status</th>
              <th scope="col">task or seed</th>
              <th scope="col" class="num">
                steps
              </th>
              <th scope="col" class="num">
                return
              </th>
              <th scope="col">used</th>
            </tr>
          </thead>
          <tbody>
            {sessions.map((row) => (
              <Session key={row.key} row={row} now={at} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Session({ row, now }: { row: SessionRow; now: number }) {
  const { key, id, env, status, task, seed, stepCount, return: sum, lastUsedAt, source, parent } = row;
  return (
    <tr>
      <th scope="row">
        <a class="id" href={linkTo('session', { id: key })}>
          {id}
        </a>
        {parent === undefined ? null : <small title={`forked from ${parent}`}> fork</small>}
      </th>
      <td data-label="environment">
        {env} <span class={`tag ${source}`}>{source}</span>
      </td>
      <td data-label="status">
        <span class={`tag status ${status}`}>{status}</span>
      </td>
      <td data-label="task or seed">{task ?? (seed === null ? '–' : `seed ${seed}`)}</td>
      <td data-label="steps" class="num">
        {formatCount(stepCount)}
      </td>
      <td data-label="return" class="num">
        {stepCount === 0 ? '–' : <Reward value={sum} isFinal={status === 'done'} />}
      </td>
      <td data-label="used">{formatAge(lastUsedAt, now)}</td>
    </tr>
  );
}
