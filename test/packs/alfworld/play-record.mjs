// What a recording keeps of a play: hashes, and places in the list of what could be done, so that no text of a game is in it.

import { createHash } from 'node:crypto';

/** Commands that no game knows, which random walks try at times; a recording has -1 for the first, -2 for the second, ... */
const NONSENSE = ['dance', 'take nothing 1 from nowhere 1', 'go to', 'open fridge 99'];

/** @param {{ observation: string, admissible: readonly string[], score: number }} seen */
export function hashOf({ observation, admissible, score }) {
  return createHash('sha256')
    .update(JSON.stringify([observation, admissible, score]))
    .digest('hex')
    .slice(0, 8);
}

/** @param {string} command @param {readonly string[]} admissible @returns {number} */
export function placeOf(command, admissible) {
  const place = admissible.indexOf(command);
  if (place >= 0) return place;
  const nonsense = NONSENSE.indexOf(command);
  if (nonsense < 0) throw new Error(`"${command}" is neither admissible nor known nonsense`);
  return -1 - nonsense;
}

/** @param {number} place @param {readonly string[]} admissible @returns {string} */
export function commandAt(place, admissible) {
  return place >= 0 ? admissible[place] : NONSENSE[-1 - place];
}
