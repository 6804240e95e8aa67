// What the catalogue says of one error.

export interface ErrorEntry {
  /** HTTP status a server answers with. */
  readonly status: number;
  /** The sentence; `{name}` is replaced by the value of that name. */
  readonly message: string;
  /** What the user can do about it; same placeholders. */
  readonly hint: string;
  /**
   * What is lost of a job that lives many episodes: `episode`, the one that met it, which would end alike if it were lived again;
   * `attempt`, this try at the episode, which is begun again a few times before it is given up. Absent: the job ends.
   */
  readonly costs?: 'episode' | 'attempt';
}
