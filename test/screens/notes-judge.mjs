// 1 once the application has such a note.
export default async function earned({ url }, wanted) {
  const notes = await (await fetch(`${url}/notes.json`)).json();
  return notes.includes(wanted) ? 1 : 0;
}
