// Colours of a report's arms: told apart by everyone, on light and dark pages.

import { describe, expect, it } from 'vitest';
import { ARM_COLOURS, armColour } from '../../src/run/report-chart.js';

type Triple = readonly number[];

/** How linear RGB looks to those who lack one kind of cone (Machado et al. 2009, severity 1). */
const SIGHTS: Readonly<Record<string, readonly Triple[]>> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function linear(hex: string): Triple {
  return [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
}

function times(matrix: readonly Triple[], vector: Triple): Triple {
  return matrix.map((row) => row.reduce((sum, factor, i) => sum + factor * vector[i], 0));
}

/** Ottosson 2020. */
function oklab(rgb: Triple): Triple {
  const cones = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    rgb.map((value) => Math.min(1, Math.max(0, value))),
  ).map(Math.cbrt);
  return times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    cones,
  );
}

function contrast(one: string, other: string): number {
  const luminance = (hex: string) => times([[0.2126, 0.7152, 0.0722]], linear(hex))[0] + 0.05;
  const [a, b] = [luminance(one), luminance(other)];
  return Math.max(a, b) / Math.min(a, b);
}

describe.each(['light', 'dark'] as const)('colours of arms on a %s page', (scheme) => {
  const colours = ARM_COLOURS[scheme];

  it('are ten that differ, whoever looks', () => {
    expect(colours).toHaveLength(10);
    for (const sight of Object.values(SIGHTS)) {
      const seen = colours.map((colour) => oklab(times(sight, linear(colour))));
      for (const [i, one] of seen.entries()) {
        for (const other of seen.slice(i + 1)) {
          expect(Math.hypot(...one.map((value, k) => value - other[k]))).toBeGreaterThan(0.1);
        }
      }
    }
  });

  it('stand out from the page', () => {
    const page = scheme === 'light' ? '#fdfcfa' : '#161615';
    for (const colour of colours) expect(contrast(colour, page)).toBeGreaterThan(3);
  });
});

it('gives ten arms ten colours', () => {
  expect(new Set(Array.from({ length: 10 }, (_, i) => armColour(i))).size).toBe(10);
});
