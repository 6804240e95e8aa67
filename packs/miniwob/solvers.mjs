// How some of the tasks are done, read from the instruction and the screen as an agent sees them: the reference agent, and what makes
// records of success. A solver tells the next action, or nothing where it does not know further.

import { clickOn, elementsBelow, fillIn, selectIn, textsNamed } from 'reverie/extend';

/** The id of the first such element, in the order of the page. */
function find(screen, role, name, nth = 0) {
  return all(screen, role, name)[nth];
}

function all(screen, role, name) {
  return elementsBelow(screen).filter((id) => {
    const element = screen.elements[id];
    const isNamed = name === undefined || (name instanceof RegExp ? name.test(element.name) : element.name === name);
    return element.role === role && isNamed;
  });
}

/** The field that stands beside a label. */
function labelled(screen, label) {
  const { elements } = screen;
  const beside = Object.values(elements).find(({ children }) => children.some((id) => elements[id].name === label));
  return beside?.children.find((id) => elements[id].role === 'textbox');
}

const submit = (screen, name = 'Submit') => clickOn(find(screen, 'button', name));

/** What is still to be written: fields by their ids, and their texts. */
function filling(screen, wanted) {
  const [next] = wanted.filter(([id, text]) => screen.elements[id]?.value !== text);
  return next && fillIn(...next);
}

/** From 0: "3rd" is 2. */
const place = (goal) => Number(/\b(\d+)(?:st|nd|rd|th)\b/.exec(goal)?.[1]) - 1;

function checkboxes(screen) {
  const [, list] = /^Select (.*) and click Submit\.$/.exec(screen.goal) ?? [];
  const wanted = list === 'nothing' ? [] : list.split(', ');
  const next = all(screen, 'checkbox').find((id) => {
    const { name, checked } = screen.elements[id];
    return checked !== wanted.includes(name);
  });
  return clickOn(next) ?? submit(screen);
}

function writing(change) {
  return (screen) => filling(screen, [[find(screen, 'textbox'), change(screen)]]) ?? submit(screen);
}

/** Opens one section after another, until there is what is sought. */
function throughTabs(screen) {
  const [link] = textsNamed(screen.goal);
  const target = find(screen, 'generic', link);
  if (target) return clickOn(target);
  const tabs = all(screen, 'tab');
  const at = tabs.findIndex((id) => screen.elements[id].selected);
  return clickOn(screen.elements[tabs[at + 1]]?.children[0]);
}

const twoDigits = (number) => String(number).padStart(2, '0');

export const SOLVERS = {
  'choose-list': (screen) => {
    const [, wanted] = /^Select (.*) from the list/.exec(screen.goal) ?? [];
    const id = find(screen, 'combobox');
    return screen.elements[id].value === wanted ? submit(screen) : selectIn(id, wanted);
  },
  'click-button': (screen) => clickOn(find(screen, 'button', textsNamed(screen.goal)[0])),
  'click-button-sequence': (screen) => clickOn(find(screen, 'button', screen.history.length === 0 ? 'ONE' : 'TWO')),
  'click-checkboxes': checkboxes,
  'click-checkboxes-large': checkboxes,
  'click-checkboxes-transfer': checkboxes,
  'click-collapsible': (screen) =>
    screen.history.length === 0 ? clickOn(find(screen, 'tab', /^Section/)) : submit(screen),
  'click-dialog': (screen) => clickOn(find(screen, 'button', 'Close')),
  'click-dialog-2': (screen) => {
    const [name] = textsNamed(screen.goal);
    return clickOn(find(screen, 'button', name === 'x' ? 'Close' : name));
  },
  'click-link': (screen) => clickOn(find(screen, 'generic', textsNamed(screen.goal)[0])),
  'click-option': (screen) => {
    const [, wanted] = /^Select (.*) and click Submit\.$/.exec(screen.goal) ?? [];
    const id = find(screen, 'radio', wanted);
    return screen.elements[id]?.checked ? submit(screen) : clickOn(id);
  },
  'click-tab': (screen) => clickOn(find(screen, 'link', /Tab #\d/.exec(screen.goal)?.[0])),
  'click-tab-2-easy': throughTabs,
  'click-tab-2': throughTabs,
  'click-test': (screen) => clickOn(find(screen, 'button')),
  'click-test-2': (screen) => clickOn(find(screen, 'button', 'ONE')),
  'click-test-transfer': (screen) => clickOn(find(screen, 'button', 'ONE')),
  'enter-date': (screen) => {
    const [, month, day, year] = /(\d+)\/(\d+)\/(\d+)/.exec(screen.goal) ?? [];
    return filling(screen, [[find(screen, 'Date'), `${year}-${month}-${day}`]]) ?? submit(screen);
  },
  'enter-password': (screen) => {
    const [password] = textsNamed(screen.goal);
    return (
      filling(
        screen,
        all(screen, 'textbox').map((id) => [id, password]),
      ) ?? submit(screen)
    );
  },
  'enter-text': writing((screen) => textsNamed(screen.goal)[0]),
  'enter-text-2': writing((screen) => {
    const [text] = textsNamed(screen.goal);
    return screen.goal.includes('upper') ? text.toUpperCase() : text.toLowerCase();
  }),
  'enter-text-dynamic': writing((screen) => textsNamed(screen.goal)[0]),
  'enter-time': (screen) => {
    const [, hour, minute, half] = /(\d+):(\d+) ([AP])M/.exec(screen.goal) ?? [];
    const time = `${twoDigits((Number(hour) % 12) + (half === 'P' ? 12 : 0))}:${minute}`;
    return filling(screen, [[find(screen, 'InputTime'), time]]) ?? submit(screen);
  },
  'find-word': writing((screen) => {
    const words = screen.elements[find(screen, 'paragraph')].name.split(/\s+/);
    return words[place(screen.goal)].replace(/[^A-Za-z]/g, '');
  }),
  'focus-text': (screen) => clickOn(find(screen, 'textbox')),
  'focus-text-2': (screen) => clickOn(find(screen, 'textbox', undefined, place(screen.goal))),
  'login-user': (screen) => {
    const [user, password] = textsNamed(screen.goal);
    const wanted = [
      [labelled(screen, 'Username'), user],
      [labelled(screen, 'Password'), password],
    ];
    return filling(screen, wanted) ?? submit(screen, 'Login');
  },
  'simple-algebra': writing(({ elements }) => {
    const [, left, sign, right, result] =
      Object.values(elements)
        .map(({ name }) => /^(\w+) ([-+]) (\w+) = (-?\d+)$/.exec(name))
        .find((match) => match !== null) ?? [];
    const [a, b, c] = [left, right, result].map(Number);
    if (left === 'x') return String(sign === '+' ? c - b : c + b);
    return String(sign === '+' ? c - a : a - c);
  }),
  'simple-arithmetic': writing(({ elements }) => {
    const [, left, sign, right] =
      Object.values(elements)
        .map(({ name }) => /^(-?\d+) ([-+x]) (-?\d+) =/.exec(name))
        .find((match) => match !== null) ?? [];
    const [a, b] = [Number(left), Number(right)];
    return String(sign === '+' ? a + b : sign === '-' ? a - b : a * b);
  }),
};
