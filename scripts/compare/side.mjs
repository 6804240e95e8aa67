// One side of a comparison: runs jobs with the command line of a checkout, each in a folder of its own.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { JOBS } from './jobs.mjs';
import { partsOfRun, sha256 } from './normal-form.mjs';

export class Side {
  #outcomes = new Map();
  #runs = new Map();

  /**
   * @param checkout a built clone
   * @param folder where its runs go, of this process alone
   * @param kept where outcomes are kept for the next time; several processes may share it
   * @param workers of the jobs on numbers
   */
  constructor({ checkout, folder, kept = join(folder, 'kept'), workers = '0' }) {
    this.checkout = resolve(checkout);
    this.folder = folder;
    this.kept = kept;
    this.workers = workers;
    this.places = [join(folder, 'runs'), folder, this.checkout];
    mkdirSync(join(folder, 'runs'), { recursive: true });
  }

  /** Part → SHA-256, and the seconds of a job; one that is kept from before is not run again. */
  outcome(name) {
    return once(this.#outcomes, name, async () => {
      const known = join(this.kept, `${name}.json`);
      if (!existsSync(known)) return this.#run(name);
      return { ...JSON.parse(readFileSync(known, 'utf8')), isKept: true };
    });
  }

  #run(name) {
    return once(this.#runs, name, async () => {
      const job = JOBS.find((one) => one.name === name);
      for (const need of job.needs) await this.#run(need);
      const begun = performance.now();
      const contents = Object.entries(await job.run(this, name));
      const seconds = (performance.now() - begun) / 1000;
      for (const [part, content] of contents) writeWhole(this.contentFile(name, part), content);
      const parts = Object.fromEntries(contents.map(([part, content]) => [part, sha256(content)]));
      writeWhole(join(this.kept, `${name}.json`), JSON.stringify({ parts, seconds }));
      return { parts, seconds, isKept: false };
    });
  }

  /** Where the content of a part lies in normal form, for looking at what differs. */
  contentFile(name, part) {
    return join(this.kept, 'contents', name, part.replace(/[^\w.-]+/g, '-'));
  }

  /** Starts a command; `ended` rejects where it fails, unless it was killed. */
  start(args) {
    const child = spawn(process.execPath, [join(this.checkout, 'dist', 'cli.js'), ...args], {
      cwd: join(this.folder, 'runs'),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    let complaint = '';
    child.stdout.on('data', (data) => {
      said += data;
    });
    child.stderr.on('data', (data) => {
      complaint += data;
    });
    const ended = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => {
        if (code === 0 || signal !== null) resolve({ signal, stdout: said });
        else reject(new Error(`reverie ${args.join(' ')} ended with ${code}:\n${complaint}`));
      });
    });
    return { child, ended };
  }

  /** Runs a command to its end; answers the parts of its run. */
  async command(name, args, keep) {
    await this.start([...args, '--out', name, '--quiet']).ended;
    return this.parts(name, keep);
  }

  parts(name, keep) {
    return partsOfRun(join(this.folder, 'runs', name), this.places, keep);
  }

  /** Kills a command each time what it watches has grown by so many bytes, and has it resumed to the end. */
  async killed(name, args, { resume, watched, growth, keep }) {
    const run = join(this.folder, 'runs', name);
    for (const [i, bytes] of growth.entries()) {
      const before = bytesOf(run, watched);
      const { child, ended } = this.start([...(i === 0 ? [...args, '--out', name] : resume), '--quiet']);
      const watch = setInterval(() => bytesOf(run, watched) >= before + bytes && child.kill('SIGKILL'), 2);
      const { signal } = await ended.finally(() => clearInterval(watch));
      if (signal !== 'SIGKILL') throw new Error(`${name} ended before ${watched} had grown by ${bytes} bytes.`);
    }
    await this.start([...resume, '--quiet']).ended;
    return this.parts(name, keep);
  }

  /** Serves while `play` asks; it answers part → what came over the wire, in normal form. */
  async served(name, args, play) {
    const flags = ['--port', '0', '--workers', '1', '--drain-seconds', '0', '--json', '--quiet', '--out', name];
    const { child, ended } = this.start(['serve', ...args, ...flags]);
    try {
      const ready = new Promise((resolve) => child.stdout.once('data', (line) => resolve(JSON.parse(line))));
      const { url } = await Promise.race([ready, ended]);
      // What it said is why it did not begin, and `ended` throws that.
      if (url === undefined) await ended;
      const answers = await play(url);
      return Object.fromEntries(
        Object.entries(answers).map(([part, value]) => [part, `${JSON.stringify(value, null, 1)}\n`]),
      );
    } finally {
      child.kill('SIGTERM');
      await ended;
    }
  }
}

function once(known, name, make) {
  if (!known.has(name)) known.set(name, make());
  return known.get(name);
}

/** Others that look for the file see all of it or none. */
function writeWhole(file, content) {
  mkdirSync(dirname(file), { recursive: true });
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, content);
  renameSync(unfinished, file);
}

/** Of the files of a run that match; they may go while this looks. */
function bytesOf(run, watched) {
  if (!existsSync(run)) return 0;
  let bytes = 0;
  for (const file of readdirSync(run, { recursive: true }).map(String)) {
    const stat = watched.test(file) ? statSync(join(run, file), { throwIfNoEntry: false }) : undefined;
    if (stat?.isFile()) bytes += stat.size;
  }
  return bytes;
}
