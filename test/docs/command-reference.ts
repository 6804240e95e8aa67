// The commands of docs/cli.md, written from the program: what each does, its own options and its examples; options that several
// commands share are described once, at the head.

import type { Command, Option } from 'commander';

/** Options that this many commands or more describe in the same words stand in the table of shared ones. */
const SHARED_BY = 3;

/** @param helpOf the text that `--help` prints of a command */
export async function commandReference(program: Command, helpOf: (...names: string[]) => Promise<string>) {
  const commands = program.commands.filter((command) => command.name() !== 'help');
  const visible = ({ options }: Command) => options.filter(({ hidden }) => !hidden);
  const counts = new Map<string, number>();
  for (const option of commands.flatMap(visible)) {
    counts.set(described(option), (counts.get(described(option)) ?? 0) + 1);
  }
  const isShared = (option: Option) => counts.get(described(option))! >= SHARED_BY;
  const shared = new Map(
    commands.flatMap((command) => visible(command).filter(isShared)).map((one) => [described(one), one]),
  );
  const jobs = commands.filter((command) => command.options.some(({ long }) => long === '--resume'));
  const everywhere = [...shared.values()].filter((option) =>
    jobs.every((command) => command.options.some((one) => described(one) === described(option))),
  );
  const rest = [...shared.values()].filter((option) => !everywhere.includes(option));
  const parts = await Promise.all(
    commands.map(async (command) => {
      const own = visible(command).filter((option) => !isShared(option));
      const has = visible(command).filter(isShared);
      const isJob = everywhere.every((option) => has.some((one) => described(one) === described(option)));
      const others = has.filter((one) => !isJob || !everywhere.some((option) => described(one) === described(option)));
      const common = [...(isJob ? ['those of all jobs'] : []), ...others.map(({ long }) => `\`${long}\``)];
      return [
        `## reverie ${command.name()}`,
        `\`${`reverie ${command.name()} ${usage(command)}`.trim()}\``,
        command.description(),
        ...(own.length > 0 ? [table(own)] : []),
        ...(common.length > 0 ? [`Shared options: ${common.join(', ')}.`] : []),
        ...examples(await helpOf(command.name())),
      ].join('\n\n');
    }),
  );
  const heads = [`## Options of all jobs\n\n${table(everywhere)}`, `## Other shared options\n\n${table(rest)}`];
  return [...heads, ...parts].join('\n\n');
}

function described({ flags, description }: Option): string {
  return `${flags} ${description}`;
}

function usage(command: Command): string {
  const names = command.registeredArguments.map((argument) => {
    const name = argument.name() + (argument.variadic ? '…' : '');
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return names.join(' ');
}

function table(options: readonly Option[]): string {
  const rows = options.map(({ flags, description, argChoices, defaultValue }) => {
    const choices = argChoices === undefined ? '' : ` (${argChoices.map((choice) => `\`${choice}\``).join(', ')})`;
    const fallback =
      defaultValue === undefined || defaultValue === false ? '' : ` Default: \`${String(defaultValue)}\`.`;
    return `| \`${flags.replaceAll('|', '\\|')}\` | ${description.replaceAll('|', '\\|')}${choices}${fallback} |`;
  });
  return ['| option | meaning |', '| --- | --- |', ...rows].join('\n');
}

/** The examples at the end of a command's help, as a block of shell lines. */
function examples(help: string): string[] {
  const [, text] = help.split('\nExamples:\n');
  if (text === undefined) return [];
  const lines = text.split('\n').map((line) => (line.startsWith('  $ ') ? line.slice(4) : `# ${line.trim()}`));
  const ordered: string[] = [];
  for (const line of lines) {
    if (line.startsWith('# ')) ordered.splice(ordered.length - 1, 0, line);
    else ordered.push(line);
  }
  return [`\`\`\`sh\n${ordered.join('\n')}\n\`\`\``];
}
