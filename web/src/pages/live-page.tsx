// What the server does now: how fast, for whom, and who answers.

import { useState } from 'preact/hooks';
import type { EnvironmentRow, LiveView, SessionRow } from '../../../src/serve/page/wire.js';
import { useAsked, useEvents, withQuery } from '../api.js';
import { formatAge, formatCount } from '../format.js';
import { Legend, LineChart } from '../parts/line-chart.js';
import { Empty, Problem } from '../parts/problem.js';
import { SharesOf } from '../parts/shares.js';
import { Reward } from '../parts/verdict.js';
import { linkTo } from '../route.js';

export function LivePage() {
  const [env, setEnv] = useState('');
  const [status, setStatus] = useState('');
  const query = { env, status };
  const first = useAsked<LiveView>(withQuery('/web/api/live', query));
  const [told, setTold] = useState<{ key: string; view: LiveView }>();
  const key = JSON.stringify(query);
  const isConnected = useEvents<LiveView>(withQuery('/web/api/live/events', query), 'live', (view) =>
    setTold({ key, view }),
  );
  const view = told?.key === key ? told.view : (first.data ?? told?.view);
  return (
    <>
      <h1 class="sr">Live</h1>
      <Problem error={first.error} />
      {view === undefined ? null : (
        <>
          <Figures view={view} isConnected={isConnected} />
          <Throughput view={view} />
          <Environments rows={view.environments} />
          <Sessions view={view} env={env} status={status} onEnv={setEnv} onStatus={setStatus} />
        </>
      )}
    </>
  );
}

function Figures({ view, isConnected }: { view: LiveView; isConnected: boolean }) {
  const { counts, totals, activity } = view;
  const lately = activity.steps.slice(-5);
  const rate = lately.reduce((sum, one) => sum + one, 0) / Math.max(1, lately.length);
  const figures = [
    [formatCount(Math.round(rate)), 'steps/s'],
    [formatCount(counts.open), 'sessions'],
    [`${formatCount(counts.active)}/${formatCount(counts.slots)}`, 'slots taken'],
    [formatCount(counts.waiting), 'waiting'],
    [formatCount(totals.episodes), 'episodes'],
    [formatCount(totals.steps), 'steps'],
    [formatCount(totals.failures), 'failures'],
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

function Throughput({ view: { activity } }: { view: LiveView }) {
  const line = (name: string, values: readonly number[], colour: number) => ({
    name,
    colour,
    points: values.map((value, i): [number, number] => [i - values.length + 1, value]),
  });
  // What never happened would only cover the axis.
  const lines = [
    line('steps', activity.steps, 0),
    line('waiting for a slot', activity.waiting, 3),
    line('failures', activity.failures, 1),
  ].filter(({ points }, i) => i === 0 || points.some(([, value]) => value > 0));
  return (
    <section class="panel" aria-label="Throughput">
      <h2>
        Steps per second <small>over the last five minutes</small>
      </h2>
      <LineChart
        label="Steps per second over the last five minutes"
        lines={lines}
        height={150}
        floor={0}
        area
        formatX={(x) => (x === 0 ? 'now' : `${Math.round(x)} s`)}
      />
      <Legend lines={lines} />
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

interface SessionsProps {
  readonly view: LiveView;
  readonly env: string;
  readonly status: string;
  readonly onEnv: (env: string) => void;
  readonly onStatus: (status: string) => void;
}

function Sessions({ view, env, status, onEnv, onStatus }: SessionsProps) {
  const { sessions, sessionsInAll, environments, at } = view;
  return (
    <section class="panel" aria-label="Sessions">
      <h2>
        Sessions{' '}
        <small>
          {sessionsInAll > sessions.length ? `latest ${sessions.length} of ${formatCount(sessionsInAll)}` : ''}
        </small>
      </h2>
      <div class="filters">
        <label>
          environment{' '}
          <select value={env} onChange={(event) => onEnv(event.currentTarget.value)}>
            <option value="">all</option>
            {environments.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          status{' '}
          <select value={status} onChange={(event) => onStatus(event.currentTarget.value)}>
            <option value="">any</option>
            {['running', 'done', 'idle', 'closed'].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </div>
      {sessions.length === 0 ? (
        <Empty>
          {env === '' && status === '' ? 'No session yet: a client opens one, or ' : 'None of these: '}
          <a href={linkTo('play')}>play one by hand</a>.
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
              <th scope="col">answered by</th>
              <th scope="col">failures</th>
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
  const {
    key,
    id,
    env,
    status,
    task,
    seed,
    stepCount,
    return: sum,
    answered,
    failures,
    lastFailure,
    lastUsedAt,
    source,
    parent,
  } = row;
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
        {stepCount === 0 ? '–' : <Reward value={sum} isFinal={status === 'done' || status === 'closed'} />}
      </td>
      <td data-label="answered by">
        <SharesOf shares={answered} />
      </td>
      <td data-label="failures">
        {failures === 0 ? (
          '–'
        ) : (
          <span class="bad">
            {failures} <small>{lastFailure}</small>
          </span>
        )}
      </td>
      <td data-label="used">{formatAge(lastUsedAt, now)}</td>
    </tr>
  );
}
