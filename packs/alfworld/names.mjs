// Names of ALFWorld's things: "desk_bar__plus_02_dot_29..." is called "desk 1". As in the official package
// (alfworld/agents/utils/misc.py, Demangler), without its random order.

const PARTS = { minus: '-', plus: '+', dot: '.', comma: ',' };

/**
 * Names by id. Things of a kind are numbered downwards in the order of their ids; an id that is no place in a room keeps its word,
 * followed by a space, as the package has it.
 * @param {readonly string[]} ids
 * @returns {Map<string, string>}
 */
export function alfworldNames(ids) {
  const sorted = [...ids].sort();
  const left = new Map();
  for (const id of sorted) {
    const kind = kindOf(id);
    if (kind !== undefined) left.set(kind, (left.get(kind) ?? 0) + 1);
  }
  return new Map(
    sorted.map((id) => {
      const kind = kindOf(id);
      if (kind === undefined) return [id, `${id.replace(/_(minus|plus|dot|comma)_/g, (_, part) => PARTS[part])} `];
      const number = left.get(kind);
      left.set(kind, number - 1);
      return [id, `${kind} ${number}`];
    }),
  );
}

/** The word before the coordinates. Sinks and bathtubs have a basin of their own. */
function kindOf(id) {
  const bar = id.indexOf('_bar_');
  if (bar < 0) return undefined;
  return id.slice(0, bar) + (id.includes('basin') ? 'basin' : '');
}
