// `reverie serve`: environments on a port, until it is told to stop.

import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadAnyScenario } from '../run/index.js';
import type { Terminal } from './terminal.js';

interface ServeFlags {
  readonly real?: boolean;
  readonly model?: string;
  readonly host: string;
  readonly port: string;
  readonly out: string;
  readonly set?: string[];
}

export function addServeCommand(program: Command, terminal: Terminal): void {
  program
    .command('serve')
    .summary('serve environments to trainers')
    .description('Serves scenarios, dreamt or real, over HTTP and WebSocket in the protocols that trainers speak.')
    .argument('<scenario...>', 'built-in scenarios by name, or paths')
    .option('--real', 'the real environment, even where there is a dream of it')
    .option(
      '--model <folder>',
      'serve the dream of this world model: a run of fit or train, or the folder of the model',
    )
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0: a free one', '8000')
    .option('--out <folder>', 'folder for what is kept while serving', 'runs/serve')
    .option('--set <path=value...>', 'override keys of the scenarios')
    .action(async (names: string[], flags: ServeFlags) => {
      const { startServer } = await import('../serve/index.js');
      const scenarios = names.map((name) => loadAnyScenario(name, { set: flags.set }));
      const folder = resolve(flags.out);
      mkdirSync(folder, { recursive: true });
      const log = (line: string) => void terminal.stderr.write(`${line}\n`);
      const server = await startServer({ ...flags, scenarios, folder, port: Number(flags.port), log });
      log(`Serving ${names.join(', ')} on ${server.url}`);
      await new Promise((stop) => process.once('SIGINT', stop).once('SIGTERM', stop));
      await server.stop(10);
    });
}
