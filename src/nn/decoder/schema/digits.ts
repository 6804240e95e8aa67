// Numbers between bounds as patterns of digits: a language of texts knows no order of numbers, so bounds are spelled out, place by place.

/** Digits of the largest whole numbers that are written: all of them are exact in double precision. */
const MOST_DIGITS = 15;
const LARGEST = 10 ** MOST_DIGITS - 1;
/** Digits after the point, where bounds do not have more. */
const FEWEST_DECIMALS = 2;
const MOST_DECIMALS = 6;

/** A schema's bounds; each absent where there is none. */
export interface NumberBounds {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
}

/** Whole numbers within the bounds, as JSON writes them; undefined if there are none. */
export function wholeNumbers(bounds: NumberBounds): string | undefined {
  const [low, high] = scaled(bounds, 0);
  return signed(low, high, (from, to) => between(from, to));
}

/** Numbers within the bounds, whole or with a few decimals; undefined if there are none. */
export function numbers(bounds: NumberBounds): string | undefined {
  if (Object.values(bounds).every((bound) => bound === undefined))
    return `-?(?:0|[1-9]\\d{0,${MOST_DIGITS - 1}})(?:\\.\\d{1,${MOST_DECIMALS}})?`;
  const decimals = decimalsOf(bounds);
  const [low, high] = scaled(bounds, decimals);
  return either([wholeNumbers(bounds), signed(low, high, (from, to) => withPoint(from, to, decimals))]);
}

function decimalsOf(bounds: NumberBounds): number {
  const most = Object.values(bounds).map((bound: number) => /\.(\d+)$/.exec(String(bound))?.[1].length ?? 0);
  // One more than they have, as between 0 and 0.1, both left out, there is none with one.
  return Math.min(MOST_DECIMALS, Math.max(FEWEST_DECIMALS, 1 + Math.max(...most)));
}

/** The least and the largest number within, in units of the last decimal. */
function scaled(bounds: NumberBounds, decimals: number): [number, number] {
  const unit = 10 ** decimals;
  const { minimum = -Infinity, maximum = Infinity } = bounds;
  const { exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = bounds;
  // A quotient of whole numbers is rounded as a reader of the text rounds, so comparing it is comparing what will be read.
  const fits = (whole: number) => {
    const value = whole / unit;
    return value >= minimum && value > exclusiveMinimum && value <= maximum && value < exclusiveMaximum;
  };
  let low = Math.max(-LARGEST, Math.floor(Math.max(minimum, exclusiveMinimum) * unit) - 1);
  let high = Math.min(LARGEST, Math.ceil(Math.min(maximum, exclusiveMaximum) * unit) + 1);
  const tries = 4;
  for (let i = 0; i < tries && !fits(low); i++) low++;
  for (let i = 0; i < tries && !fits(high); i++) high--;
  return fits(low) && fits(high) ? [low, high] : [1, 0];
}

/** From `low` to `high`, of which `unsigned` writes those that are not negative. */
function signed(low: number, high: number, unsigned: (from: number, to: number) => string): string | undefined {
  const below = low < 0 ? `-${unsigned(Math.max(1, -high), -low)}` : undefined;
  const above = high >= 0 ? unsigned(Math.max(0, low), high) : undefined;
  return low > high ? undefined : either([below, above]);
}

/** From `low` to `high`, both at least 0, without leading zeros. */
function between(low: number, high: number): string {
  const parts: string[] = [];
  for (let width = String(low).length; width <= String(high).length; width++) {
    const from = Math.max(low, width === 1 ? 0 : 10 ** (width - 1));
    parts.push(ofOneWidth(String(from), String(Math.min(high, 10 ** width - 1))));
  }
  return either(parts)!;
}

/** The same in units of the last decimal, with the point in its place. */
function withPoint(low: number, high: number, decimals: number): string {
  const unit = 10 ** decimals;
  const fraction = (number: number) => String(number % unit).padStart(decimals, '0');
  const [first, last] = [Math.floor(low / unit), Math.floor(high / unit)];
  const [none, all] = ['0'.repeat(decimals), '9'.repeat(decimals)];
  if (first === last) return `${first}\\.${ofOneWidth(fraction(low), fraction(high))}`;
  const inner = last - first > 1 ? `${between(first + 1, last - 1)}\\.\\d{${decimals}}` : undefined;
  return either([
    `${first}\\.${ofOneWidth(fraction(low), all)}`,
    inner,
    `${last}\\.${ofOneWidth(none, fraction(high))}`,
  ])!;
}

/** Digits from `low` to `high`, which are of one length. */
function ofOneWidth(low: string, high: string): string {
  if (low === high) return low;
  const [a, b] = [Number(low[0]), Number(high[0])];
  const rest = low.length - 1;
  const [lowRest, highRest] = [low.slice(1), high.slice(1)];
  if (a === b) return `${a}${ofOneWidth(lowRest, highRest)}`;
  // Where all that begins with the first or last digit is within, that digit is one of those between.
  const from = /^0*$/.test(lowRest) ? a : a + 1;
  const to = /^9*$/.test(highRest) ? b : b - 1;
  return either([
    from > a ? `${a}${ofOneWidth(lowRest, '9'.repeat(rest))}` : undefined,
    from <= to ? `[${from}-${to}]\\d{${rest}}` : undefined,
    to < b ? `${b}${ofOneWidth('0'.repeat(rest), highRest)}` : undefined,
  ])!;
}

function either(parts: readonly (string | undefined)[]): string | undefined {
  const some = parts.filter((part) => part !== undefined);
  return some.length === 0 ? undefined : `(?:${some.join('|')})`;
}
