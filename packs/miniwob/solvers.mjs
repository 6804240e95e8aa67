// How some of the tasks are done, read from the instruction and the screen as an agent sees them: the reference agent, and what makes
// records of success. A solver tells the next action, or nothing where it does not know further.

const quoted = (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const click = (id) => id && `click(${quoted(id)})`;
const fill = (id, text) => id && `fill(${quoted(id)}, ${quoted(text)})`;

/** The id of the first such element, in the order of the page. */
function find(screen, role, name, nth = 0) {
  return all(screen, role, name)[nth];
}

function all({ root, elements }, role, name) {
  const found = [];
  const walk = (id) => {
    const element = elements[id];
    const isNamed = name === undefined || (name instanceof RegExp ? name.test(element.name) : element.name === name);
    if (element.role === role && isNamed) found.push(id);
    element.children.forEach(walk);
  };
  if (root !== '') walk(root);
  return found;
}

/** The field that stands beside a label. */
function labelled(screen, label) {
  const { elements } = screen;
  const beside = Object.values(elements).find(({ children }) => children.some((id) => elements[id].name === label));
  return beside?.children.find((id) => elements[id].role === 'textbox');
}

/** The texts in quotes. */
const named = ({ goal }) => [...goal.matchAll(/"([^"]*)"/g)].map(([, text]) => text);

const submit = (screen, name = 'Submit') => click(find(screen, 'button', name));

/** What is still to be written: fields by their ids, and their texts. */
function filling(screen, wanted) {
  const [next] = wanted.filter(([id, text]) => screen.elements[id]?.value !== text);
  return next && fill(...next);
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
  return click(next) ?? submit(screen);
}

function writing(change) {
  return (screen) => filling(screen, [[find(screen, 'textbox'), change(screen)]]) ?? submit(screen);
}

/** Opens one section after another, until there is what is sought. */
function throughTabs(screen) {
  const [link] = named(screen);
  const target = find(screen, 'generic', link);
  if (target) return click(target);
  const tabs = all(screen, 'tab');
  const at = tabs.findIndex((id) => screen.elements[id].selected);
  return click(screen.elements[tabs[at + 1]]?.children[0]);
}

const twoDigits = (number) => String(number).padStart(2, '0');

export const SOLVERS = {
  'choose-list': (screen) => {
    const [, wanted] = /^Select (.*) from the list/.exec(screen.goal) ?? [];
    const id = find(screen, 'combobox');
    return screen.elements[id].value === wanted ? submit(screen) : `select_option(${quoted(id)}, ${quoted(wanted)})`;
  },
  'click-button': (screen) => click(find(screen, 'button', named(screen)[0])),
  'click-button-sequence': (screen) => click(find(screen, 'button', screen.history.length === 0 ? 'ONE' : 'TWO')),
  'click-checkboxes': checkboxes,
  'click-checkboxes-large': checkboxes,
  'click-checkboxes-transfer': checkboxes,
  'click-collapsible': (screen) =>
    screen.history.length === 0 ? click(find(screen, 'tab', /^Section/)) : submit(screen),
  'click-dialog': (screen) => click(find(screen, 'button', 'Close')),
  'click-dialog-2': (screen) => {
    const [name] = named(screen);
    return click(find(screen, 'button', name === 'x' ? 'Close' : name));
  },
  'click-link': (screen) => click(find(screen, 'generic', named(screen)[0])),
  'click-option': (screen) => {
    const [, wanted] = /^Select (.*) and click Submit\.$/.exec(screen.goal) ?? [];
    const id = find(screen, 'radio', wanted);
    return screen.elements[id]?.checked ? submit(screen) : click(id);
  },
  'click-tab': (screen) => click(find(screen, 'link', /Tab #\d/.exec(screen.goal)?.[0])),
  'click-tab-2-easy': throughTabs,
  'click-tab-2': throughTabs,
  'click-test': (screen) => click(find(screen, 'button')),
  'click-test-2': (screen) => click(find(screen, 'button', 'ONE')),
  'click-test-transfer': (screen) => click(find(screen, 'button', 'ONE')),
  'enter-date': (screen) => {
    const [, month, day, year] = /(\d+)\/(\d+)\/(\d+)/.exec(screen.goal) ?? [];
    return filling(screen, [[find(screen, 'Date'), `${year}-${month}-${day}`]]) ?? submit(screen);
  },
  'enter-password': (screen) => {
    const [password] = named(screen);
    return (
      filling(
        screen,
        all(screen, 'textbox').map((id) => [id, password]),
      ) ?? submit(screen)
    );
  },
  'enter-text': writing((screen) => named(screen)[0]),
  'enter-text-2': writing((screen) => {
    const [text] = named(screen);
    return screen.goal.includes('upper') ? text.toUpperCase() : text.toLowerCase();
  }),
  'enter-text-dynamic': writing((screen) => named(screen)[0]),
  'enter-time': (screen) => {
    const [, hour, minute, half] = /(\d+):(\d+) ([AP])M/.exec(screen.goal) ?? [];
    const time = `${twoDigits((Number(hour) % 12) + (half === 'P' ? 12 : 0))}:${minute}`;
    return filling(screen, [[find(screen, 'InputTime'), time]]) ?? submit(screen);
  },
  'find-word': writing((screen) => {
    const words = screen.elements[find(screen, 'paragraph')].name.split(/\s+/);
    return words[place(screen.goal)].replace(/[^A-Za-z]/g, '');
  }),
  'focus-text': (screen) => click(find(screen, 'textbox')),
  'focus-text-2': (screen) => click(find(screen, 'textbox', undefined, place(screen.goal))),
  'login-user': (screen) => {
    const [user, password] = named(screen);
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
