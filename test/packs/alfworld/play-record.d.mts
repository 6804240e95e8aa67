export declare function hashOf(seen: {
  readonly observation: string;
  readonly admissible: readonly string[];
  readonly score: number;
}): string;
export declare function placeOf(command: string, admissible: readonly string[]): number;
export declare function commandAt(place: number, admissible: readonly string[]): string;
