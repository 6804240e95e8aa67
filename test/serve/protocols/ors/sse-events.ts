// Server-sent events, read the way the client of the Open Reward Standard does.

export interface SseEvent {
  readonly event: string;
  readonly data: string;
}

export async function eventsOf(reply: Response): Promise<SseEvent[]> {
  return parseEvents(await reply.text());
}

export function parseEvents(text: string): SseEvent[] {
  const blocks = text.split('\n\n').filter((block) => block !== '' && !block.startsWith(':'));
  return blocks.map((block) => {
    const values = block.split('\n').map((line) => line.slice(line.indexOf(':') + 1).trimStart());
    return { event: values[0], data: values[1] };
  });
}
