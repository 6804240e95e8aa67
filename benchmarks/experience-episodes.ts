// Episodes of a pack's default run, as `reverie synth NAME` makes them, read back from its folder.

import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EpisodeRecord } from '../src/replay/experience/experience.js';
import { runCommand } from './command-line.js';

/** One of OpenAI's rows; `weight` 1: the turn is learnt. */
export interface OpenAiRow {
  readonly messages: readonly {
    readonly role: string;
    readonly content: string | null;
    readonly weight?: number;
    readonly tool_calls?: readonly { readonly function: { readonly name: string; readonly arguments: string } }[];
  }[];
}

export interface DefaultRun {
  readonly lived: number;
  readonly result: Readonly<Record<string, unknown>>;
  /** Those that the filters accepted. */
  readonly episodes: readonly EpisodeRecord[];
  /** The default dataset: those to imitate, in the order of their episodes. */
  readonly rows: readonly OpenAiRow[];
}

/** Lives the run in a folder of its own, which is gone afterwards. */
export async function defaultRun(root: string, name: string, episodes: number): Promise<DefaultRun> {
  const folder = await mkdtemp(join(tmpdir(), `reverie-${name}-`));
  try {
    const out = join(folder, 'run');
    const set = ['--set', `synth.episodes=${episodes}`];
    const { code, stderr } = await runCommand(root, ['synth', name, '--workers', '0', '--out', out, ...set], folder);
    if (code !== 0) throw new Error(`reverie synth ${name} ended with ${code}: ${stderr}`);
    return {
      lived: episodes,
      result: JSON.parse(readFileSync(join(out, 'result.json'), 'utf8')),
      episodes: lines(join(out, 'data', 'episodes.jsonl')),
      rows: lines(join(out, 'datasets', 'openai', 'data', 'train-00000-of-00001.jsonl')),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function lines<Row>(file: string): Row[] {
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);
}
