import type { Side } from './side.mjs';

export const GOLDEN_FILE: string;
export const GOLDEN_JOBS: readonly string[];
export function goldenParts(side: Side, name: string): Promise<Record<string, string>>;
