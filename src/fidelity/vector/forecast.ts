// One element of a forecast.

import type { Forecast } from '../../worldmodel/dynamics.js';

/** The mixture for one element of one row, in units of `scale`. */
export function elementOf(
  { components, mean, std }: Forecast,
  row: number,
  element: number,
  obsDim: number,
  scale: number,
): { readonly means: number[]; readonly stds: number[] } {
  const rows = mean.length / (components * obsDim);
  const at = (c: number) => (c * rows + row) * obsDim + element;
  return {
    means: Array.from({ length: components }, (_, c) => mean[at(c)] / scale),
    stds: Array.from({ length: components }, (_, c) => std[at(c)] / scale),
  };
}
