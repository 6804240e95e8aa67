// Float64 numbers as JSON-safe text, bit for bit: JSON itself loses negative zero.

/** Little-endian base64 of the numbers. */
export function packNumbers(numbers: ArrayLike<number>): string {
  const bytes = new DataView(new ArrayBuffer(numbers.length * 8));
  for (let i = 0; i < numbers.length; i++) bytes.setFloat64(i * 8, numbers[i], true);
  return Buffer.from(bytes.buffer).toString('base64');
}

export function unpackNumbers(text: string): Float64Array {
  const bytes = Buffer.from(text, 'base64');
  const numbers = new Float64Array(bytes.length >> 3);
  for (let i = 0; i < numbers.length; i++) numbers[i] = bytes.readDoubleLE(i * 8);
  return numbers;
}
