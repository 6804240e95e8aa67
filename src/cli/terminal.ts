// What a command writes to. Results go to stdout, everything said along the way to stderr.

export interface Terminal {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A reader that goes away (`reverie scenarios | head -1`) ends the command quietly. */
export function endWhenReaderLeaves({ stdout, stderr }: Terminal, exit: (code: number) => void): void {
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      exit(0);
    });
  }
}
