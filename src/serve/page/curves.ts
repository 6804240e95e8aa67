// What a run's journal of metrics says over time, as curves. Read line by line, thinned where there are very many points.

import { METRICS_FILE, type MetricsEvent } from '../../run/index.js';

import { linesOf } from './episode-search.js';
import { fileIn, pathBelow } from './run-list.js';
import type { CurvesView, CurveView } from './wire.js';

/** Points of a curve that are sent. */
const MOST_POINTS = 600;
const AXES = ['realSteps', 'syntheticSteps', 'updates', 'wallSeconds', 'round'] as const;
const PREFERRED = ['eval.return', 'episode.return', 'update.criticLoss'];

export interface CurveRequest {
  readonly runs: readonly string[];
  /** `kind.field`; the first that the runs have unless given. */
  readonly quantity?: string;
  /** A counter; real steps unless given. */
  readonly axis?: string;
}

type Values = Map<string, [x: Record<string, number>, y: number][]>;

/** @throws RUN_NOT_FOUND, RUN_PATH_REFUSED, LINE_TOO_LONG */
export async function curvesView(root: string, { runs, quantity, axis }: CurveRequest): Promise<CurvesView> {
  const read = await Promise.all(runs.map(async (run) => [run, await valuesOf(root, run)] as const));
  const quantities = [...new Set(read.flatMap(([, values]) => [...values.keys()]))].sort();
  const shown = quantity ?? PREFERRED.find((one) => quantities.includes(one)) ?? quantities[0] ?? null;
  const axes = AXES.filter((name) => read.some(([, values]) => values.get(shown ?? '')?.some(([x]) => name in x)));
  const along = axis ?? axes[0] ?? 'wallSeconds';
  const curves = read.map(([run, values]): CurveView => ({ run, points: pointsOf(values.get(shown ?? ''), along) }));
  return { quantities, axes, quantity: shown, axis: along, curves };
}

async function valuesOf(root: string, run: string): Promise<Values> {
  const file = fileIn(root, pathBelow(root, run), METRICS_FILE);
  const values: Values = new Map();
  if (file === undefined) return values;
  for await (const { text } of linesOf(file)) {
    const event = eventOf(text);
    if (event === undefined) continue;
    const counters = Object.fromEntries(AXES.flatMap((name) => numberAt(event, name)));
    for (const [field, value] of Object.entries(event)) {
      if (typeof value !== 'number' || (AXES as readonly string[]).includes(field)) continue;
      const key = `${event.kind}.${field}`;
      const known = values.get(key) ?? [];
      known.push([counters, value]);
      values.set(key, known);
    }
  }
  return values;
}

function eventOf(text: string): MetricsEvent | undefined {
  try {
    const event = JSON.parse(text) as MetricsEvent | null;
    return typeof event?.kind === 'string' ? event : undefined;
  } catch {
    return undefined;
  }
}

function numberAt(event: MetricsEvent, name: string): [string, number][] {
  const value = event[name];
  return typeof value === 'number' ? [[name, value]] : [];
}

/** Values at one place, such as episodes that end together, are one point: their mean. A curve has no upright lines. */
function meansOf(points: readonly (readonly [number, number])[]): [number, number][] {
  const found: [x: number, mean: number][] = [];
  let count = 0;
  for (const [x, y] of points) {
    const last = found.at(-1);
    if (last?.[0] !== x) {
      found.push([x, y]);
      count = 1;
    } else last[1] += (y - last[1]) / ++count;
  }
  return found;
}

/** Thinned by leaving out points between: first and last stay. */
function pointsOf(
  values: Values extends Map<string, infer V> ? V | undefined : never,
  axis: string,
): CurveView['points'] {
  const points = meansOf((values ?? []).flatMap(([x, y]): [number, number][] => (axis in x ? [[x[axis], y]] : [])));
  if (points.length <= MOST_POINTS) return points;
  const stride = (points.length - 1) / (MOST_POINTS - 1);
  return Array.from({ length: MOST_POINTS }, (_, i) => points[Math.round(i * stride)]);
}
