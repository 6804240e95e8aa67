// A small application with a server, for tests: a list of notes kept in a file, a form that adds one, a page for each.
// node notes-server.mjs PORT FOLDER

import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

const [port, folder] = process.argv.slice(2);
const file = join(folder, 'notes.json');
const notes = () => JSON.parse(readFileSync(file, 'utf8'));

const page = (title, body) => `<!DOCTYPE html><html><head><title>${title}</title></head><body>${body}</body></html>`;

const list = () =>
  page(
    'Notes',
    `<ul>${notes()
      .map((note, i) => `<li><a href="/note/${i}">${note}</a></li>`)
      .join('')}</ul><form method="post" action="/add"><input name="text" aria-label="New"><button>Add</button></form>
     <a href="/note/0" target="_blank">First in a tab</a> <a href="http://example.org/">Elsewhere</a>
     <button type="button" id="later">Later</button><p id="count"></p>
     <script>document.getElementById('later').onclick = () => setTimeout(async () => {
       const reply = await fetch('/notes.json');
       document.getElementById('count').textContent = (await reply.json()).length + ' notes';
     }, 400);</script>`,
  );

createServer(async (request, reply) => {
  const [, number] = /^\/note\/(\d+)$/.exec(request.url) ?? [];
  if (request.url === '/add') {
    let body = '';
    for await (const part of request) body += part;
    writeFileSync(file, JSON.stringify([...notes(), new URLSearchParams(body).get('text')]));
    reply.writeHead(303, { location: '/' }).end();
  } else if (request.url === '/notes.json') {
    reply.setHeader('content-type', 'application/json').end(JSON.stringify(notes()));
  } else if (number !== undefined) {
    reply.setHeader('content-type', 'text/html').end(page('A note', `<h1>${notes()[number]}</h1>`));
  } else {
    reply.setHeader('content-type', 'text/html').end(list());
  }
}).listen(Number(port), '127.0.0.1');
