// The calculator of τ-bench without `eval`: Python's arithmetic over + - * / // ** and parentheses, by a parser of our own.
// Whole numbers are exact as in Python, up to a size beyond which no result could be a float anyway.

import { pythonFloat, roundToCents } from './python-text.js';

/** What Python would have raised; the message is the text of its exception. */
export class CalculationError extends Error {}

const ALLOWED = /^[0-9+\-*/(). ]*$/;
const TOKENS = /\s*(?:(\d+\.\d*|\.\d+|\d+)|(\*\*|\/\/|[+\-*/()]))/y;
/** Python's own limit of nested parentheses. */
const MAX_DEPTH = 200;
const MAX_LENGTH = 20_000;
/** Bits of a whole number; floats end at 1,024. */
const MAX_BITS = 100_000;

type Value = bigint | number;
type Token = { readonly number: Value } | { readonly symbol: string };
/** A step of a stack machine; operators take what lies on top. */
type Step = { readonly push: Value } | { readonly operator: string };

/** Whether an expression has only characters that the calculator takes. */
export function isCalculable(expression: string): boolean {
  return ALLOWED.test(expression);
}

/**
 * The value, rounded to cents, as Python prints it.
 * @throws CalculationError with the text of Python's exception
 */
export function calculate(expression: string): string {
  if (expression.length > MAX_LENGTH) throw new CalculationError('expression too long');
  return pythonFloat(roundToCents(asFloat(evaluate(new Parser(tokensOf(expression)).program()))));
}

function syntaxError(text = 'invalid syntax'): CalculationError {
  return new CalculationError(`${text} (<string>, line 1)`);
}

function tokensOf(expression: string): Token[] {
  const text = expression.trim();
  if (text === '') throw new CalculationError('invalid syntax (<string>, line 0)');
  const tokens: Token[] = [];
  TOKENS.lastIndex = 0;
  while (TOKENS.lastIndex < text.length) {
    const match = TOKENS.exec(text);
    if (match === null) throw syntaxError();
    tokens.push(match[1] === undefined ? { symbol: match[2] } : { number: numberOf(match[1]) });
  }
  return tokens;
}

function numberOf(text: string): Value {
  if (text.includes('.')) return Number(text);
  if (/^0\d*[1-9]/.test(text)) {
    throw syntaxError(
      'leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers',
    );
  }
  return BigInt(text);
}

/** Recursive descent over Python's precedence: sums, products, signs, powers, atoms. Nothing is evaluated before all is read. */
class Parser {
  private readonly steps: Step[] = [];
  private at = 0;
  private depth = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  program(): readonly Step[] {
    this.sum();
    if (this.at < this.tokens.length) throw this.unexpected();
    return this.steps;
  }

  private sum(): void {
    this.chain(['+', '-'], () => this.product());
  }

  private product(): void {
    this.chain(['*', '/', '//'], () => this.signed());
  }

  private chain(operators: readonly string[], part: () => void): void {
    part();
    for (let symbol = this.peek(); symbol !== undefined && operators.includes(symbol); symbol = this.peek()) {
      this.at++;
      part();
      this.steps.push({ operator: symbol });
    }
  }

  private signed(): void {
    let negations = 0;
    for (let symbol = this.peek(); symbol === '+' || symbol === '-'; symbol = this.peek()) {
      this.at++;
      if (symbol === '-') negations++;
    }
    this.power();
    for (; negations > 0; negations--) this.steps.push({ operator: 'negate' });
  }

  private power(): void {
    this.atom();
    if (this.peek() !== '**') return;
    this.at++;
    this.nested(() => this.signed());
    this.steps.push({ operator: '**' });
  }

  private atom(): void {
    const token = this.tokens[this.at];
    if (token !== undefined && 'number' in token) {
      this.at++;
      this.steps.push({ push: token.number });
    } else {
      this.parenthesis();
    }
    while (this.peek() === '(') {
      const hasArgument = this.peek(1) !== ')';
      if (hasArgument) this.parenthesis();
      else this.at += 2;
      this.steps.push({ operator: hasArgument ? 'call with' : 'call' });
    }
  }

  private parenthesis(): void {
    if (this.peek() !== '(') throw this.unexpected();
    this.at++;
    this.nested(() => this.sum());
    if (this.peek() !== ')') throw this.unexpected(this.at < this.tokens.length && this.isOperandNext());
    this.at++;
  }

  private nested(parse: () => void): void {
    if (++this.depth > MAX_DEPTH) throw syntaxError('too many nested parentheses');
    parse();
    this.depth--;
  }

  private isOperandNext(): boolean {
    const token = this.tokens[this.at];
    return 'number' in token || token.symbol === '(';
  }

  /** Python names parentheses that do not match before anything else that is wrong. */
  private unexpected(isCommaMissing = false): CalculationError {
    let open = 0;
    for (const token of this.tokens) {
      if ('symbol' in token && token.symbol === '(') open++;
      if ('symbol' in token && token.symbol === ')' && --open < 0) return syntaxError("unmatched ')'");
    }
    const isAtEnd = this.at >= this.tokens.length;
    if (open > 0 && (isAtEnd || isCommaMissing)) return syntaxError("'(' was never closed");
    return syntaxError(isCommaMissing ? 'invalid syntax. Perhaps you forgot a comma?' : undefined);
  }

  private peek(ahead = 0): string | undefined {
    const token = this.tokens[this.at + ahead];
    return token !== undefined && 'symbol' in token ? token.symbol : undefined;
  }
}

function evaluate(program: readonly Step[]): Value {
  const stack: Value[] = [];
  const pop = () => stack.pop() as Value;
  for (const step of program) {
    if ('push' in step) {
      stack.push(step.push);
    } else if (step.operator === 'negate') {
      stack.push(-pop());
    } else if (step.operator.startsWith('call')) {
      const called = stack[stack.length - (step.operator === 'call' ? 1 : 2)];
      throw new CalculationError(`'${typeof called === 'bigint' ? 'int' : 'float'}' object is not callable`);
    } else {
      const right = pop();
      stack.push(operate(step.operator, pop(), right));
    }
  }
  return pop();
}

function operate(symbol: string, a: Value, b: Value): Value {
  if (symbol === '/') return divide(a, b);
  const isWhole = typeof a === 'bigint' && typeof b === 'bigint';
  return isWhole ? operateWhole(symbol, a, b) : operateFloat(symbol, asFloat(a), asFloat(b));
}

function operateWhole(symbol: string, a: bigint, b: bigint): Value {
  if (symbol === '+') return a + b;
  if (symbol === '-') return a - b;
  if (symbol === '*') return bounded(a * b);
  if (symbol === '**') return wholePower(a, b);
  if (b === 0n) throw new CalculationError('integer division or modulo by zero');
  const quotient = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
}

function operateFloat(symbol: string, a: number, b: number): number {
  if (symbol === '+') return a + b;
  if (symbol === '-') return a - b;
  if (symbol === '*') return a * b;
  if (symbol === '**') return floatPower(a, b);
  if (b === 0) throw new CalculationError('float floor division by zero');
  return floorDivision(a, b);
}

/** As CPython's `float_floor_div`: through the remainder (1.0 // 0.1 is 9), a zero with the sign of the quotient. */
function floorDivision(a: number, b: number): number {
  const remainder = a % b;
  const isBeyond = remainder !== 0 && b < 0 !== remainder < 0;
  const quotient = (a - remainder) / b - (isBeyond ? 1 : 0);
  if (quotient === 0) return a / b < 0 || Object.is(a / b, -0) ? -0 : 0;
  const floor = Math.floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

function divide(a: Value, b: Value): number {
  const isWhole = typeof a === 'bigint' && typeof b === 'bigint';
  if (Number(b) === 0) throw new CalculationError(isWhole ? 'division by zero' : 'float division by zero');
  return isWhole ? divideWhole(a, b) : asFloat(a) / asFloat(b);
}

const SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/** The float nearest to the quotient, however large the two are. */
function divideWhole(a: bigint, b: bigint): number {
  const [top, bottom] = [a < 0n ? -a : a, b < 0n ? -b : b];
  if (top <= SAFE && bottom <= SAFE) return Number(a) / Number(b);
  const shift = bitsOf(bottom) - bitsOf(top) + 70;
  const [scaled, divisor] = shift > 0 ? [top << BigInt(shift), bottom] : [top, bottom << BigInt(-shift)];
  // A last bit that is set where something remains makes the rounding right.
  const quotient = (scaled / divisor) | (scaled % divisor === 0n ? 0n : 1n);
  const float = Number(a < 0n === b < 0n ? quotient : -quotient) * 2 ** -shift;
  if (!Number.isFinite(float)) throw new CalculationError('integer division result too large for a float');
  return float;
}

/** Within three. */
function bitsOf(value: bigint): number {
  return value.toString(16).length * 4;
}

function wholePower(base: bigint, exponent: bigint): Value {
  if (exponent < 0n) {
    return base === 0n ? floatPower(0, -1) : divideWhole(1n, wholePower(base, -exponent) as bigint);
  }
  if ((base < -1n || base > 1n) && exponent * BigInt(bitsOf(base)) > MAX_BITS) throw tooLarge();
  return base ** exponent;
}

function floatPower(base: number, exponent: number): number {
  if (base === 0 && exponent < 0) throw new CalculationError('0.0 cannot be raised to a negative power');
  if (base < 0 && !Number.isInteger(exponent)) {
    throw new CalculationError("float() argument must be a string or a real number, not 'complex'");
  }
  const result = base ** exponent;
  if (!Number.isFinite(result)) throw new CalculationError("(34, 'Numerical result out of range')");
  return result;
}

function bounded(value: bigint): bigint {
  if (bitsOf(value) > MAX_BITS) throw tooLarge();
  return value;
}

function asFloat(value: Value): number {
  const float = Number(value);
  if (typeof value === 'bigint' && !Number.isFinite(float)) throw tooLarge();
  return float;
}

function tooLarge(): CalculationError {
  return new CalculationError('int too large to convert to float');
}
