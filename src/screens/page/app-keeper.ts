// Keeps an application that runs only as long as somebody wants it: ends it when standard input ends, as it does with the process that
// started this one, however that ended; and leaves nothing of its data.
// node app-keeper.js FOLDER PROGRAM ARGUMENT...

import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';

const [folder, program, ...args] = process.argv.slice(2);
const app = spawn(program, args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });

app.on('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
app.on('exit', (code) => process.exit(code ?? 1));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
process.stdin.on('end', () => app.kill('SIGKILL'));
// A terminal sends them to all that was started from it: none may end this before the application.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => app.kill('SIGKILL'));
process.stdin.resume();
