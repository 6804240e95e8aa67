// Draws the curves of a report: a vega-lite specification, compiled and rendered to SVG text in this process. Colours are CSS
// variables of the page, so one drawing serves light and dark.

import type { TopLevelSpec } from 'vega-lite';
import type { LayerSpec, UnitSpec } from 'vega-lite/build/src/spec/index.js';
import type { CurvePoint, CurvesBlock } from '../core/report.js';

interface ChartSize {
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

const CONFIG = {
  background: 'transparent',
  font: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  padding: { left: 2, right: 8, top: 6, bottom: 2 },
  view: { stroke: 'transparent' },
  axis: {
    ...{ labelColor: 'var(--ink-soft)', titleColor: 'var(--ink-soft)', gridColor: 'var(--rule)' },
    ...{ domain: false, ticks: false, tickCount: 5, labelFontSize: 11.5, labelPadding: 8 },
    ...{ titleFontSize: 12, titleFontWeight: 'normal' as const, titlePadding: 10 },
  },
  axisX: { grid: false, domain: true, domainColor: 'var(--rule-strong)', labelFlush: true },
};

const BOLD = { strokeWidth: 2.25 };
const DASHED = { color: 'var(--ink-soft)', strokeDash: [5, 4], strokeWidth: 1 };

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
  const axes = axesOf(chart);
  const layers: Layer[] = chart.diagonal === true ? [diagonal(axes)] : [];
  for (const [name, place] of coloursOf(chart, names)) {
    const seeds = chart.curves.filter((curve) => curve.name === name).map(({ points }) => points);
    layers.push(...(seeds.length === 1 ? curveLayers(chart, seeds[0], place, axes) : seedLayers(seeds, place, axes)));
  }
  if (chart.threshold !== undefined) layers.push(...thresholdLayers(chart.threshold, size.width));
  // The size asked for is that of the whole drawing.
  return { ...size, autosize: { type: 'fit', contains: 'padding' }, config: CONFIG, layer: layers };
}

function axesOf({ curves, xTitle, yTitle, yScale, diagonal: isSquare, threshold }: CurvesBlock) {
  const points = curves.flatMap((curve) => curve.points);
  const xs = points.map(({ x }) => x);
  const ys = points.flatMap(({ y, low = y, high = y }) => [y, low, high]);
  const all = extent([...ys, ...(threshold === undefined ? [] : [threshold.value])]);
  const both = extent([...xs, ...ys]);
  const axis = (field: 'x' | 'y', title: string, domain: readonly number[], own: object) => ({
    ...{ field, type: 'quantitative' as const, axis: own },
    // Vega writes titles into expressions, in which no line ends within a text.
    title: title.replaceAll(/\s+/g, ' '),
    scale: { domain: [...domain], nice: false, zero: false },
  });
  const isCounted = xs.every((x) => Number.isInteger(x));
  const isShare = yScale === 'share';
  return {
    x: axis('x', xTitle, isSquare ? both : extent(xs), {
      labelExpr: "format(datum.value, '~s')",
      ...(isCounted && { tickMinStep: 1 }),
    }),
    y: axis('y', yTitle, isShare ? [0, 1] : isSquare ? both : all, { format: isShare ? '.0%' : ',~r' }),
  };
}

/** Least and greatest, with room around where they are one. An axis that would begin close to zero begins at zero. */
function extent(values: readonly number[]): [number, number] {
  if (values.length === 0) return [0, 1];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (low === high) return [low - 0.5, high + 0.5];
  return [low > 0 && low < high / 2 ? 0 : low, high];
}

type Axes = ReturnType<typeof axesOf>;

function curveLayers(
  { isScatter }: CurvesBlock,
  points: readonly CurvePoint[],
  place: number,
  { x, y }: Axes,
): Layer[] {
  const color = armColour(place);
  const ranged = points.filter(({ low, high }) => low !== undefined && high !== undefined);
  const between = { x, y: { ...y, field: 'low' }, y2: { field: 'high' } };
  if (isScatter)
    return [
      layer(ranged, { type: 'rule', color, opacity: 0.55, strokeWidth: 1.25 }, between),
      layer(points, dot(color, 42), { x, y }),
    ];
  return [
    layer(ranged, { type: 'area', color, opacity: 0.14 }, between),
    layer(points, { type: 'line', color, ...BOLD }, { x, y }),
    layer(points.length > 12 ? points.slice(-1) : points, dot(color, 22), { x, y }),
  ];
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

function dot(color: string, size: number) {
  return { type: 'point', filled: true, color, opacity: 1, size };
}

function layer(values: readonly object[], mark: object, encoding: object): Layer {
  // Vega numbers the values it is given, in place.
  return { data: { values: values.map((value) => ({ ...value })) }, mark, encoding } as Layer;
}

/** Mean, least and greatest of the curves at every x where all of them have a point; of those that have points at all. */
export function seedBand(seeds: readonly (readonly CurvePoint[])[]): Required<Omit<CurvePoint, 'label'>>[] {
  const curves = seeds.filter(({ length }) => length > 0).map((points) => new Map(points.map(({ x, y }) => [x, y])));
  const shared = [...(curves[0]?.keys() ?? [])].filter((x) => curves.every((curve) => curve.has(x)));
  return shared.map((x) => {
    const values = curves.map((curve) => curve.get(x)!);
    const y = values.reduce((sum, value) => sum + value, 0) / values.length;
    return { x, y, low: Math.min(...values), high: Math.max(...values) };
  });
}

function diagonal({ x, y }: Axes): Layer {
  const ends = x.scale.domain.map((at) => ({ x: at, y: at }));
  return layer(ends, { type: 'line', ...DASHED }, { x, y });
}

function thresholdLayers(threshold: { value: number; label: string }, width: number): Layer[] {
  const values = [{ level: threshold.value }];
  const y = { field: 'level', type: 'quantitative' as const };
  const label = { type: 'text', text: threshold.label, align: 'center', baseline: 'bottom', dy: -5, fontSize: 11.5 };
  // Fast learners cross on the left and slow ones on the right, so the middle is most often free.
  return [
    layer(values, { type: 'rule', ...DASHED }, { y }),
    layer(values, { ...label, color: 'var(--ink-soft)' }, { y, x: { value: width * 0.4 } }),
  ];
}
