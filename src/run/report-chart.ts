// Draws the curves of a report: a vega-lite specification, compiled and rendered to SVG text in this process. Colours are CSS
// variables of the page, so one drawing serves light and dark.

import type { TopLevelSpec } from 'vega-lite';
import type { LayerSpec, UnitSpec } from 'vega-lite/build/src/spec/index.js';
import type { CurvePoint, CurvesBlock } from '../core/report.js';

export interface ChartSize {
  readonly width: number;
  readonly height: number;
}

/**
 * Colours of a page, in order of appearance. Each list was searched for the largest least distance of any two (0.1 and more in
 * OKLab, Ottosson 2020), as they are and as they look to protanopes, deuteranopes and tritanopes (Machado et al. 2009), at a
 * contrast of 3 : 1 or more with the page; earlier ones are further apart.
 */
export const ARM_COLOURS = {
  light: ['#0f6fb8', '#d4541b', '#58012b', '#962905', '#2794fb', '#042eb2', '#c07b90', '#3c086b', '#99576c', '#6b3860'],
  dark: ['#5eb0f0', '#f58a55', '#9146b8', '#c03809', '#cdf118', '#0b7768', '#8ce4fa', '#886afe', '#ffb6a2', '#b57da7'],
} as const;

/** The page's colour at a place. */
export function armColour(place: number): string {
  return `var(--arm-${place % ARM_COLOURS.light.length})`;
}

/** Names of a chart's curves in order of appearance, each with its place among the colours of the page. */
export function coloursOf({ curves }: CurvesBlock, names: readonly string[]): Map<string, number> {
  return new Map(curves.map(({ name, colour }) => [name, colour ?? Math.max(0, names.indexOf(name))]));
}

type Layer = LayerSpec<string> | UnitSpec<string>;
type Ranges = { readonly x: readonly [number, number]; readonly y: readonly [number, number] };

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const CONFIG = {
  background: 'transparent',
  font: FONT,
  padding: { left: 2, right: 8, top: 6, bottom: 2 },
  view: { stroke: 'transparent' },
  axis: {
    labelColor: 'var(--ink-soft)',
    titleColor: 'var(--ink-soft)',
    gridColor: 'var(--rule)',
    domain: false,
    ticks: false,
    labelFontSize: 11.5,
    titleFontSize: 12,
    titleFontWeight: 'normal' as const,
    labelPadding: 8,
    titlePadding: 10,
    tickCount: 5,
  },
  axisX: { grid: false, domain: true, domainColor: 'var(--rule-strong)', labelFlush: true },
};

/**
 * The chart as an `<svg>` element.
 * @param names of all curves of the report in order, so that a name has one colour everywhere
 * @param prefix put before every id inside, as a page holds many charts
 */
export async function drawCurves(
  chart: CurvesBlock,
  names: readonly string[],
  size: ChartSize,
  prefix: string,
): Promise<string> {
  const [vega, lite] = await Promise.all([import('vega'), import('vega-lite')]);
  // The default logger prints to the console of a program whose output others parse.
  const logger = vega.logger(vega.None);
  const { spec } = lite.compile(specOf(chart, names, size) as TopLevelSpec, { logger });
  const view = new vega.View(vega.parse(spec), { renderer: 'none', logLevel: vega.None });
  const svg = await view.toSVG();
  view.finalize();
  return svg.replaceAll(/( id="|url\(#)/g, `$1${prefix}-`);
}

function specOf(chart: CurvesBlock, names: readonly string[], size: ChartSize) {
  const ranges = rangesOf(chart);
  const axes = axesOf(chart, ranges);
  const layers: Layer[] = chart.diagonal === true ? [diagonal(ranges, axes)] : [];
  for (const [name, place] of coloursOf(chart, names)) {
    const seeds = chart.curves.filter((curve) => curve.name === name).map(({ points }) => drawable(chart, points));
    layers.push(...(seeds.length === 1 ? curveLayers(chart, seeds[0], place, axes) : seedLayers(seeds, place, axes)));
  }
  if (chart.threshold !== undefined) layers.push(...thresholdLayers(chart.threshold, size.width));
  // The size asked for is that of the whole drawing.
  return { ...size, autosize: { type: 'fit', contains: 'padding' }, config: CONFIG, layer: layers };
}

/** On a log scale those above zero. */
function drawable({ yScale }: CurvesBlock, points: readonly CurvePoint[]): readonly CurvePoint[] {
  return yScale === 'log' ? points.filter(({ y }) => y > 0) : points;
}

function rangesOf(chart: CurvesBlock): Ranges {
  const points = chart.curves.flatMap((curve) => drawable(chart, curve.points));
  if (points.length === 0) return { x: [0, 1], y: [chart.yScale === 'log' ? 0.1 : 0, 1] };
  const xs = padded(points.map(({ x }) => x));
  const ys = points.map(({ y }) => y);
  const ends = points.flatMap(({ y, low = y, high = y }) => [y, low, high]);
  if (chart.yScale === 'log') return { x: xs, y: [Math.min(...ys) / 1.2, Math.max(...ends) * 1.2] };
  if (chart.yScale === 'share') return { x: xs, y: [0, 1] };
  if (chart.diagonal === true) {
    const both = padded([...points.map(({ x }) => x), ...ends], 0.04);
    return { x: both, y: both };
  }
  const [low, high] = padded([...ends, ...(chart.threshold === undefined ? [] : [chart.threshold.value])]);
  // An axis that begins close to zero begins at zero.
  return { x: xs, y: low > 0 && low < high / 2 ? [0, high] : [low, high] };
}

function padded(values: readonly number[], share = 0): [number, number] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = low === high ? Math.abs(low) / 2 || 0.5 : share * (high - low);
  return [low - room, high + room];
}

function axesOf({ xTitle, yTitle, yScale, curves }: CurvesBlock, ranges: Ranges) {
  const isCounted = curves.every(({ points }) => points.every(({ x }) => Number.isInteger(x)));
  const axis = { axis: { format: yScale === 'share' ? '.0%' : '~g', ...(yScale === 'log' && { labelOverlap: true }) } };
  return {
    x: {
      field: 'x',
      type: 'quantitative' as const,
      title: oneLine(xTitle),
      scale: { type: 'linear' as const, domain: [...ranges.x], nice: false, zero: false },
      axis: { labelExpr: "format(datum.value, '~s')", ...(isCounted && { tickMinStep: 1 }) },
    },
    y: {
      field: 'y',
      type: 'quantitative' as const,
      title: oneLine(yTitle),
      scale: {
        type: yScale === 'log' ? ('log' as const) : ('linear' as const),
        domain: [...ranges.y],
        nice: yScale !== 'log',
        zero: false,
      },
      ...axis,
    },
  };
}

type Axes = ReturnType<typeof axesOf>;

function curveLayers(chart: CurvesBlock, points: readonly CurvePoint[], place: number, { x, y }: Axes): Layer[] {
  const color = armColour(place);
  const least = chart.yScale === 'log' ? Math.min(...points.map((point) => point.y)) / 2 : Number.NEGATIVE_INFINITY;
  const ranged = points.flatMap(({ low, high, ...point }) =>
    low === undefined || high === undefined ? [] : [{ ...point, low: Math.max(low, least), high }],
  );
  const isLine = !chart.isScatter;
  const interval = layer(
    ranged,
    isLine ? { type: 'area', color, opacity: 0.14 } : { type: 'rule', color, opacity: 0.55, strokeWidth: 1.25 },
    { x, y: { ...y, field: 'low' }, y2: { field: 'high' } },
  );
  const dots = layer(isLine && points.length > 12 ? points.slice(-1) : points, dot(color, isLine ? 22 : 42), { x, y });
  return isLine ? [interval, layer(points, { type: 'line', color, ...BOLD }, { x, y }), dots] : [interval, dots];
}

/** Every seed faintly, the range of all as a band, their mean boldly, a dot where each seed ends. */
function seedLayers(seeds: readonly (readonly CurvePoint[])[], place: number, { x, y }: Axes): Layer[] {
  const color = armColour(place);
  const band = seedBand(seeds);
  const each = seeds.flatMap((points, seed) => points.map((point) => ({ ...point, seed })));
  const ends = seeds.flatMap((points) => points.slice(-1));
  return [
    layer(band, { type: 'area', color, opacity: 0.16 }, { x, y: { ...y, field: 'low' }, y2: { field: 'high' } }),
    layer(each, { type: 'line', color, strokeWidth: 1, opacity: 0.45 }, { x, y, detail: { field: 'seed' } }),
    layer(band, { type: 'line', color, ...BOLD }, { x, y }),
    layer(ends, dot(color, 22), { x, y }),
  ];
}

const BOLD = { strokeWidth: 2.25 };

function dot(color: string, size: number) {
  return { type: 'point', filled: true, color, opacity: 1, size };
}

function layer(values: readonly object[], mark: object, encoding: object): Layer {
  // Vega numbers the values it is given, in place.
  return { data: { values: values.map((value) => ({ ...value })) }, mark, encoding } as Layer;
}

/**
 * Mean, least and greatest of the curves at every x where some curve has a point, over the stretch that all cover. Curves are
 * taken as linear between their points; each must be sorted by x.
 */
export function seedBand(seeds: readonly (readonly CurvePoint[])[]): Required<Omit<CurvePoint, 'label'>>[] {
  const covered = seeds.filter(({ length }) => length > 0);
  if (covered.length === 0) return [];
  const from = Math.max(...covered.map((points) => points[0].x));
  const to = Math.min(...covered.map((points) => points[points.length - 1].x));
  const places = new Set(covered.flatMap((points) => points.map(({ x }) => x)));
  return [...places]
    .filter((x) => x >= from && x <= to)
    .sort((a, b) => a - b)
    .map((x) => {
      const values = covered.map((points) => valueAt(points, x));
      const y = values.reduce((sum, value) => sum + value, 0) / values.length;
      return { x, y, low: Math.min(...values), high: Math.max(...values) };
    });
}

function valueAt(points: readonly CurvePoint[], x: number): number {
  const after = points.findIndex((point) => point.x >= x);
  const right = points[after];
  if (right.x === x || after === 0) return right.y;
  const left = points[after - 1];
  return left.y + ((right.y - left.y) * (x - left.x)) / (right.x - left.x);
}

function diagonal({ x, y }: Ranges, { x: xAxis, y: yAxis }: Axes): Layer {
  const ends = [Math.max(x[0], y[0]), Math.min(x[1], y[1])].map((at) => ({ x: at, y: at }));
  const mark = { type: 'line', color: 'var(--ink-soft)', strokeDash: [5, 4], strokeWidth: 1 };
  return layer(ends, mark, { x: xAxis, y: yAxis });
}

function thresholdLayers(threshold: { value: number; label: string }, width: number): Layer[] {
  const values = [{ level: threshold.value }];
  const y = { field: 'level', type: 'quantitative' as const };
  const label = {
    ...{ type: 'text', text: threshold.label, align: 'center', baseline: 'bottom' },
    ...{ dy: -5, fontSize: 11.5 },
  };
  // Fast learners cross on the left and slow ones on the right, so the middle is most often free.
  const encoding = { y, x: { value: width * 0.4 } };
  return [
    layer(values, { type: 'rule', color: 'var(--ink-soft)', strokeDash: [5, 4], strokeWidth: 1 }, { y }),
    layer(values, { ...label, color: 'var(--ink-soft)' }, encoding),
  ];
}

/** Vega writes titles into expressions, in which no line ends within a text. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}
