// How the tasks are done, read from the goal and the screen as an agent sees them: the reference agent, and what makes records of success.

import { clickOn, fillIn, findElement, textsNamed } from 'reverie/extend';

/** Writes what fields do not hold yet, by their names, and adds the transaction. */
function adding(screen, fields) {
  if (findElement(screen, 'textbox', 'Date') === undefined)
    return clickOn(findElement(screen, 'button', 'Add a transaction'));
  const next = Object.entries(fields).find(([name, text]) => heldBy(screen, name) !== text);
  return next === undefined
    ? clickOn(findElement(screen, 'button', 'add'))
    : fillIn(findElement(screen, 'textbox', next[0]), next[1]);
}

const heldBy = (screen, name) => screen.elements[findElement(screen, 'textbox', name)]?.value;

/** Opens the journal's file, writes what is wanted in its place, and stores it. */
function editing(screen, change) {
  const { elements } = screen;
  const text = Object.keys(elements).find((id) => elements[id].multiline);
  if (text === undefined) {
    return clickOn(findElement(screen, 'link', 'Edit') ?? findElement(screen, 'link', 'Manage journal files'));
  }
  const wanted = change(elements[text].value);
  // Once it is changed there is nothing to change any more.
  return wanted === elements[text].value ? clickOn(findElement(screen, 'button', 'Save')) : fillIn(text, wanted);
}

/** Changes the lines of the transaction of a payee; they end at an empty line. */
function ofEntry(payee, change) {
  return (text) => {
    const parts = text.trimEnd().split(/\r?\n\r?\n/);
    const changed = parts.flatMap((part) => (part.split('\n')[0].endsWith(` ${payee}`) ? change(part) : [part]));
    return `${changed.join('\n\n')}\n`;
  };
}

export const SOLVERS = {
  'add-purchase': (screen) => {
    const [payee, sum, on, from] = textsNamed(screen.goal);
    const [date] = screen.goal.match(/\d{4}-\d\d-\d\d/);
    return adding(screen, { Date: date, Description: payee, 'Account 1': on, 'Amount 1': sum, 'Account 2': from });
  },
  'split-purchase': (screen) => {
    const [payee, a, first, b, second, from] = textsNamed(screen.goal);
    const [date] = screen.goal.match(/\d{4}-\d\d-\d\d/);
    return adding(screen, {
      ...{ Date: date, Description: payee, 'Account 1': first, 'Amount 1': a },
      ...{ 'Account 2': second, 'Amount 2': b, 'Account 3': from },
    });
  },
  'correct-amount': (screen) => {
    const [payee, sum] = textsNamed(screen.goal);
    const signs = ['', '-'];
    const change = (part) => [
      part
        .split('\n')
        .map((line, i) => (i === 0 ? line : line.replace(/ {2}\S+ EUR/, `  ${signs[i - 1]}${sum}`)))
        .join('\n'),
    ];
    return editing(screen, ofEntry(payee, change));
  },
  'rename-payee': (screen) => {
    const [payee, other] = textsNamed(screen.goal);
    return editing(
      screen,
      ofEntry(payee, (part) => [part.replace(payee, other)]),
    );
  },
  'clear-entry': (screen) => {
    const [payee] = textsNamed(screen.goal);
    const change = (part) => [part.includes('*') ? part : part.replace(` ${payee}`, ` * ${payee}`)];
    return editing(screen, ofEntry(payee, change));
  },
  'delete-entry': (screen) => {
    const [payee] = textsNamed(screen.goal);
    return editing(
      screen,
      ofEntry(payee, () => []),
    );
  },
};
