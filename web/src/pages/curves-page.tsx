// How training went: any quantity of the runs' metrics over any of their counters, several runs in one chart.

import { useMemo, useState } from 'preact/hooks';
import type { CurvesView, RunsView } from '../../../src/serve/page/wire.js';
import { useAsked, withQuery } from '../api.js';
import { formatNumber } from '../format.js';
import { COLOURS, Legend, type Line, LineChart } from '../parts/line-chart.js';
import { Empty, Problem } from '../parts/problem.js';
import { Scrubber } from '../parts/scrubber.js';
import { linkTo, replaceRoute } from '../route.js';

/** Runs in one chart; more cannot be told apart. */
const MOST = 6;

export function CurvesPage({ params }: { params: URLSearchParams }) {
  const runs = useAsked<RunsView>('/web/api/runs');
  const known = (runs.data?.runs ?? []).filter(({ hasMetrics }) => hasMetrics);
  const asked = params.get('runs');
  const picked =
    asked === null ? known.slice(0, 1).map(({ path }) => path) : asked.split('|').filter((path) => path !== '');
  // In the order they were run in, which gives them the colours that reports give them.
  const begun = (path: string) => known.find((run) => run.path === path)?.startedAt ?? '';
  const chosen = [...picked].sort((a, b) => begun(a).localeCompare(begun(b)));
  const [quantity, axis] = [params.get('quantity') ?? '', params.get('axis') ?? ''];
  const curves = useAsked<CurvesView>(
    chosen.length === 0 ? null : withQuery('/web/api/curves', { run: chosen, quantity, axis }),
  );
  const set = (changes: Record<string, string>) =>
    replaceRoute(linkTo('curves', { runs: chosen.join('|'), quantity, axis, ...changes }));
  const toggle = (path: string) => {
    const next = chosen.includes(path) ? chosen.filter((one) => one !== path) : [...chosen, path].slice(-MOST);
    set({ runs: next.join('|') || '|' });
  };
  return (
    <>
      <h1>Curves</h1>
      <Problem error={runs.error ?? curves.error} />
      {runs.data !== undefined && known.length === 0 ? (
        <Empty>
          No run here keeps metrics yet. A run of <code>reverie train</code> or <code>quickstart</code> below the folder
          given with <code>--runs</code> does.
        </Empty>
      ) : null}
      {known.length === 0 ? null : (
        <div class="beside">
          <fieldset class="panel runs">
            <legend>
              Runs <small>up to {MOST}</small>
            </legend>
            {known.map(({ path, job, scenario }) => (
              <label key={path}>
                <input type="checkbox" checked={chosen.includes(path)} onChange={() => toggle(path)} />
                <i style={{ background: chosen.includes(path) ? colourOf(chosen, path) : 'transparent' }} />
                <span>
                  {scenario === null ? job : `${scenario}, ${job}`} <small class="path">{path}</small>
                </span>
              </label>
            ))}
          </fieldset>
          {curves.data === undefined || chosen.length === 0 ? (
            <Empty>Choose a run.</Empty>
          ) : (
            <Chart view={curves.data} chosen={chosen} onSet={set} />
          )}
        </div>
      )}
    </>
  );
}

function colourOf(chosen: readonly string[], path: string): string {
  return `var(--arm-${chosen.indexOf(path) % COLOURS})`;
}

interface ChartProps {
  readonly view: CurvesView;
  readonly chosen: readonly string[];
  readonly onSet: (changes: Record<string, string>) => void;
}

function Chart({ view, chosen, onSet }: ChartProps) {
  const { quantities, axes, quantity, axis, curves } = view;
  const lines = curves
    .filter(({ points }) => points.length > 0)
    .map(({ run, points }) => ({ name: run, points, colour: Math.max(0, chosen.indexOf(run)) }));
  const places = useMemo(
    () => [...new Set(lines.flatMap(({ points }) => points.map(([x]) => x)))].sort((a, b) => a - b),
    [view],
  );
  const [place, setPlace] = useState(Infinity);
  const at = Math.min(place, places.length - 1);
  const onCursor = (x: number) =>
    setPlace(
      Math.max(
        0,
        places.findLastIndex((one) => one <= x),
      ),
    );
  return (
    <section class="panel" aria-label="Chart">
      <div class="filters">
        <label>
          what
          <select value={quantity ?? ''} onChange={(event) => onSet({ quantity: event.currentTarget.value })}>
            {quantities.map((one) => (
              <option key={one} value={one}>
                {wordsOf(one)}
              </option>
            ))}
          </select>
        </label>
        <label>
          over
          <select value={axis} onChange={(event) => onSet({ axis: event.currentTarget.value })}>
            {axes.map((one) => (
              <option key={one} value={one}>
                {AXIS_WORDS[one] ?? one}
              </option>
            ))}
          </select>
        </label>
      </div>
      {lines.length === 0 ? (
        <Empty>
          None of these runs has {quantity === null ? 'anything to draw' : wordsOf(quantity)} over{' '}
          {AXIS_WORDS[axis] ?? axis}.
        </Empty>
      ) : places.length === 1 ? (
        <Single
          lines={lines}
          what={wordsOf(quantity ?? '')}
          at={`${formatNumber(places[0], 1)} ${AXIS_WORDS[axis] ?? axis}`}
        />
      ) : (
        <>
          <LineChart
            label={`${wordsOf(quantity ?? '')} over ${AXIS_WORDS[axis] ?? axis}`}
            lines={lines}
            height={340}
            cursor={places[at]}
            onCursor={onCursor}
          />
          <Legend lines={lines} cursor={places[at]} />
          <Scrubber
            from={0}
            to={places.length - 1}
            step={at}
            onStep={setPlace}
            stepSeconds={0.2}
            label={`${formatNumber(places[at], 1)} ${AXIS_WORDS[axis] ?? axis}`}
          />
        </>
      )}
    </section>
  );
}

/** What was measured once makes no curve. */
function Single({ lines, what, at }: { lines: readonly Line[]; what: string; at: string }) {
  return (
    <dl class="facts" aria-label={what}>
      {lines.map(({ name, points }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {what} <b>{formatNumber(points[0][1])}</b>, measured once, at {at}
          </dd>
        </div>
      ))}
    </dl>
  );
}

const AXIS_WORDS: Readonly<Record<string, string>> = {
  realSteps: 'real steps',
  syntheticSteps: 'dreamt steps',
  updates: 'updates',
  wallSeconds: 'seconds',
  round: 'rounds',
};

/** `eval.return` as it is read: what of which kind of event. */
function wordsOf(quantity: string): string {
  const [kind, field = ''] = quantity.split('.');
  return `${kind}: ${field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`;
}
