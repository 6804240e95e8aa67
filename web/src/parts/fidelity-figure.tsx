// A figure of a fidelity report: curves in panels, or bars in groups.

import type { BarsFigure, CurvesFigure, Figure, FigureSeries } from '../../../src/fidelity/report/figures.js';
import { estimateText } from '../../../src/fidelity/report/wording.js';
import { Legend, type Line, LineChart } from './line-chart.js';
import { Bar, Who } from './measures.js';

export function FidelityFigure({ figure, names }: { figure: Figure; names: readonly string[] }) {
  return (
    <figure class="figure">
      <h3>{figure.title}</h3>
      <p>{figure.caption}</p>
      {figure.kind === 'bars' ? <Groups figure={figure} names={names} /> : <Panels figure={figure} />}
    </figure>
  );
}

function Groups({ figure: { groups }, names }: { figure: BarsFigure; names: readonly string[] }) {
  return (
    <div class="groups">
      {groups.map(({ label, unit, bars }) => (
        <div class="measures" key={label}>
          <b>{label}</b>
          <ol>
            {bars.map(({ name, colour, estimate }) => (
              <li key={name}>
                <span>{names.length === 1 ? null : <Who name={name} place={colour} />}</span>
                <span class="value">{estimateText(estimate, unit)}</span>
                <Bar estimate={estimate} all={bars.map((bar) => bar.estimate)} unit={unit} place={colour} />
              </li>
            ))}
          </ol>
        </div>
      ))}
    </div>
  );
}

function Panels({ figure }: { figure: CurvesFigure }) {
  const { panels, diagonal = false, yScale, xTitle, yTitle } = figure;
  const isLog = yScale === 'log';
  const shape = `${panels.length === 1 ? 'one' : ''} ${diagonal ? 'square' : ''}`;
  const drawn = panels.map(({ title, series }) => ({
    title,
    lines: series.map((one) => lineOf(one, figure.kind === 'points', isLog)),
  }));
  // All panels have the same axis, so that they can be compared.
  const reached = drawn.flatMap(({ lines }) =>
    lines.flatMap(({ points, ranges = [] }) => [...points.map(([, y]) => y), ...ranges.flatMap(([, ...ends]) => ends)]),
  );
  const range = reached.length === 0 ? {} : { floor: Math.min(...reached), ceiling: Math.max(...reached) };
  return (
    <div class={`panels ${shape}`}>
      {drawn.map(({ title, lines }) => {
        return (
          <div key={title}>
            <p class="quiet">
              {title === '' ? null : <b>{title}: </b>}
              {yTitle} over {xTitle}
            </p>
            <LineChart
              label={`${yTitle} over ${xTitle}${title === '' ? '' : `: ${title}`}`}
              lines={lines}
              height={diagonal ? 300 : 240}
              diagonal={diagonal}
              {...range}
              formatY={isLog ? (y) => String(Number((10 ** y).toPrecision(2))) : undefined}
            />
            {lines.length < 2 ? null : <Legend lines={lines} />}
          </div>
        );
      })}
    </div>
  );
}

/** On a log scale what is not above zero is left out. */
function lineOf({ name, colour, points }: FigureSeries, loose: boolean, isLog: boolean): Line {
  const drawn = isLog ? points.filter(({ y, low = y }) => y > 0 && low > 0) : points;
  const up = (y: number) => (isLog ? Math.log10(y) : y);
  return {
    name,
    colour,
    loose,
    points: drawn.map(({ x, y }) => [x, up(y)] as const),
    ranges: drawn.flatMap(({ x, low, high }) =>
      low === undefined || high === undefined ? [] : [[x, up(low), up(high)] as const],
    ),
  };
}
