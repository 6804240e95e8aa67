// An episode as a decoder reads it, and what can be said next as a trie of tokens. The same words for every tokenizer, without tokens
// of our own, so that any Llama model can take the place of one that was trained here:
//
//   <begin> GOAL \n OPENING \n> COMMAND <end> \n TEXT \n> COMMAND <end> \n TEXT \n>
//
// A prompt is the beginning of those of later steps as long as no turn is dropped: keys and values of one serve the next, and the
// choices of an episode are learned from in one document.

import { reverieError } from '../../../core/errors.js';
import { type Tokenizer, TokenTrie } from '../../../nn/index.js';
import type { TextSituation, TextTurn } from '../text-policy.js';
import type { DecoderPolicySettings } from './settings.js';

export interface Prompt {
  readonly tokens: readonly number[];
  /** Lengths of the prompts of earlier steps that this one begins with, and its own, ascending. */
  readonly ends: readonly number[];
}

/** The commands of a situation, in tokens. */
export interface Offer {
  readonly trie: TokenTrie;
  /** Tokens of each command, with the end. */
  readonly commands: readonly (readonly number[])[];
  /** Tokens of the longest. */
  readonly longest: number;
}

/** A text takes at most this share of the context: what is more is left out at its end. */
const TEXT_SHARE = 4;
/** Encoded texts that are remembered; those of a world recur. */
const MAX_REMEMBERED = 1 << 14;

export class Transcript {
  private readonly remembered = new Map<string, readonly number[]>();
  private readonly cue: readonly number[];

  constructor(
    readonly tokenizer: Tokenizer,
    private readonly settings: Pick<DecoderPolicySettings, 'context' | 'historyTurns'>,
  ) {
    this.cue = tokenizer.encode('\n>');
  }

  /** Most tokens of a prompt and its command together. */
  get context(): number {
    return this.settings.context;
  }

  /** Most tokens of one text. */
  private get most(): number {
    return Math.floor(this.settings.context / TEXT_SHARE);
  }

  /** Most tokens of a command, so that the rest of the context holds a prompt. */
  get longestCommand(): number {
    return this.settings.context - 2 * this.most - 2 * this.cue.length - 2;
  }

  /** @throws TEXT_TOO_MANY_COMMANDS for none; CONTEXT_TOO_LONG for a command that leaves no room for a prompt */
  offer({ admissible, readings = admissible }: TextSituation): Offer {
    if (admissible.length === 0) throw reverieError('TEXT_TOO_MANY_COMMANDS', { count: 0, max: 'any number' });
    const { end } = this.tokenizer.special;
    const commands = distinct(readings).map((command) => [...this.encode(` ${command}`), end]);
    const limit = this.longestCommand;
    const long = commands.findIndex((command) => command.length > limit);
    if (long >= 0) {
      const what = `The command "${admissible[long].slice(0, 60)}"`;
      throw reverieError('CONTEXT_TOO_LONG', { what, tokens: commands[long].length, limit });
    }
    const trie = new TokenTrie(
      commands.map((command) => command.slice(0, -1)),
      end,
    );
    return { trie, commands, longest: Math.max(...commands.map(({ length }) => length)) };
  }

  /**
   * What is read before a command is chosen: the goal, what was seen first, and the latest turns; of these as many as leave room.
   * @param room tokens of the longest command
   */
  prompt(situation: TextSituation, room: number): Prompt {
    const { historyTurns, context } = this.settings;
    const { turns } = situation;
    const stride = Math.max(1, Math.ceil(historyTurns / 2));
    let start = Math.max(0, Math.ceil((turns.length - historyTurns) / stride)) * stride;
    for (; start < turns.length; start += stride) {
      const prompt = this.written(situation, start);
      if (prompt.tokens.length + room <= context) return prompt;
    }
    return this.written(situation, turns.length);
  }

  private written({ goal, text, turns, opening, schema }: TextSituation, start: number): Prompt {
    const tokens: number[] = [this.tokenizer.special.begin, ...this.short(goal)];
    const ends: number[] = [];
    // With no turn left, what was seen last is all there is.
    const shown = start >= turns.length ? text : start === 0 ? opening : undefined;
    if (shown !== undefined && shown !== goal) tokens.push(...this.short(`\n${shown}`));
    const cue = () => {
      tokens.push(...this.cue);
      ends.push(tokens.length);
    };
    cue();
    for (const turn of turns.slice(start)) {
      tokens.push(...this.turn(turn, schema === undefined ? ' ' : ''));
      cue();
    }
    return { tokens, ends };
  }

  /** @param gap before what was said: commands are words, and follow a space; what was written stands as it was written */
  private turn({ said, seen }: TextTurn, gap: string): number[] {
    return [...this.short(`${gap}${said}`), this.tokenizer.special.end, ...this.short(`\n${seen}`)];
  }

  private short(text: string): readonly number[] {
    const tokens = this.encode(text);
    return tokens.length <= this.most ? tokens : tokens.slice(0, this.most);
  }

  private encode(text: string): readonly number[] {
    let tokens = this.remembered.get(text);
    if (tokens === undefined) {
      if (this.remembered.size >= MAX_REMEMBERED) this.remembered.clear();
      tokens = this.tokenizer.encode(text);
      this.remembered.set(text, tokens);
    }
    return tokens;
  }
}

/** What a tokenizer is learned from: all that a situation tells, each text once, as a prompt has it. */
export function textsOf(situations: readonly TextSituation[]): string[] {
  const texts = situations.flatMap(({ goal, text, opening = '', admissible, readings = admissible, schema }) => [
    goal,
    ...[text, opening].map((seen) => `\n${seen}\n>`),
    ...readings.map((command) => (schema === undefined ? ` ${command}` : command)),
  ]);
  return [...new Set(texts)];
}

/** Commands that read alike are told apart by a number. */
function distinct(readings: readonly string[]): string[] {
  const times = new Map<string, number>();
  return readings.map((reading) => {
    const count = (times.get(reading) ?? 0) + 1;
    times.set(reading, count);
    return count === 1 ? reading : `${reading} #${count}`;
  });
}

/** What was chosen, token by token: its choices and, with each, which were left. */
export interface Path {
  readonly tokens: readonly number[];
  /** What the trie left in the place of each token. */
  readonly choices: readonly (readonly number[])[];
}

/** The way along the trie to a command. */
export function pathOf({ trie, commands }: Offer, choice: number): Path {
  const constraint = trie.constraint();
  const tokens = commands[choice];
  const choices = tokens.map((token) => {
    const allowed = constraint.allowed()!;
    constraint.accept(token);
    return allowed;
  });
  return { tokens, choices };
}
