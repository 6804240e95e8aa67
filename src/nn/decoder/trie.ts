// Constraints on what is generated: which tokens may come next. A trie allows exactly the texts it was made of.

/** What may be generated in one row; asked and told token by token. */
export interface TokenConstraint {
  /** The tokens that may come next, ascending; none: the text is complete; undefined: any. */
  allowed(): readonly number[] | undefined;
  /** Takes in the token that was chosen. */
  accept(token: number): void;
}

interface TrieNode {
  readonly children: Map<number, TrieNode>;
  /** Whether a sequence ends here. */
  isEnd: boolean;
  /** Tokens that may come next, once asked for. */
  next?: readonly number[];
}

const newNode = (): TrieNode => ({ children: new Map(), isEnd: false });

export class TokenTrie {
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

  /** A constraint that begins at the root. */
  constraint(): TokenConstraint {
    let node: TrieNode | undefined = this.root;
    return {
      allowed: () => (node === undefined ? [] : this.nextOf(node)),
      accept: (token) => {
        node = token === this.end && node?.isEnd ? undefined : node?.children.get(token);
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
}
