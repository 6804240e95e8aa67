// Float64 numbers as JSON-safe text, bit for bit: JSON itself loses negative zero.

/** Little-endian base64 of the numbers. */
export function packNumbers(numbers: ArrayLike<number>): string {
  const bytes = new DataView(new ArrayBuffer(numbers.length * 8));
  for (let i = 0; i < numbers.length; i++) bytes.setFloat64(i * 8, numbers[i], true);
  return Buffer.from(bytes.buffer).toString('base64');
}

/** The numbers again; throws RangeError unless there are `length` of them. */
export function unpackNumbers(text: string, length: number): Float64Array {
  const bytes = Buffer.from(String(text), 'base64');
  if (bytes.length !== length * 8) throw new RangeError(`${bytes.length} bytes where ${length} numbers are needed`);
  const numbers = new Float64Array(length);
  for (let i = 0; i < length; i++) numbers[i] = bytes.readDoubleLE(i * 8);
  return numbers;
}
