// How much one client may ask of the server at once.

export interface HttpLimits {
  /** Bytes of a request's body, or of a WebSocket's frame. */
  readonly bodyBytes: number;
  /** Objects and lists within each other in a body or frame. */
  readonly jsonDepth: number;
  /** Keys of objects and items of lists in a body or frame, together. */
  readonly jsonValues: number;
  /** Bytes of a request's line and headers. */
  readonly headerBytes: number;
  /** Characters of a request's URL. */
  readonly urlLength: number;
  /** Connections open at once; more are closed as they come. */
  readonly connections: number;
  /** Requests on one WebSocket that were not answered yet. */
  readonly underway: number;
  /** Bytes of answers on one WebSocket that its client did not read yet. */
  readonly unreadBytes: number;
  /** Seconds a client may take to send a request's headers, and half of what it may take for all of it. */
  readonly headerSeconds: number;
  /** Seconds after which a connection is closed on which nothing is sent. Longer than any answer takes. */
  readonly silentSeconds: number;
}

export const HTTP_LIMITS: HttpLimits = {
  bodyBytes: 1 << 20,
  jsonDepth: 64,
  jsonValues: 100_000,
  headerBytes: 16 * 1024,
  urlLength: 4096,
  connections: 16_384,
  underway: 64,
  unreadBytes: 16 << 20,
  headerSeconds: 15,
  silentSeconds: 180,
};
