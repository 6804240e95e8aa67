/** Names of ALFWorld's things by id. */
export declare function alfworldNames(ids: readonly string[]): Map<string, string>;
