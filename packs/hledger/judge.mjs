// What was earned, by the entries that the books have: 1 where they are exactly those that the task asks for, and 0 before.

export default async function earned({ url }, wanted) {
  const reply = await fetch(`${url}/transactions`, { headers: { accept: 'application/json' } });
  // Books that are being written, or cannot be read, are not those that were asked for.
  if (!reply.ok) return 0;
  const found = (await reply.json()).map(entryOf);
  return isSame(found, wanted) ? 1 : 0;
}

function entryOf({ tdate, tdescription, tstatus, tpostings }) {
  const postings = tpostings.map(({ paccount, pamount }) => ({ account: paccount, cents: centsOf(pamount) }));
  return { date: tdate, payee: tdescription, isCleared: tstatus === 'Cleared', postings };
}

/** Of a sum in euros alone; NaN where it is none. */
function centsOf(amounts) {
  const [{ acommodity, aquantity } = {}] = amounts;
  if (amounts.length !== 1 || acommodity !== 'EUR') return Number.NaN;
  return Math.round((aquantity.decimalMantissa * 100) / 10 ** aquantity.decimalPlaces);
}

function isSame(found, wanted) {
  const written = (entries) => entries.map(lineOf).sort();
  return JSON.stringify(written(found)) === JSON.stringify(written(wanted));
}

/** The order of an entry's postings says nothing. */
function lineOf({ date, payee, isCleared, postings }) {
  const sums = postings.map(({ account, cents }) => `${account} ${cents}`).sort();
  return [date, payee, isCleared ? 'cleared' : '', ...sums].join('|');
}
