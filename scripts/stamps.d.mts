export declare const PAGE: string;
export declare function pageSources(): string[];
export declare function isCurrent(stamp: string, files: readonly string[]): boolean;
