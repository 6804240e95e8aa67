// How the tasks are done, read from the goal and the screen as an agent sees them: the reference agent, and what makes records of success.

const quoted = (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
const click = (id) => id && `click(${quoted(id)})`;
const fill = (id, text) => id && `fill(${quoted(id)}, ${quoted(text)})`;

/** Ids below one, in the order of the page. */
function below({ elements }, id) {
  return [id, ...elements[id].children.flatMap((child) => below({ elements }, child))];
}

/** The first such element below another, by default of the whole screen. */
function find(screen, role, name, within = screen.root) {
  if (within === undefined) return undefined;
  const isIt = (id) => screen.elements[id].role === role && (name === undefined || screen.elements[id].name === name);
  return below(screen, within).find(isIt);
}

const named = ({ goal }) => [...goal.matchAll(/"([^"]*)"/g)].map(([, text]) => text);
const editor = (screen) => find(screen, 'region', 'Editor');

/** The article of a note that is open. */
function noteOf(screen, title) {
  return below(screen, screen.root).find(
    (id) => screen.elements[id].role === 'article' && find(screen, 'heading', title, id) !== undefined,
  );
}

/** Opens a note for editing; undefined once it is. */
function editing(screen, title) {
  if (editor(screen) !== undefined) return undefined;
  const note = noteOf(screen, title);
  return click(note === undefined ? find(screen, 'link', title) : find(screen, 'button', 'Edit this tiddler', note));
}

const confirm = (screen) => click(find(screen, 'button', 'Confirm changes to this tiddler', editor(screen)));

/** Writes what fields do not hold yet, and stores the note. */
function storing(screen, wanted) {
  const next = wanted(screen).find(([id, text]) => id !== undefined && screen.elements[id].value !== text);
  return next === undefined ? confirm(screen) : fill(...next);
}

const titleField = (screen) => find(screen, 'textbox', undefined, editor(screen));
const textField = (screen) => below(screen, editor(screen)).find((id) => screen.elements[id].multiline);

export const SOLVERS = {
  'write-note': (screen) => {
    const [title, text] = named(screen);
    if (editor(screen) === undefined) return click(find(screen, 'button', 'new tiddler'));
    return storing(screen, () => [
      [titleField(screen), title],
      [textField(screen), text],
    ]);
  },
  'tag-note': (screen) => {
    const [title, tag] = named(screen);
    const opening = editing(screen, title);
    if (opening !== undefined) return opening;
    if (find(screen, 'generic', tag, editor(screen)) !== undefined) return confirm(screen);
    const field = find(screen, 'textbox', 'tag name', editor(screen));
    if (screen.elements[field].value !== tag) return fill(field, tag);
    return click(find(screen, 'button', 'add', editor(screen)));
  },
  'delete-note': (screen) => {
    const [title] = named(screen);
    return editing(screen, title) ?? click(find(screen, 'button', 'Delete this tiddler', editor(screen)));
  },
  'rename-note': (screen) => {
    const [title, other] = named(screen);
    return editing(screen, title) ?? storing(screen, () => [[titleField(screen), other]]);
  },
  'edit-note': (screen) => {
    const [title, text] = named(screen);
    return editing(screen, title) ?? storing(screen, () => [[textField(screen), text]]);
  },
  'tick-note': (screen) => click(find(screen, 'checkbox', named(screen)[0])),
};
