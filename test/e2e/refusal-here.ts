// Refusals of the command line within the process of a test.

import { runCommandLine } from '../../src/cli/command-line.js';
import { recordingStream } from '../run/streams.js';
import { cleanFailure, type Refusal } from './reverie.js';

/** As `refusal`, for what is refused before anything is done: a process takes a second to begin. */
export async function refusalHere(args: readonly string[], cwd: string): Promise<Refusal> {
  const before = process.cwd();
  const terminal = { stdout: recordingStream(), stderr: recordingStream(), env: process.env };
  process.chdir(cwd);
  try {
    const code = await runCommandLine([...args, '--quiet'], terminal);
    return cleanFailure(args, { code, stdout: terminal.stdout.text(), stderr: terminal.stderr.text() });
  } finally {
    process.chdir(before);
  }
}
