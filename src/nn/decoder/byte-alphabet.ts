// Bytes as printable characters, as byte-level tokenizers write them since GPT-2: so any text is tokens, and a token is a string.

/** Bytes that stand for themselves in Latin-1; the others take the characters from U+0100 on, in order. */
function standsForItself(byte: number): boolean {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

let others = 0;
/** The character of each byte. */
export const BYTE_CHARACTERS: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  String.fromCharCode(standsForItself(byte) ? byte : 0x100 + others++),
);

const BYTES = new Map(BYTE_CHARACTERS.map((character, byte) => [character, byte]));

/** The bytes that a token's characters stand for; undefined if one stands for none. */
export function bytesOfToken(token: string): number[] | undefined {
  const bytes: number[] = [];
  for (const character of token) {
    const byte = BYTES.get(character);
    if (byte === undefined) return undefined;
    bytes.push(byte);
  }
  return bytes;
}
