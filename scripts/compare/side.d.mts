export interface Outcome {
  readonly parts: Readonly<Record<string, string>>;
  readonly seconds: number;
  readonly isKept: boolean;
}

export class Side {
  constructor(options: { checkout: string; folder: string; kept?: string; workers?: string });
  outcome(name: string): Promise<Outcome>;
}
