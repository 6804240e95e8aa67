// What was earned, by the notes that the server has: 1 where they are exactly those that the task asks for, and 0 before.

export default async function earned({ url }, wanted) {
  const reply = await fetch(`${url}/recipes/default/tiddlers.json?exclude=none`);
  const stored = await reply.json();
  const notes = stored.filter((one) => one['draft.of'] === undefined && one.tags !== undefined);
  const found = Object.fromEntries(notes.map(({ title, text = '', tags, done = '' }) => [title, { text, tags, done }]));
  return isSame(found, wanted) ? 1 : 0;
}

function isSame(a, b) {
  const titles = Object.keys(a);
  return titles.length === Object.keys(b).length && titles.every((title) => b[title] && isSameNote(a[title], b[title]));
}

function isSameNote(a, b) {
  const tags = (written) => written.split(' ').filter(Boolean).sort().join(' ');
  return a.text.trim() === b.text && tags(a.tags) === tags(b.tags) && a.done === b.done;
}
