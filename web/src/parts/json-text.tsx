// JSON as it is read: short on one line, long indented.

import type { WireJson } from '../../../src/serve/page/wire.js';

const ONE_LINE = 64;

export function jsonText(value: WireJson): string {
  const short = JSON.stringify(value);
  return short.length <= ONE_LINE ? short : JSON.stringify(value, null, 2);
}

/** Text of a tool: laid out where it is JSON, else as it is. */
export function readable(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return jsonText(JSON.parse(text) as WireJson);
  } catch {
    return text;
  }
}
