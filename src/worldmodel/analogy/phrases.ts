// Which words of a command are names of things: the longest that the texts around it mention, too. Without them a command is a form, such
// as `put _ in _`; two commands of one form are cases of the same action.

/** A command, read beside the texts that it was listed with. */
export interface ReadCommand {
  readonly text: string;
  /** The command without what it names, each name a `_`. */
  readonly form: string;
  /** What it names, in order, as it is written in the command. */
  readonly names: readonly string[];
}

/** Texts in which names are looked for. */
export class Mentions {
  private readonly plain: string;
  private readonly commands = new Map<string, ReadCommand>();
  private readonly names = new Map<string, boolean>();

  constructor(texts: readonly string[]) {
    this.plain = ` ${wordsOf(texts.join(' \n ')).join(' ')} `;
  }

  has(name: string): boolean {
    const known = this.names.get(name) ?? this.plain.includes(` ${wordsOf(name).join(' ')} `);
    this.names.set(name, known);
    return known;
  }

  /** A command that was listed with these texts. */
  read(command: string): ReadCommand {
    const known = this.commands.get(command) ?? readCommand(command, this);
    this.commands.set(command, known);
    return known;
  }
}

/** Words and numbers in lower case, without what stands between them. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu) ?? [];
}

function readCommand(text: string, mentions: Mentions): ReadCommand {
  const words = text.trim().split(/\s+/);
  const [verb, ...rest] = words;
  const found = rest.length === 0 ? undefined : (named(rest, mentions) ?? parted(rest, mentions));
  if (found === undefined) return { text, form: text, names: [] };
  return { text, form: [verb, ...found.form].join(' '), names: found.names };
}

interface Part {
  readonly form: readonly string[];
  readonly names: readonly string[];
}

/** All words as one name, or, where they are mentioned only without the first of them, what is left of them. */
function named(words: readonly string[], mentions: Mentions): Part | undefined {
  for (let at = 0; at < words.length; at++) {
    const name = words.slice(at).join(' ');
    if (!mentions.has(name)) continue;
    // `chest of drawers` is a name; of `knife in drawer` only the last word is one.
    return at > 0 && words.slice(0, at).some((word) => mentions.has(word)) && parted(words, mentions) !== undefined
      ? undefined
      : { form: [...words.slice(0, at), '_'], names: [name] };
  }
  return undefined;
}

/** Two names with a word between them. */
function parted(words: readonly string[], mentions: Mentions): Part | undefined {
  for (let at = 1; at < words.length - 1; at++) {
    const [first, second] = [words.slice(0, at).join(' '), words.slice(at + 1).join(' ')];
    if (mentions.has(first) && mentions.has(second)) return { form: ['_', words[at], '_'], names: [first, second] };
  }
  return undefined;
}
