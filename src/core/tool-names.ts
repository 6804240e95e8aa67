// Names of tools as OpenAI's API takes them: letters, digits, `_` and `-`, at most 64. MCP's servers and domain files allow more.

const LEGAL = /^[a-zA-Z0-9_-]{1,64}$/;
const LONGEST = 64;

/** A legal name for each, all different; what is legal stays as it is. The same names always get the same ones. */
export function legalToolNames(names: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set(names.filter((name) => LEGAL.test(name)));
  const legal = names.map((name): [string, string] => {
    if (LEGAL.test(name)) return [name, name];
    const plain = name.replace(/[^a-zA-Z0-9_-]+/g, '_').slice(0, LONGEST) || '_';
    let free = plain;
    for (let n = 2; taken.has(free); n++) free = `${plain.slice(0, LONGEST - `_${n}`.length)}_${n}`;
    taken.add(free);
    return [name, free];
  });
  return new Map(legal);
}
