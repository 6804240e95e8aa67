// What the catalogue says of one error.

export interface ErrorEntry {
  /** HTTP status a server answers with. */
  readonly status: number;
  /** The sentence; `{name}` is replaced by the value of that name. */
  readonly message: string;
  /** What the user can do about it; same placeholders. */
  readonly hint: string;
}
