// The turns of an episode as histories keep them: numbers and rows in columns. As objects they would be many and live long,
// and the garbage collector would take as long over a step of numbers as the step itself.

import type { Moment } from './moment.js';
import { MomentBlock } from './moment-block.js';

/** Turns. */
const SMALLEST_BLOCK = 8;
const LARGEST_BLOCK = 64;

export class Moments {
  length = 0;
  bytes = 0;
  /** Those that are full do not change, and may be those of others, too. */
  private blocks: MomentBlock[] = [];
  /** Of the first block, how many were dropped. */
  private dropped = 0;

  push(moment: Moment): void {
    let block = this.blocks.at(-1);
    if (block === undefined || block.isFull) {
      block = new MomentBlock(Math.min(Math.max(this.length, SMALLEST_BLOCK), LARGEST_BLOCK));
      this.blocks.push(block);
    }
    block.push(moment);
    this.length++;
    this.bytes += moment.bytes;
  }

  dropOldest(): void {
    const [block] = this.blocks;
    this.bytes -= block.bytesOf(this.dropped);
    this.length--;
    this.dropped++;
    if (this.dropped < block.length) return;
    this.blocks.shift();
    this.dropped = 0;
  }

  /** A copy that ends with `turn`; undefined where that is not among them. */
  endingWith(turn: Moment['turn']): Moments | undefined {
    for (let last = this.blocks.length - 1; last >= 0; last--) {
      const found = this.blocks[last].find(turn);
      if (found !== undefined) return last === 0 && found < this.dropped ? undefined : this.copy(last, found + 1);
    }
    return undefined;
  }

  all(): readonly Moment[] {
    return this.blocks.flatMap((block) => block.all()).slice(this.dropped);
  }

  /** As far as the first `count` of the block `last`. */
  private copy(last: number, count: number): Moments {
    const copy = new Moments();
    copy.blocks = [...this.blocks.slice(0, last), this.blocks[last].start(count)];
    copy.dropped = this.dropped;
    copy.length = copy.blocks.reduce((sum, { length }) => sum + length, -this.dropped);
    copy.bytes = copy.blocks.reduce((sum, { bytes }) => sum + bytes, 0);
    for (let i = 0; i < this.dropped; i++) copy.bytes -= this.blocks[0].bytesOf(i);
    return copy;
  }
}
