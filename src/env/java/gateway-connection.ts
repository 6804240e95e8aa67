// One connection to py4j's GatewayServer: commands go there in a row, answers come back in the same one. The Java side has a thread
// for each connection, and remembers in it by the names of classes how their methods are called.

import { connect, type Socket } from 'node:net';
import { answerOf, authCommand, type JavaAnswer } from './gateway-lines.js';

/** The process hung up, or was ended. */
export class ConnectionLost extends Error {}

interface Waiting {
  readonly resolve: (line: string) => void;
  readonly reject: (error: Error) => void;
}

export class GatewayConnection {
  private readonly socket: Socket;
  private readonly waiting: Waiting[] = [];
  private received: Buffer[] = [];
  private lost: Error | undefined;

  private constructor(port: number) {
    this.socket = connect({ host: '127.0.0.1', port, noDelay: true });
    this.socket.on('data', (part) => this.receive(part));
    this.socket.on('error', (error) => this.end(error.message));
    this.socket.on('close', () => this.end('it hung up'));
  }

  /** @param token what the process told of itself: any program of the machine may come to this port */
  static async open(port: number, token: string): Promise<GatewayConnection> {
    const connection = new GatewayConnection(port);
    await connection.exchange([authCommand(token)]);
    return connection;
  }

  /** All at once, so that they take one turn of waiting. @throws ConnectionLost */
  async exchange(commands: readonly string[]): Promise<JavaAnswer[]> {
    const lines = commands.map(() => this.line());
    this.socket.write(commands.join(''));
    return (await Promise.all(lines)).map(answerOf);
  }

  end(problem: string): void {
    this.lost ??= new ConnectionLost(problem);
    for (const { reject } of this.waiting.splice(0)) reject(this.lost);
    this.socket.destroy();
  }

  private line(): Promise<string> {
    if (this.lost !== undefined) return Promise.reject(this.lost);
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  }

  private receive(part: Buffer): void {
    let rest = part;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      const line = Buffer.concat([...this.received, rest.subarray(0, end)]).toString('utf8');
      this.received = [];
      rest = rest.subarray(end + 1);
      this.waiting.shift()?.resolve(line);
    }
    if (rest.length > 0) this.received.push(rest);
  }
}
