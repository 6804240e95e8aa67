// A trie of token sequences: allows exactly the texts it was made of.

import { notAllowed, requireRoom, type TokenConstraint, type TokenLanguage } from './constraint.js';

interface TrieNode {
  readonly children: Map<number, TrieNode>;
  /** Whether a sequence ends here. */
  isEnd: boolean;
  /** Tokens that may come next, once asked for. */
  next?: readonly number[];
  /** Fewest tokens from here on, the end included, once asked for. */
  least?: number;
}

const newNode = (): TrieNode => ({ children: new Map(), isEnd: false });

export class TokenTrie implements TokenLanguage {
  private readonly root = newNode();

  /**
   * @param sequences the token sequences that are allowed
   * @param end follows each of them, so that one that begins another can be told apart
   */
  constructor(
    sequences: Iterable<ArrayLike<number>>,
    private readonly end: number,
  ) {
    for (const sequence of sequences) this.add(sequence);
  }

  /** See `TokenLanguage`. */
  get choices(): number {
    const most = (node: TrieNode): number =>
      Math.max(this.nextOf(node).length, ...[...node.children.values()].map(most));
    return most(this.root);
  }

  /** See `TokenLanguage`. */
  constraint(room = Number.POSITIVE_INFINITY): TokenConstraint {
    let node: TrieNode | undefined = this.nextOf(this.root).length > 0 ? this.root : undefined;
    if (node !== undefined) requireRoom('The shortest text of the trie', leastOf(node), room);
    let left = room;
    return {
      allowed: () => (node === undefined ? [] : this.within(node, left)),
      accept: (token) => {
        const isEnd: boolean = token === this.end && node?.isEnd === true;
        const next: TrieNode | undefined = isEnd ? undefined : node?.children.get(token);
        if (next === undefined && !isEnd) throw notAllowed(token);
        node = next;
        left--;
      },
      get isComplete() {
        return node === undefined;
      },
    };
  }

  private add(sequence: ArrayLike<number>): void {
    let node = this.root;
    for (let i = 0; i < sequence.length; i++) {
      const token = sequence[i];
      let child = node.children.get(token);
      if (child === undefined) {
        child = newNode();
        node.children.set(token, child);
        node.next = undefined;
      }
      node = child;
    }
    node.isEnd = true;
    node.next = undefined;
  }

  private nextOf(node: TrieNode): readonly number[] {
    node.next ??= [...node.children.keys(), ...(node.isEnd ? [this.end] : [])].sort((a, b) => a - b);
    return node.next;
  }

  /** Of the tokens that may come next those after which the shortest way to an end still fits. */
  private within(node: TrieNode, left: number): readonly number[] {
    const next = this.nextOf(node);
    if (left === Number.POSITIVE_INFINITY) return next;
    const fits = (token: number) => {
      const child = node.children.get(token);
      return (child !== undefined && leastOf(child) < left) || (token === this.end && node.isEnd);
    };
    return next.every(fits) ? next : next.filter(fits);
  }
}

function leastOf(node: TrieNode): number {
  node.least ??= 1 + (node.isEnd ? 0 : Math.min(...[...node.children.values()].map(leastOf)));
  return node.least;
}
