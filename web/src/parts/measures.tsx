// Metrics of world models: a block a metric, in it a line a model with its value, its interval and a bar.

import type { Metric } from '../../../src/fidelity/report/fidelity-report.js';
import { type MetricRow, turnOf } from '../../../src/fidelity/report/shown-report.js';
import { differenceText, intervalText, valueText } from '../../../src/fidelity/report/wording.js';
import type { Estimate } from '../../../src/fidelity/statistics/estimate.js';
import { COLOURS } from './line-chart.js';

const BETTER = { higher: 'higher is better', lower: 'lower is better', neither: '' };
const MARKS = { better: '▲', worse: '▼', different: '◆' };

export function Measures({ rows, names }: { rows: readonly MetricRow[]; names: readonly string[] }) {
  return (
    <ul class="measures">
      {rows.map((row) => (
        <li key={row.name}>
          <b>{row.metric.label}</b> <small>{BETTER[row.metric.better]}</small>
          <p>{row.metric.meaning}</p>
          <ol>
            {names.map((name, i) => (
              <Measure key={name} row={row} name={names.length === 1 ? '' : name} place={i} />
            ))}
          </ol>
        </li>
      ))}
    </ul>
  );
}

function Measure({ row, name, place }: { row: MetricRow; name: string; place: number }) {
  const { metric, estimates, comparisons } = row;
  const estimate = estimates[place];
  const comparison = comparisons[place];
  const turn = turnOf(comparison);
  return (
    <li>
      <span>
        {name === '' ? null : <Who name={name} place={place} />}{' '}
        {turn === undefined || comparison === undefined ? null : (
          <span
            class={{ better: 'good', worse: 'bad', different: 'quiet' }[turn]}
            title={`${differenceText(comparison.difference, metric.unit)} against ${comparison.first}`}
          >
            {MARKS[turn]} {turn}
          </span>
        )}
      </span>
      <span class="value">
        {estimate === undefined ? (
          'not measured'
        ) : (
          <>
            <b>{valueText(estimate.value, metric.unit)}</b>{' '}
            <span class="range">{intervalText(estimate, metric.unit)}</span>
          </>
        )}
      </span>
      <Bar estimate={estimate} all={estimates} unit={metric.unit} place={place} />
    </li>
  );
}

export function Who({ name, place }: { name: string; place: number }) {
  return (
    <span class="subject">
      <i style={{ background: `var(--arm-${place % COLOURS})` }} />
      {name}
    </span>
  );
}

interface BarProps {
  readonly estimate: Estimate | undefined;
  /** What it is drawn beside, on one scale. */
  readonly all: readonly (Estimate | undefined)[];
  readonly unit: Metric['unit'];
  readonly place: number;
}

/** Grows from zero; shares on a scale of 0 to 1. */
export function Bar({ estimate, all, unit, place }: BarProps) {
  if (estimate === undefined || estimate.value === null) return null;
  // Alone, what is no share has nothing that its length could be held against.
  if (all.length === 1 && unit !== 'share') return null;
  const ends = all.flatMap((one) => [one?.value ?? 0, one?.low ?? 0, one?.high ?? 0]);
  const low = Math.min(0, ...ends);
  const high = Math.max(low === 0 && unit === 'share' ? 1 : 0, ...ends) || 1;
  const at = (value: number) => (100 * (value - low)) / (high - low);
  const [zero, value] = [at(0), at(estimate.value)];
  return (
    <svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <g style={{ color: `var(--arm-${place % COLOURS})` }}>
        <rect x={Math.min(zero, value)} y={0} width={Math.abs(value - zero)} height={10} />
      </g>
      {estimate.low === null || estimate.high === null ? null : (
        <line x1={at(estimate.low)} x2={at(estimate.high)} y1={5} y2={5} />
      )}
    </svg>
  );
}
