// Runs the held jobs with the built command line, each in a folder of its own.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { JOBS } from './jobs.mjs';
import { partsOfRun } from './normal-form.mjs';

/** What is written for people (cards, reports, instructions) may be worded anew. */
const FOR_PEOPLE = /\(card\)$|\.md$|: opening$/;

export const HELD = JOBS.map(({ name }) => name);

export class Side {
  #runs = new Map();

  /**
   * @param checkout a built clone
   * @param folder where its runs go, of this process alone
   */
  constructor({ checkout, folder }) {
    this.cli = join(checkout, 'dist', 'cli.js');
    this.runs = join(folder, 'runs');
    this.places = [this.runs, folder, checkout];
    mkdirSync(this.runs, { recursive: true });
  }

  /** Part of what a job makes for programs → SHA-256 of its content in normal form. */
  async hashes(name) {
    const contents = Object.entries(await this.#contents(name)).filter(([part]) => !FOR_PEOPLE.test(part));
    return Object.fromEntries(
      contents.map(([part, content]) => [part, createHash('sha256').update(content).digest('hex')]),
    );
  }

  #contents(name) {
    if (!this.#runs.has(name)) this.#runs.set(name, this.#run(name));
    return this.#runs.get(name);
  }

  async #run(name) {
    const job = JOBS.find((one) => one.name === name);
    for (const need of job.needs) await this.#contents(need);
    return job.run(this, name);
  }

  /** Starts a command; `ended` rejects where it fails, unless it was killed. */
  start(args) {
    const child = spawn(process.execPath, [this.cli, ...args], { cwd: this.runs, stdio: ['ignore', 'pipe', 'pipe'] });
    let complaint = '';
    child.stderr.on('data', (data) => {
      complaint += data;
    });
    const ended = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => {
        if (code === 0 || signal !== null) resolve({});
        else reject(new Error(`reverie ${args.join(' ')} ended with ${code}:\n${complaint}`));
      });
    });
    return { child, ended };
  }

  /** Runs a command to its end; answers the parts of its run. */
  async command(name, args) {
    const { child, ended } = this.start([...args, '--out', name, '--quiet']);
    child.stdout.resume();
    await ended;
    return partsOfRun(join(this.runs, name), this.places);
  }

  /** Serves while `play` asks; it answers part → what came over the wire, in normal form. */
  async served(name, args, play) {
    const flags = ['--port', '0', '--workers', '1', '--drain-seconds', '0', '--json', '--out', name];
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
