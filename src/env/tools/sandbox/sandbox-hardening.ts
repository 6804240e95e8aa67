// What the program of the sandbox takes from the language before rules run: whatever is not pure, whatever could be changed for
// the next call, and native loops that nothing interrupts. It is text, evaluated within that program.

/** Elements, and characters compared at worst, that native code goes through in a moment. */
const LONGEST_LIST = 1_000_000;
const LONGEST_SEARCH = 1e9;

const LIST_LOOPS = [
  'concat copyWithin every fill filter find findIndex findLast findLastIndex flatMap forEach includes indexOf join',
  'lastIndexOf map reduce reduceRight reverse shift slice some sort splice toLocaleString toReversed toSorted toSpliced',
  'unshift with',
]
  .join(' ')
  .split(' ');

const TEXT_SEARCHES = ['includes', 'indexOf', 'lastIndexOf', 'replace', 'replaceAll', 'split'];

const KEPT_GLOBALS = [
  'globalThis Infinity NaN undefined parseInt parseFloat isNaN isFinite encodeURIComponent decodeURIComponent',
  'encodeURI decodeURI Object Array String Number Boolean Symbol Math JSON RegExp Reflect Map Set WeakMap WeakSet',
  'Error EvalError RangeError ReferenceError SyntaxError TypeError URIError AggregateError InternalError',
]
  .join(' ')
  .split(' ');

/** Functions of `SANDBOX_PROGRAM`, which uses its names `freeze`, `isFrozen`, `ownKeys`, `doubts` and the like. */
export const HARDENING = `
  function removeGlobals() {
    const kept = new Set(${JSON.stringify(KEPT_GLOBALS)});
    for (const name of Object.getOwnPropertyNames(globalThis)) if (!kept.has(name)) delete globalThis[name];
    const none = () => {
      throw new TypeError('rules are pure: there is no Math.random');
    };
    Math.random = none;
    const noCode = function () {
      throw new TypeError('rules cannot make code from text');
    };
    for (const made of [function () {}, function* () {}, async function () {}, async function* () {}]) {
      Object.defineProperty(getPrototypeOf(made), 'constructor', { value: noCode });
    }
  }

  /** A frozen prototype would keep objects from having keys of the same name; these let them, and stay as they are. */
  function allowOverriding(prototype) {
    for (const key of ownKeys(prototype)) {
      const { value, writable } = getOwnPropertyDescriptor(prototype, key);
      if (!writable) continue;
      Object.defineProperty(prototype, key, {
        get: () => value,
        set(other) {
          if (this === prototype) throw new TypeError('"' + String(key) + '" is read-only');
          Object.defineProperty(this, key, { value: other, writable: true, enumerable: true, configurable: true });
        },
      });
    }
  }

  /** Native loops are not interrupted, so how long they are is looked at first. */
  function guardNativeLoops() {
    const { apply } = Reflect;
    const doubt = () => {
      doubts = true;
      throw new RangeError('it would take too long');
    };
    const guard = (prototype, name, isLong) => {
      const native = prototype[name];
      const guarded = { [name](...args) {
        if (isLong(this, args)) doubt();
        return apply(native, this, args);
      } }[name];
      Object.defineProperty(guarded, 'length', { value: native.length });
      Object.defineProperty(prototype, name, { value: guarded, writable: true, configurable: true });
    };
    const isLongList = (list) => list !== null && list !== undefined && list.length > ${LONGEST_LIST};
    for (const name of ${JSON.stringify(LIST_LOOPS)}) if (name in Array.prototype) guard(Array.prototype, name, isLongList);
    guard(Array, 'from', (_, [list]) => isLongList(list));
    const isLongSearch = (text, [what]) => typeof what === 'string' && text.length * what.length > ${LONGEST_SEARCH};
    for (const name of ${JSON.stringify(TEXT_SEARCHES)}) guard(String.prototype, name, isLongSearch);
    // Lists within lists may be few and still be gone through for ever.
    const flat = { flat(depth = 1) {
      const found = [];
      for (const part of this) {
        if (Array.isArray(part) && depth >= 1) for (const inner of part.flat(depth - 1)) found.push(inner);
        else found.push(part);
      }
      return found;
    } }.flat;
    Object.defineProperty(Array.prototype, 'flat', { value: flat, writable: true, configurable: true });
  }

  function harden(root) {
    const seen = new Set();
    const left = [root];
    while (left.length > 0) {
      const value = left.pop();
      if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) continue;
      seen.add(value);
      try {
        freeze(value);
      } catch (error) {
        // A realm of V8 keeps its global object open; rules there do not get to see it.
        if (value !== globalThis) throw error;
      }
      left.push(getPrototypeOf(value));
      for (const key of ownKeys(value)) {
        const { value: inner, get, set } = getOwnPropertyDescriptor(value, key);
        left.push(inner, get, set);
      }
    }
  }
`;
