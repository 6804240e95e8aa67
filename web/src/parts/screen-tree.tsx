// A screen as it was told, drawn as boxes within boxes: what was acted on stands out, and what is new or has changed.

export interface ScreenContext {
  /** Id of the element that was acted on; undefined where there was none. */
  readonly acted?: string;
  /** The screen before, as it was told; undefined at the beginning. */
  readonly before?: string;
}

interface Box {
  /** Absent of the page itself, and of text. */
  readonly id?: string;
  readonly role: string;
  readonly name: string;
  /** `checked='true'`, `focused`, and the like. */
  readonly properties: readonly string[];
  readonly boxes: Box[];
  /** Its line, without what stands around it. */
  readonly line: string;
}

const LINE = /^(\t*)(?:\[([^\]]+)\] )?(\w+) ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?:, (.*))?$/;

/** What was told before the screen, and the screen; undefined where there is none in the text. */
export function screenIn(text: string): { readonly said: string; readonly tree: string } | undefined {
  const at = text.search(/^RootWebArea ['"]/m);
  return at < 0 ? undefined : { said: text.slice(0, at).trim(), tree: text.slice(at) };
}

/** Boxes at the top; empty where the text is no tree. */
function boxesOf(tree: string): Box[] {
  const top: Box[] = [];
  const open: Box[] = [];
  for (const text of tree.split('\n')) {
    const [, tabs, id, role, quoted, rest] = LINE.exec(text) ?? [];
    if (tabs === undefined) continue;
    const name = quoted.slice(1, -1).replaceAll("\\'", "'").replaceAll('\\"', '"').replaceAll('\\\\', '\\');
    const box: Box = { id, role, name, properties: rest?.split(', ') ?? [], boxes: [], line: text.trim() };
    open.length = Math.min(open.length, tabs.length);
    (open.at(-1)?.boxes ?? top).push(box);
    open.push(box);
  }
  return top;
}

export function ScreenTree({ tree, acted, before }: ScreenContext & { readonly tree: string }) {
  const known = before === undefined ? undefined : new Set(before.split('\n').map((line) => line.trim()));
  return (
    <ul class="screen" aria-label="Screen">
      {boxesOf(tree).map((box, i) => (
        <BoxView key={i} box={box} acted={acted} known={known} />
      ))}
    </ul>
  );
}

interface BoxProps {
  readonly box: Box;
  readonly acted: string | undefined;
  readonly known: ReadonlySet<string> | undefined;
}

function BoxView({ box, acted, known }: BoxProps) {
  const { id, role, name, properties, boxes, line } = box;
  const isActed = id !== undefined && id === acted;
  const isNew = known !== undefined && !known.has(line);
  const kind = role === 'StaticText' ? 'text' : id === undefined ? 'page' : 'element';
  return (
    <li class={`box ${kind}${isActed ? ' acted' : ''}${isNew ? ' new' : ''}`}>
      <p>
        {kind === 'text' ? null : <small>{role}</small>}
        {name === '' ? null : <span>{name}</span>}
        {properties.map((property) => (
          <code key={property}>{property}</code>
        ))}
        {isActed ? <b>acted on</b> : null}
      </p>
      {boxes.length === 0 ? null : (
        <ul>
          {boxes.map((inner, i) => (
            <BoxView key={i} box={inner} acted={acted} known={known} />
          ))}
        </ul>
      )}
    </li>
  );
}
