// A text with its values taken out: the frame, and what stood in it.

import { spansOf } from './spans.js';

export interface TextTemplate {
  /** The text with `{}` for each value. */
  readonly frame: string;
  readonly parts: readonly string[];
}

/** Of all values with a digit; names are left where they are. */
export function templateOf(text: string): TextTemplate {
  let frame = '';
  let at = 0;
  const parts: string[] = [];
  for (const { value, start } of spansOf(text)) {
    if (start < at || !/\d/.test(value)) continue;
    frame += `${text.slice(at, start)}{}`;
    parts.push(value);
    at = start + value.length;
  }
  return { frame: frame + text.slice(at), parts };
}
