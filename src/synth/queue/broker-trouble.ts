// Tells once when a broker stops answering, and once when it answers again.

export class BrokerTrouble {
  private isDown = false;
  private isOver = false;

  constructor(
    private readonly address: string,
    private readonly tell: (line: string) => void = () => {},
  ) {}

  down(problem: unknown): void {
    if (this.isDown || this.isOver) return;
    this.isDown = true;
    const reason = problem instanceof Error ? problem.message || problem.name : String(problem);
    this.tell(`The queue at ${this.address} does not answer (${reason}); waiting for it.`);
  }

  up(): void {
    if (this.isDown && !this.isOver) this.tell(`The queue at ${this.address} answers again.`);
    this.isDown = false;
  }

  /** Nothing is told any more: the queue is being closed. */
  end(): void {
    this.isOver = true;
  }
}
