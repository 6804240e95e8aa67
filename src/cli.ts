#!/usr/bin/env node
// argv to a command, and its outcome to an exit code.

import { runCommandLine } from './cli/command-line.js';
import { endWhenReaderLeaves } from './cli/terminal.js';

endWhenReaderLeaves(process, (code) => process.exit(code));
process.exitCode = await runCommandLine(process.argv.slice(2), process);
