// Draws one chart of a report: a vega-lite specification, compiled and rendered to SVG text in this process.
// Colours are CSS variables of the page, so one drawing serves light and dark.

import type { LayerSpec, UnitSpec } from 'vega-lite/build/src/spec/index.js';
import { ARM_COLOURS } from './arm-colours.js';
import { CHART_CONFIG, CHART_FIT, svgOf } from './chart-svg.js';
import type { ReportChart, ReportCurve } from './report-input.js';

export interface ChartSize {
  readonly width: number;
  readonly height: number;
}

type Layer = LayerSpec<string> | UnitSpec<string>;
type Interpolation = 'linear' | 'step-after';

/** Names of a chart's arms in order of appearance. */
export function armsOf(chart: ReportChart): string[] {
  return [...new Set(chart.curves.map((curve) => curve.arm))];
}

/** The page's colour of the arm at `index`. */
export function armColour(index: number): string {
  return `var(--arm-${index % ARM_COLOURS.light.length})`;
}

/**
 * The chart as an `<svg>` element.
 * @param arms all arms of the report in order, so that an arm has one colour everywhere
 * @param prefix put before every id inside, as a page holds many charts
 */
export async function drawChart(
  chart: ReportChart,
  arms: readonly string[],
  size: ChartSize,
  prefix: string,
): Promise<string> {
  return svgOf(chartSpec(chart, arms, size), prefix);
}

function chartSpec(chart: ReportChart, arms: readonly string[], size: ChartSize) {
  const interpolate = chart.stepped ? 'step-after' : 'linear';
  const layers: Layer[] = [];
  for (const arm of armsOf(chart)) {
    const curves = chart.curves.filter((curve) => curve.arm === arm);
    const colour = armColour(arms.indexOf(arm));
    layers.push(...armLayers(curves, colour, chart, interpolate));
  }
  if (chart.threshold !== undefined) layers.push(...thresholdLayers(chart.threshold, size.width));
  return { ...size, autosize: CHART_FIT, config: CHART_CONFIG, layer: layers };
}

/** Every seed faintly, the range of all as a band, their mean boldly, a dot where each seed ends. */
function armLayers(
  curves: readonly ReportCurve[],
  colour: string,
  chart: ReportChart,
  interpolate: Interpolation,
): Layer[] {
  const x = {
    field: 'x',
    type: 'quantitative' as const,
    title: chart.xTitle,
    axis: { labelExpr: "format(datum.value, '~s')", ...(isCounted(chart) && { tickMinStep: 1 }) },
  };
  const y = { type: 'quantitative' as const, title: chart.yTitle, ...verticalScale(chart) };
  const seeds = curves.flatMap((curve) => curve.points.map((point) => ({ ...point, seed: String(curve.seed) })));
  const ends = curves.flatMap((curve) => curve.points.slice(-1));
  const dots: Layer = {
    data: { values: ends },
    mark: { type: 'point', filled: true, color: colour, size: 22, opacity: 1 },
    encoding: { x, y: { ...y, field: 'y' } },
  };
  const line = (values: object[], field: string, weight: object): Layer => ({
    data: { values },
    mark: { type: 'line', color: colour, interpolate, ...weight },
    encoding: { x, y: { ...y, field }, detail: { field: 'seed' } },
  });
  if (curves.length === 1) return [line(seeds, 'y', BOLD), dots];
  const values = seedBand(curves, chart.stepped);
  const band: Layer = {
    data: { values },
    mark: { type: 'area', color: colour, opacity: 0.16, interpolate },
    encoding: { x, y: { ...y, field: 'low' }, y2: { field: 'high' } },
  };
  return [band, line(seeds, 'y', FAINT), line(values, 'mean', BOLD), dots];
}

/** Whether the horizontal axis counts something, so that there is nothing between whole numbers. */
function isCounted({ curves }: ReportChart): boolean {
  return curves.every(({ points }) => points.every(({ x }) => Number.isInteger(x)));
}

/** A linear scale need not start at zero; a log one gets lines at 1, 2 and 5 of each decade, not at every digit. */
function verticalScale(chart: ReportChart) {
  if (chart.yScale === 'share') return { scale: { type: 'linear' as const, domain: [0, 1] }, axis: { format: '.0%' } };
  if (chart.yScale !== 'log') return { scale: { type: 'linear' as const, zero: false, nice: true } };
  const values = chart.curves.flatMap((curve) => curve.points.map((point) => point.y)).filter((value) => value > 0);
  const low = Math.min(...values) / 1.2;
  const high = Math.max(...values) * 1.2;
  const decades = Array.from({ length: 40 }, (_, index) => index - 20);
  const lines = decades.flatMap((decade) => [1, 2, 5].map((digit) => Number(`${digit}e${decade}`)));
  const axis = { values: lines.filter((value) => value >= low && value <= high), format: '~g' };
  return { scale: { type: 'log' as const, domain: [low, high], nice: false }, axis };
}

function thresholdLayers(threshold: { value: number; label: string }, width: number): Layer[] {
  const data = { values: [{ level: threshold.value }] };
  const y = { field: 'level', type: 'quantitative' as const };
  const label = {
    type: 'text' as const,
    text: threshold.label,
    align: 'center' as const,
    baseline: 'bottom' as const,
    dy: -5,
    fontSize: 11.5,
  };
  // Fast learners cross on the left and slow ones on the right, so the middle is most often free.
  const encoding = { y, x: { value: width * 0.4 } };
  return [
    { data, mark: { type: 'rule', color: 'var(--ink-soft)', strokeDash: [5, 4], strokeWidth: 1 }, encoding: { y } },
    { data, mark: { ...label, color: 'var(--paper)', stroke: 'var(--paper)', strokeWidth: 5 }, encoding },
    { data, mark: { ...label, color: 'var(--ink-soft)' }, encoding },
  ];
}

const BOLD = { strokeWidth: 2.25 };
const FAINT = { strokeWidth: 1, opacity: 0.45 };

// What several seeds of one arm say together: their mean and range wherever all of them have something to say.

interface BandPoint {
  readonly x: number;
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/**
 * Mean, least and greatest of the curves at every x where some curve has a point, over the stretch that all cover.
 * Curves are taken as linear between their points (as constant until the next one if `stepped`); each must be sorted by x.
 */
export function seedBand(curves: readonly ReportCurve[], stepped = false): BandPoint[] {
  const covered = curves.filter((curve) => curve.points.length > 0);
  if (covered.length === 0) return [];
  const from = Math.max(...covered.map((curve) => curve.points[0].x));
  const to = Math.min(...covered.map((curve) => curve.points[curve.points.length - 1].x));
  const places = new Set(covered.flatMap((curve) => curve.points.map((point) => point.x)));
  return [...places]
    .filter((x) => x >= from && x <= to)
    .sort((a, b) => a - b)
    .map((x) => {
      const values = covered.map((curve) => valueAt(curve, x, stepped));
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      return { x, mean, low: Math.min(...values), high: Math.max(...values) };
    });
}

function valueAt(curve: ReportCurve, x: number, stepped: boolean): number {
  const after = curve.points.findIndex((point) => point.x >= x);
  const right = curve.points[after];
  if (right.x === x || after === 0) return right.y;
  const left = curve.points[after - 1];
  return stepped ? left.y : left.y + ((right.y - left.y) * (x - left.x)) / (right.x - left.x);
}
