// Work that waits for nothing leaves the event loop no turn: no signal is heard, and nothing else goes on.

import { setImmediate as nextTurn } from 'node:timers/promises';

/** Longest without a turn, where nothing says how long a piece of work takes. */
const LONGEST_MS = 50;

let last = performance.now();

/** A turn of the event loop, where the last that was given here is a while ago. */
export async function takeTurn(): Promise<void> {
  if (performance.now() - last < LONGEST_MS) return;
  await nextTurn();
  last = performance.now();
}
