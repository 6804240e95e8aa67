// Keeps how long a run of .ci/run took, part by part. Usage: node scripts/ci-timing.mjs FILE start=SECONDS part=SECONDS...
// with the time at which each part ended, in seconds since 1970.

import { writeFileSync } from 'node:fs';
import { arch, cpus, platform } from 'node:os';
import { argv } from 'node:process';

const [file, ...marks] = argv.slice(2);
const ends = marks.map((mark) => {
  const [name, seconds] = mark.split('=');
  return { name, seconds: Number(seconds) };
});
const parts = Object.fromEntries(ends.slice(1).map(({ name, seconds }, i) => [name, seconds - ends[i].seconds]));
const timing = {
  date: new Date(ends[0].seconds * 1000).toISOString(),
  seconds: ends.at(-1).seconds - ends[0].seconds,
  parts,
  machine: `${cpus().length} × ${cpus()[0].model.trim()}, ${platform()} ${arch()}, node ${process.versions.node}`,
};
writeFileSync(file, `${JSON.stringify(timing, null, 2)}\n`);
