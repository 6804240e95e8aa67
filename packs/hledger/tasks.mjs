// The tasks: the entries that books begin with by seed, what is asked, and which entries there are once it is done.

import { drawBySeed, pickBySeed } from 'reverie/extend';
import { SOLVERS } from './solvers.mjs';

const PAYEES = [
  'Bakery',
  'Cinema',
  'Florist',
  'Garage',
  'Grocer',
  'Ironmonger',
  'Library',
  'Pharmacy',
  'Tailor',
  'Zoo',
];
const SPENT_ON = ['clothes', 'food', 'fun', 'garden', 'health', 'home', 'travel'];
const PAID_FROM = ['bank', 'cash'];
const ENTRIES = 4;

const expense = (seed, what) => `expenses:${pickBySeed(SPENT_ON, seed, `${what} on`)}`;
const purse = (seed, what) => `assets:${pickBySeed(PAID_FROM, seed, `${what} from`)}`;
const cents = (seed, what) => 105 + drawBySeed(9_800, seed, `${what} cents`);
const euros = (sum) => `${(sum / 100).toFixed(2)} EUR`;
const without = (entries, one) => entries.filter((entry) => entry !== one);

/** A purchase: what it was spent on, and where the money came from. */
function entry({ date, payee, on, from, sum }) {
  const postings = [
    { account: on, cents: sum },
    { account: from, cents: -sum },
  ];
  return { date, payee, isCleared: false, postings };
}

/** In the order of their dates, each of another payee. */
function entriesOf(seed) {
  const first = drawBySeed(PAYEES.length, seed, 'payees');
  return Array.from({ length: ENTRIES }, (_, i) => {
    const payee = PAYEES[(first + 3 * i) % PAYEES.length];
    const what = `entry ${i}`;
    return entry({
      ...{ date: `2019-1${i % 2}-${10 + 3 * i}`, payee },
      ...{ on: expense(seed, what), from: purse(seed, what), sum: cents(seed, what) },
    });
  });
}

/** Each makes of the entries and a seed what is asked, and the entries afterwards. `one` is an entry that is asked about. */
const ASKED = {
  'add-purchase': ({ entries, seed }) => {
    const what = 'new';
    const [payee, on, from, sum] = [
      pickBySeed(PAYEES, seed, what),
      expense(seed, what),
      purse(seed, what),
      cents(seed, what),
    ];
    const date = `2019-12-${10 + drawBySeed(18, seed, 'day')}`;
    return {
      goal: `Add a transaction of ${date} with the description "${payee}": "${euros(sum)}" to "${on}", from "${from}".`,
      after: [...entries, entry({ date, payee, on, from, sum })],
    };
  },
  'split-purchase': ({ entries, seed }) => {
    const [payee, from, date] = [
      pickBySeed(PAYEES, seed, 'split'),
      purse(seed, 'split'),
      `2019-12-${10 + drawBySeed(18, seed, 'day')}`,
    ];
    const first = expense(seed, 'split');
    const second = `expenses:${pickBySeed(
      SPENT_ON.filter((name) => !first.endsWith(name)),
      seed,
      'second on',
    )}`;
    const [a, b] = [cents(seed, 'split'), cents(seed, 'second')];
    const postings = [
      { account: first, cents: a },
      { account: second, cents: b },
      { account: from, cents: -a - b },
    ];
    return {
      goal: `Add one transaction of ${date} with the description "${payee}": "${euros(a)}" to "${first}" and "${euros(b)}" to "${second}", both from "${from}".`,
      after: [...entries, { date, payee, isCleared: false, postings }],
    };
  },
  'correct-amount': ({ entries, seed, one }) => {
    const sum = cents(seed, 'right') + 10_000;
    const [{ account: on }, { account: from }] = one.postings;
    return {
      goal: `The transaction "${one.payee}" was of "${euros(sum)}". Correct it in the journal's file.`,
      after: [...without(entries, one), entry({ ...one, on, from, sum })],
    };
  },
  'rename-payee': ({ entries, seed, one }) => {
    const payee = pickBySeed(
      PAYEES.filter((name) => entries.every((other) => other.payee !== name)),
      seed,
      'other payee',
    );
    return {
      goal: `In the journal's file, change the description of the transaction "${one.payee}" to "${payee}".`,
      after: [...without(entries, one), { ...one, payee }],
    };
  },
  'clear-entry': ({ entries, one }) => ({
    goal: `In the journal's file, mark the transaction "${one.payee}" as cleared, by a * between its date and its description.`,
    after: [...without(entries, one), { ...one, isCleared: true }],
  }),
  'delete-entry': ({ entries, one }) => ({
    goal: `Delete the transaction "${one.payee}" from the journal's file.`,
    after: without(entries, one),
  }),
};

export const TASKS = Object.fromEntries(
  Object.entries(ASKED).map(([name, ask]) => [name, { begin: (seed) => begun(ask, seed), solve: SOLVERS[name] }]),
);

function begun(ask, seed) {
  const entries = entriesOf(seed);
  const { goal, after } = ask({ entries, seed, one: pickBySeed(entries, seed, 'asked') });
  return { goal, files: { 'household.journal': journalOf(entries) }, wanted: after };
}

/** As hledger reads it. The accounts are declared, so that they can be told from those that nobody has. */
function journalOf(entries) {
  const accounts = [...PAID_FROM.map((name) => `assets:${name}`), ...SPENT_ON.map((name) => `expenses:${name}`)];
  const declared = accounts.map((name) => `account ${name}\n`).join('');
  const written = entries.map(({ date, payee, postings }) => {
    const lines = postings.map(({ account, cents: sum }) => `    ${account}  ${euros(sum)}\n`);
    return `${date} ${payee}\n${lines.join('')}`;
  });
  return [declared, ...written].join('\n');
}
