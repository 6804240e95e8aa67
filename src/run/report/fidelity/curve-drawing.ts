// Draws curves and points with their intervals: a vega-lite specification for each panel of a figure.

import type { LayerSpec, UnitSpec } from 'vega-lite/build/src/spec/index.js';
import type { Point } from '../../../fidelity/report/fidelity-report.js';
import type { CurvesFigure, FigureSeries } from '../../../fidelity/report/figures.js';
import { armColour, type ChartSize } from '../chart.js';
import { CHART_CONFIG, CHART_FIT, svgOf } from '../chart-svg.js';

type Layer = LayerSpec<string> | UnitSpec<string>;
type Panel = CurvesFigure['panels'][number];

/** Beyond it names would cover the points. */
const MOST_LABELS = 16;
const FEW_MARKS = 8;
/** Colours that the page has; further series are dashed. */
const COLOURS = 6;

/** One panel as an `<svg>` element; all panels of a figure have the same axes. `prefix` is put before ids inside. */
export function drawPanel(figure: CurvesFigure, panel: Panel, size: ChartSize, prefix: string): Promise<string> {
  const ranges = rangesOf(figure);
  const scales = {
    x: { type: 'linear' as const, domain: ranges.x, nice: false, zero: false },
    y: { type: figure.yScale ?? ('linear' as const), domain: ranges.y, nice: figure.yScale !== 'log', zero: false },
  };
  const axes = {
    x: { field: 'x', type: 'quantitative' as const, title: figure.xTitle, scale: scales.x, ...wholeAxis(figure) },
    y: {
      field: 'y',
      type: 'quantitative' as const,
      title: figure.yTitle,
      scale: scales.y,
      ...logAxis(figure, ranges.y),
    },
  };
  const layers: Layer[] = [
    ...(figure.diagonal === true ? [diagonal(ranges, axes)] : []),
    ...panel.series.flatMap((series) => seriesLayers(figure, series, axes)),
    ...labelLayers(figure, panel, size, ranges, axes),
  ];
  return svgOf({ ...size, autosize: CHART_FIT, config: CHART_CONFIG, layer: layers }, prefix);
}

/** Points that can be drawn: on a log scale those above zero. */
export function drawable(figure: CurvesFigure, { points }: FigureSeries): FigureSeries['points'] {
  return figure.yScale === 'log' ? points.filter(({ y }) => y > 0) : points;
}

type Axes = { x: object; y: object };
type Ranges = { x: [number, number]; y: [number, number] };

function seriesLayers(figure: CurvesFigure, series: FigureSeries, { x, y }: Axes): Layer[] {
  const color = armColour(series.colour);
  const points = drawable(figure, series);
  const least = figure.yScale === 'log' ? Math.min(...points.map((point) => point.y)) / 2 : Number.NEGATIVE_INFINITY;
  const ranged = points.flatMap(({ low, high, ...point }) =>
    low === undefined || high === undefined ? [] : [{ ...point, low: Math.max(low, least), high }],
  );
  const isLine = figure.kind === 'lines';
  const interval: Layer = {
    data: { values: ranged },
    mark: isLine ? { type: 'area', color, opacity: 0.14 } : { type: 'rule', color, opacity: 0.55, strokeWidth: 1.25 },
    encoding: { x, y: { ...y, field: 'low' }, y2: { field: 'high' } },
  } as Layer;
  const line: Layer = {
    data: { values: [...points] },
    mark: { type: 'line', color, strokeWidth: 2.25, ...(series.colour >= COLOURS && { strokeDash: [6, 3] }) },
    encoding: { x, y },
  } as Layer;
  const isFew = points.length <= 12;
  const dots: Layer = {
    data: { values: isLine && !isFew ? points.slice(-1) : [...points] },
    mark: { type: 'point', filled: true, color, opacity: 1, size: isLine ? 22 : 42 },
    encoding: { x, y },
  } as Layer;
  return isLine ? [interval, line, dots] : [interval, dots];
}

function diagonal({ x, y }: Ranges, axes: Axes): Layer {
  const [from, to] = [Math.max(x[0], y[0]), Math.min(x[1], y[1])];
  return {
    data: { values: [from, to].map((at) => ({ x: at, y: at })) },
    mark: { type: 'line', color: 'var(--ink-soft)', strokeDash: [5, 4], strokeWidth: 1 },
    encoding: axes,
  } as Layer;
}

/** Names of points, where there is one series of few. */
function labelLayers(figure: CurvesFigure, { series }: Panel, size: ChartSize, ranges: Ranges, axes: Axes): Layer[] {
  const [only, ...others] = series;
  if (only === undefined || others.length > 0) return [];
  const named = drawable(figure, only).filter(({ label }) => label !== undefined);
  if (named.length === 0 || named.length > MOST_LABELS || figure.yScale === 'log') return [];
  return placedLabels(named, size, ranges).map(
    ({ x, y, label, dx, dy, align }) =>
      ({
        data: { values: [{ x, y }] },
        mark: { type: 'text', text: label, align, baseline: 'middle', dx, dy, fontSize: 11, color: 'var(--ink-soft)' },
        encoding: axes,
      }) as Layer,
  );
}

/** Of all panels, intervals included. Diagonals want the same axis twice. */
function rangesOf(figure: CurvesFigure): Ranges {
  const points = figure.panels.flatMap(({ series }) => series.flatMap((one) => drawable(figure, one)));
  if (points.length === 0) return { x: [0, 1], y: figure.yScale === 'log' ? [0.1, 1] : [0, 1] };
  const xs = points.map(({ x }) => x);
  const ys = points.flatMap(({ y, low = y, high = y }) => [y, low, high]);
  if (figure.yScale === 'log')
    return {
      x: padded(xs),
      y: logRange(
        points.map(({ y }) => y),
        ys,
      ),
    };
  if (figure.diagonal === true) {
    const both = padded([...xs, ...ys], 0.04);
    return { x: both, y: both };
  }
  const [low, high] = padded(ys);
  // An axis that begins close to zero begins at zero.
  return { x: padded(xs), y: low > 0 && low < high / 2 ? [0, high] : [low, high] };
}

function padded(values: readonly number[], share = 0): [number, number] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = low === high ? Math.abs(low) / 2 || 0.5 : share * (high - low);
  return [low - room, high + room];
}

function logRange(values: readonly number[], ends: readonly number[]): [number, number] {
  return [Math.min(...values) / 2, Math.max(...ends) * 1.2];
}

/** Few steps or counts: each has its mark, and nothing between them has one. */
function wholeAxis({ panels }: CurvesFigure): object {
  const xs = panels.flatMap(({ series }) => series.flatMap(({ points }) => points.map(({ x }) => x)));
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  if (!xs.every(Number.isInteger) || high - low < 1 || high - low >= FEW_MARKS) return {};
  return { axis: { values: Array.from({ length: high - low + 1 }, (_, i) => low + i), format: 'd' } };
}

/** A log axis gets lines at 1, 2 and 5 of each decade, not at every digit. */
function logAxis({ yScale }: CurvesFigure, [low, high]: readonly [number, number]): object {
  if (yScale !== 'log') return {};
  const decades = Array.from({ length: 40 }, (_, i) => i - 20);
  const digits = high / low > 1000 ? [1] : [1, 2, 5];
  const values = decades.flatMap((decade) => digits.map((digit) => Number(`${digit}e${decade}`)));
  return { axis: { values: values.filter((value) => value >= low && value <= high), format: '~g' } };
}

// Where names of points can stand without covering points or each other.

interface PlacedLabel {
  readonly x: number;
  readonly y: number;
  readonly label: string;
  /** Pixels from the point. */
  readonly dx: number;
  readonly dy: number;
  readonly align: 'left' | 'right' | 'center';
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Pixels that axes and their titles take, about. */
const MARGIN = { x: 62, y: 52 };
const LETTER = 6.2;
const LINE = 13;
const DOT = 5;

const SIDES = [
  { dx: 8, dy: 0, align: 'left' },
  { dx: -8, dy: 0, align: 'right' },
  { dx: 0, dy: -12, align: 'center' },
  { dx: 0, dy: 12, align: 'center' },
  { dx: 8, dy: -11, align: 'left' },
  { dx: -8, dy: 11, align: 'right' },
  { dx: 8, dy: 11, align: 'left' },
  { dx: -8, dy: -11, align: 'right' },
] as const;

/** Each point's name at the first of eight sides that is free; a name that has no place is left out. */
function placedLabels(
  points: readonly Point[],
  size: ChartSize,
  ranges: { readonly x: readonly [number, number]; readonly y: readonly [number, number] },
): PlacedLabel[] {
  const width = size.width - MARGIN.x;
  const height = size.height - MARGIN.y;
  const pixels = points.map(({ x, y }) => ({
    x: ((x - ranges.x[0]) / (ranges.x[1] - ranges.x[0])) * width,
    y: (1 - (y - ranges.y[0]) / (ranges.y[1] - ranges.y[0])) * height,
  }));
  const taken = pixels.map(({ x, y }) => ({ left: x - DOT, right: x + DOT, top: y - DOT, bottom: y + DOT }));
  return points.flatMap(({ x, y, label = '' }, i) => {
    for (const side of SIDES) {
      const box = boxOf(pixels[i], label, side);
      const isInside = box.left >= 0 && box.right <= width && box.top >= 0 && box.bottom <= height;
      if (!isInside || taken.some((other, j) => j !== i && overlaps(box, other))) continue;
      taken.push(box);
      return [{ x, y, label, ...side }];
    }
    return [];
  });
}

function boxOf(at: { x: number; y: number }, label: string, { dx, dy, align }: (typeof SIDES)[number]): Box {
  const width = LETTER * label.length;
  const from = { left: 0, right: width, center: width / 2 }[align];
  const left = at.x + dx - from;
  const middle = at.y + dy;
  return { left, right: left + width, top: middle - LINE / 2, bottom: middle + LINE / 2 };
}

function overlaps(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
