// Lines over a common axis, drawn as SVG at the size it has on the page, with a cursor that can be moved.

import { useEffect, useRef, useState } from 'preact/hooks';
import { formatNumber } from '../format.js';

export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
  /** Index of one of the page's colours. */
  readonly colour?: number;
  /** Intervals of points: a band around a line, whiskers of points. */
  readonly ranges?: readonly (readonly [x: number, low: number, high: number])[];
  /** Points are not joined. */
  readonly loose?: boolean;
}

export interface LineChartProps {
  readonly label: string;
  readonly lines: readonly Line[];
  readonly height: number;
  /** Where the cursor stands. */
  readonly cursor?: number;
  readonly onCursor?: (x: number) => void;
  /** Values the vertical axis always holds. */
  readonly floor?: number;
  readonly ceiling?: number;
  readonly formatX?: (x: number) => string;
  readonly formatY?: (y: number) => string;
  /** Draws y = x, on axes of the same range. */
  readonly diagonal?: boolean;
  /** Leaves the axes out. */
  readonly small?: boolean;
  readonly area?: boolean;
}

/** Of arms in base.css. */
export const COLOURS = 10;

const MARGIN = { left: 44, right: 10, top: 8, bottom: 22 };
const SMALL_MARGIN = { left: 2, right: 2, top: 3, bottom: 3 };

/** Draws nothing where there is no point at all. */
export function LineChart(props: LineChartProps) {
  const { label, lines, height, cursor, onCursor, small = false, area = false } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const margin = small ? SMALL_MARGIN : MARGIN;
  const scale = scaleOf(props.diagonal === true ? squared(lines) : lines, width, height, margin, props);
  const move = (event: PointerEvent) => {
    if (onCursor === undefined || scale === undefined) return;
    const { left } = box.current!.getBoundingClientRect();
    onCursor(scale.xAt(event.clientX - left));
  };
  return (
    <div class="chart" ref={box} style={{ height: `${height}px` }}>
      <svg
        width={width}
        height={height}
        role="img"
        aria-label={label}
        class={onCursor === undefined ? undefined : 'movable'}
        onPointerDown={move}
        onPointerMove={(event) => event.buttons === 1 && move(event)}
      >
        <title>{label}</title>
        {scale === undefined ? null : (
          <>
            {small ? null : <Axes scale={scale} {...props} />}
            {props.diagonal === true ? <path class="diagonal" d={linePath(ends(scale), scale)} /> : null}
            {lines.map((line) => (
              <Series key={line.name} line={line} scale={scale} area={area} />
            ))}
            {cursor === undefined ? null : <Cursor x={cursor} lines={lines} scale={scale} height={height} />}
          </>
        )}
      </svg>
    </div>
  );
}

function Series({ line, scale, area }: { line: Line; scale: Scale; area: boolean }) {
  const { points, ranges = [], loose = false, colour = 0 } = line;
  return (
    <g style={{ color: `var(--arm-${colour % COLOURS})` }}>
      {area ? <path class="area" d={areaPath(points, scale)} /> : null}
      {loose
        ? ranges.map(([x, low, high], i) => (
            <line key={i} class="whisker" x1={scale.x(x)} x2={scale.x(x)} y1={scale.y(low)} y2={scale.y(high)} />
          ))
        : null}
      {!loose && ranges.length > 1 ? <path class="area" d={bandPath(ranges, scale)} /> : null}
      {loose ? null : <path class="line" d={linePath(points, scale)} />}
      {loose || points.length === 1
        ? points.map(([x, y], i) => (
            <circle key={i} class="dot" cx={scale.x(x)} cy={scale.y(y)} r={loose ? 3.5 : 2.5} />
          ))
        : null}
    </g>
  );
}

/** What the lines are, with their values at the cursor where there is one. */
export function Legend({ lines, cursor }: Pick<LineChartProps, 'lines' | 'cursor'>) {
  return (
    <ul class="legend">
      {lines.map(({ name, points, colour = 0 }) => (
        <li key={name}>
          <i style={{ background: `var(--arm-${colour % COLOURS})` }} />
          {name}
          {cursor === undefined ? null : <b>{formatNumber(valueAt(points, cursor))}</b>}
        </li>
      ))}
    </ul>
  );
}

function Cursor({ x, lines, scale, height }: { x: number; lines: readonly Line[]; scale: Scale; height: number }) {
  return (
    <g class="cursor">
      <line x1={scale.x(x)} x2={scale.x(x)} y1={0} y2={height} />
      {lines.map(({ name, points, colour = 0 }) => {
        const point = pointAt(points, x);
        if (point === undefined) return null;
        return (
          <circle
            key={name}
            cx={scale.x(point[0])}
            cy={scale.y(point[1])}
            r={3}
            style={{ fill: `var(--arm-${colour % COLOURS})` }}
          />
        );
      })}
    </g>
  );
}

function Axes({ scale, height, formatX = formatTick, formatY = formatTick }: LineChartProps & { scale: Scale }) {
  const bottom = height - MARGIN.bottom;
  return (
    <g class="axes">
      {ticksOf(scale.low, scale.high, tickCount(height)).map((value) => (
        <g key={value}>
          <line x1={MARGIN.left} x2={scale.right} y1={scale.y(value)} y2={scale.y(value)} />
          <text x={MARGIN.left - 6} y={scale.y(value) + 3.5} text-anchor="end">
            {formatY(value)}
          </text>
        </g>
      ))}
      <line class="base" x1={MARGIN.left} x2={scale.right} y1={bottom} y2={bottom} />
      {ticksOf(scale.first, scale.last, acrossCount(scale)).map((value) => (
        <text
          key={value}
          x={scale.x(value)}
          y={height - 7}
          text-anchor={scale.x(value) > scale.right - 16 ? 'end' : 'middle'}
        >
          {formatX(value)}
        </text>
      ))}
    </g>
  );
}

interface Scale {
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
  readonly xAt: (pixels: number) => number;
  readonly first: number;
  readonly last: number;
  readonly low: number;
  readonly high: number;
  readonly right: number;
  /** All points lie at whole numbers across. */
  readonly isWhole: boolean;
}

function scaleOf(
  lines: readonly Line[],
  width: number,
  height: number,
  margin: typeof MARGIN,
  { floor, ceiling }: Pick<LineChartProps, 'floor' | 'ceiling'>,
): Scale | undefined {
  let [first, last, low, high] = [Infinity, -Infinity, floor ?? Infinity, ceiling ?? floor ?? -Infinity];
  for (const { points, ranges = [] } of lines) {
    const reached = ranges.flatMap(([x, from, to]) => [[x, from] as const, [x, to] as const]);
    for (const [x, y] of [...points, ...reached]) {
      first = Math.min(first, x);
      last = Math.max(last, x);
      low = Math.min(low, y);
      high = Math.max(high, y);
    }
  }
  if (first === Infinity || width === 0) return undefined;
  // A single value lies in the middle, between round numbers.
  if (high === low) [low, high] = floor === undefined ? [low - 1, high + 1] : [low, high + 1];
  if (last === first) [first, last] = [first - 0.5, last + 0.5];
  if (margin === MARGIN) [low, high] = rounded(low, high, stepOf(high - low, tickCount(height)));
  const right = width - margin.right;
  const [across, up] = [right - margin.left, height - margin.top - margin.bottom];
  return {
    x: (value) => margin.left + ((value - first) / (last - first)) * across,
    y: (value) => margin.top + (1 - (value - low) / (high - low)) * up,
    xAt: (pixels) => first + Math.min(1, Math.max(0, (pixels - margin.left) / across)) * (last - first),
    first,
    last,
    low,
    high,
    right,
    isWhole: lines.every(({ points }) => points.every(([x]) => Number.isInteger(x))),
  };
}

/** With each point's mirror image, so that both axes reach as far. */
function squared(lines: readonly Line[]): readonly Line[] {
  return lines.flatMap((line) => [line, { ...line, points: line.points.map(([x, y]) => [y, x] as const), ranges: [] }]);
}

function ends({ first, last, low, high }: Scale): Line['points'] {
  return [Math.max(first, low), Math.min(last, high)].map((at) => [at, at]);
}

function bandPath(ranges: NonNullable<Line['ranges']>, scale: Scale): string {
  const above = ranges.map(([x, , high]) => [x, high] as const);
  const below = ranges.map(([x, low]) => [x, low] as const).reverse();
  return `${linePath([...above, ...below], scale)}Z`;
}

function linePath(points: Line['points'], scale: Scale): string {
  return points.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${scale.x(x).toFixed(1)} ${scale.y(y).toFixed(1)}`).join('');
}

function areaPath(points: Line['points'], scale: Scale): string {
  if (points.length === 0) return '';
  const base = scale.y(Math.max(scale.low, Math.min(0, scale.high))).toFixed(1);
  const [from, to] = [points[0][0], points[points.length - 1][0]];
  return `${linePath(points, scale)}L${scale.x(to).toFixed(1)} ${base}L${scale.x(from).toFixed(1)} ${base}Z`;
}

function valueAt(points: Line['points'], x: number): number | undefined {
  return pointAt(points, x)?.[1];
}

/** The last point not after `x`. */
function pointAt(points: Line['points'], x: number): Line['points'][number] | undefined {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= x) low = middle + 1;
    else high = middle;
  }
  return points[low - 1];
}

/** Round numbers within [low, high], about `count` of them. */
export function ticksOf(low: number, high: number, count: number): number[] {
  const step = stepOf(high - low, count);
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
    ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

/** Between whole numbers, as steps and elements are, there is nothing to mark. */
function acrossCount({ first, last, right, isWhole }: Scale): number {
  const count = Math.min(8, Math.max(2, Math.floor(right / 80)));
  return isWhole ? Math.min(count, last - first) : count;
}

function tickCount(height: number): number {
  return Math.min(6, Math.max(2, Math.floor(height / 36)));
}

/** 1, 2 or 5 times a power of ten, so that about `count` of them make the range. */
function stepOf(range: number, count: number): number {
  const rough = range / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5].find((one) => one * power >= rough) ?? 10) * power;
}

function rounded(low: number, high: number, step: number): [low: number, high: number] {
  return [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
}

function formatTick(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`;
  return String(Number(value.toPrecision(4)));
}

function useWidth(box: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([{ contentRect }]) => setWidth(Math.floor(contentRect.width)));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, [box]);
  return width;
}
