export const HELD: readonly string[];

export class Side {
  constructor(options: { checkout: string; folder: string });
  hashes(name: string): Promise<Record<string, string>>;
}
