// A vega-lite specification as SVG text, compiled and rendered in this process, and the looks that all charts share.
// Colours are CSS variables of the page, so one drawing serves light and dark.

import type { TopLevelSpec } from 'vega-lite';

/**
 * The chart as an `<svg>` element.
 * @param prefix put before every id inside, as a page holds many charts
 */
export async function svgOf(chart: TopLevelSpec, prefix: string): Promise<string> {
  const [vega, lite] = await Promise.all([import('vega'), import('vega-lite')]);
  // The default logger prints to the console of a program whose output others parse.
  const logger = vega.logger(vega.None);
  // It numbers the values it is given, in place.
  const { spec } = lite.compile(structuredClone(chart), { logger });
  const view = new vega.View(vega.parse(spec), { renderer: 'none', logLevel: vega.None });
  const svg = await view.toSVG();
  view.finalize();
  return svg.replaceAll(/( id="|url\(#)/g, `$1${prefix}-`);
}

/** The size asked for is that of the whole drawing. */
export const CHART_FIT = { type: 'fit' as const, contains: 'padding' as const };

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
/** How all our charts look. */
export const CHART_CONFIG = {
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
