// How the tasks are done, read from the goal and the screen as an agent sees them: the reference agent, and what makes records of success.

import { clickOn, elementsBelow, fillIn, findElement, textsNamed } from 'reverie/extend';

const editor = (screen) => findElement(screen, 'region', 'Editor');

/** The article of a note that is open. */
function noteOf(screen, title) {
  return elementsBelow(screen).find(
    (id) => screen.elements[id].role === 'article' && findElement(screen, 'heading', title, id) !== undefined,
  );
}

/** Opens a note for editing; undefined once it is. */
function editing(screen, title) {
  if (editor(screen) !== undefined) return undefined;
  const note = noteOf(screen, title);
  return clickOn(
    note === undefined ? findElement(screen, 'link', title) : findElement(screen, 'button', 'Edit this tiddler', note),
  );
}

const confirm = (screen) => clickOn(findElement(screen, 'button', 'Confirm changes to this tiddler', editor(screen)));

/** Writes what fields do not hold yet, and stores the note. */
function storing(screen, wanted) {
  const next = wanted(screen).find(([id, text]) => id !== undefined && screen.elements[id].value !== text);
  return next === undefined ? confirm(screen) : fillIn(...next);
}

const titleField = (screen) => findElement(screen, 'textbox', undefined, editor(screen));
const textField = (screen) => elementsBelow(screen, editor(screen)).find((id) => screen.elements[id].multiline);

export const SOLVERS = {
  'write-note': (screen) => {
    const [title, text] = textsNamed(screen.goal);
    if (editor(screen) === undefined) return clickOn(findElement(screen, 'button', 'new tiddler'));
    return storing(screen, () => [
      [titleField(screen), title],
      [textField(screen), text],
    ]);
  },
  'tag-note': (screen) => {
    const [title, tag] = textsNamed(screen.goal);
    const opening = editing(screen, title);
    if (opening !== undefined) return opening;
    if (findElement(screen, 'generic', tag, editor(screen)) !== undefined) return confirm(screen);
    const field = findElement(screen, 'textbox', 'tag name', editor(screen));
    if (screen.elements[field].value !== tag) return fillIn(field, tag);
    return clickOn(findElement(screen, 'button', 'add', editor(screen)));
  },
  'delete-note': (screen) => {
    const [title] = textsNamed(screen.goal);
    return editing(screen, title) ?? clickOn(findElement(screen, 'button', 'Delete this tiddler', editor(screen)));
  },
  'rename-note': (screen) => {
    const [title, other] = textsNamed(screen.goal);
    return editing(screen, title) ?? storing(screen, () => [[titleField(screen), other]]);
  },
  'edit-note': (screen) => {
    const [title, text] = textsNamed(screen.goal);
    return editing(screen, title) ?? storing(screen, () => [[textField(screen), text]]);
  },
  'tick-note': (screen) => clickOn(findElement(screen, 'checkbox', textsNamed(screen.goal)[0])),
};
