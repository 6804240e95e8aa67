// Ways along a trie of commands: the one that a number draws, or the most probable of all. Both ask for the probabilities of what may
// come next after a path, and are told; where only one token is left nobody is asked.

import { chooseBy } from '../text-policy.js';
import type { Offer } from './transcript.js';

export interface WalkedCommand {
  /** Index of the command. */
  readonly choice: number;
  /** Log-probability of each token of which there was a choice, in nats. */
  readonly terms: readonly number[];
  /** Entropy of these choices along the way, in nats: over draws its mean is the entropy of the commands. */
  readonly entropy: number;
}

export interface Walk {
  /** Tokens said so far of the path that is to be gone on from, and what may follow; undefined: it has arrived. */
  open(): OpenPath | undefined;
  /** @param logProbs of what may follow the open path, and further numbers that mean nothing */
  take(logProbs: Float32Array): void;
  /** Where it has arrived. */
  arrived(): WalkedCommand;
}

export interface OpenPath {
  readonly tokens: readonly number[];
  readonly allowed: readonly number[];
}

interface Path extends OpenPath {
  readonly terms: readonly number[];
  readonly entropy: number;
  readonly logProb: number;
}

const START = { tokens: [], terms: [], entropy: 0, logProb: 0 };

/** @param draw in (0, 1), by which each token is drawn, with what the token before left of it */
export class DrawnWalk implements Walk {
  private path: Path;

  constructor(
    private readonly offer: Offer,
    private draw: number,
  ) {
    this.path = settled(offer, START);
  }

  open(): OpenPath | undefined {
    return this.path.allowed.length === 0 ? undefined : this.path;
  }

  take(logProbs: Float32Array): void {
    const count = this.path.allowed.length;
    const at = chooseBy(logProbs, 0, count, this.draw);
    const shares = Array.from({ length: count }, (_, i) => Math.exp(logProbs[i]));
    const sum = shares.reduce((total, share) => total + share, 0);
    const before = shares.slice(0, at).reduce((total, share) => total + share, 0);
    const left = (this.draw * sum - before) / shares[at];
    this.draw = Math.min(Math.max(left, Number.EPSILON), 1 - Number.EPSILON);
    this.path = extended(this.offer, this.path, logProbs, at);
  }

  arrived(): WalkedCommand {
    return commandOf(this.offer, this.path);
  }
}

/** Goes on from the most probable path that is known until that is a whole command, than which none can be more probable. */
export class LikeliestWalk implements Walk {
  private readonly paths: Path[];

  constructor(private readonly offer: Offer) {
    this.paths = [settled(offer, START)];
  }

  open(): OpenPath | undefined {
    const { allowed } = this.best;
    return allowed.length === 0 ? undefined : this.best;
  }

  take(logProbs: Float32Array): void {
    const [path] = this.paths.splice(this.paths.indexOf(this.best), 1);
    for (let i = 0; i < path.allowed.length; i++) this.paths.push(extended(this.offer, path, logProbs, i));
  }

  arrived(): WalkedCommand {
    return commandOf(this.offer, this.best);
  }

  /** Of equals the first. */
  private get best(): Path {
    return this.paths.reduce((best, path) => (path.logProb > best.logProb ? path : best));
  }
}

function extended(offer: Offer, path: Path, logProbs: Float32Array, at: number): Path {
  let entropy = path.entropy;
  for (let i = 0; i < path.allowed.length; i++)
    if (logProbs[i] > -Infinity) entropy -= Math.exp(logProbs[i]) * logProbs[i];
  return settled(offer, {
    tokens: [...path.tokens, path.allowed[at]],
    terms: [...path.terms, logProbs[at]],
    logProb: path.logProb + logProbs[at],
    entropy,
  });
}

/** With all further tokens of which there is no choice. */
function settled({ trie }: Offer, path: Omit<Path, 'allowed'>): Path {
  const constraint = trie.constraint();
  for (const token of path.tokens) constraint.accept(token);
  const tokens = [...path.tokens];
  let allowed = constraint.allowed()!;
  while (allowed.length === 1) {
    tokens.push(allowed[0]);
    constraint.accept(allowed[0]);
    allowed = constraint.allowed()!;
  }
  return { ...path, tokens, allowed };
}

function commandOf({ commands }: Offer, { tokens, terms, entropy }: Path): WalkedCommand {
  const choice = commands.findIndex(
    (command) => command.length === tokens.length && command.every((t, i) => t === tokens[i]),
  );
  return { choice, terms, entropy };
}
