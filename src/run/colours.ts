// Colours for one stream: none where it is no terminal, or where NO_COLOR (no-color.org) asks for none.

import pc from 'picocolors';

export type Colours = ReturnType<typeof pc.createColors>;

export function coloursFor(stream: NodeJS.WriteStream): Colours {
  const wanted = !process.env.NO_COLOR && process.env.TERM !== 'dumb';
  return pc.createColors(wanted && stream.isTTY === true);
}
