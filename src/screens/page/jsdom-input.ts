// A mouse and a keyboard for pages in jsdom: the events that a browser makes of what its user does, in their order (UI Events, W3C),
// with what follows of themselves: focus, ticking, writing, choosing, sending a form.

import type { JsonObject } from '../../core/canonical-json.js';
import { ActionFailed } from './page-browser.js';
import type { PageElement } from './page-view.js';

type EventOf = new (type: string, init: object) => object;

/** As much of jsdom's objects as is touched here. */
interface InputElement extends PageElement {
  value: string;
  readonly form: InputElement | null;
  /** Of a label: its field. */
  readonly control?: InputElement | null;
  readonly options?: ArrayLike<InputElement & { selected: boolean; textContent: string }>;
  readonly isContentEditable?: boolean;
  readonly tabIndex: number;
  readonly style: { display: string };
  focus(): void;
  blur(): void;
  select?(): void;
  requestSubmit?(): void;
  querySelector(selector: string): InputElement | null;
  dispatchEvent(event: object): boolean;
}

export interface InputWindow {
  readonly document: {
    readonly activeElement: InputElement | null;
    readonly body: InputElement;
    querySelectorAll(selector: string): ArrayLike<InputElement>;
  };
  readonly MouseEvent: EventOf;
  readonly KeyboardEvent: EventOf;
  readonly InputEvent: EventOf;
  readonly Event: EventOf;
}

const FOCUSABLE = 'a[href], button, input, select, textarea, [tabindex], [contenteditable="true"]';
const WRITTEN =
  'textarea, input:not([type=checkbox]):not([type=radio]):not([type=button]):not([type=submit]):not([type=reset])';

export class JsdomInput {
  /** What a field held when it got the keyboard. */
  private held: { readonly field: InputElement; readonly value: string } | undefined;
  private under: InputElement | undefined;
  private readonly deeds: Readonly<Record<string, (target: InputElement, given: JsonObject) => void>> = {
    noop: () => {},
    click: (target) => this.click(target, 1),
    dblclick: (target) => {
      this.click(target, 1);
      this.click(target, 2);
      this.mouse(target, 'dblclick', 2);
    },
    hover: (target) => this.moveTo(target),
    focus: (target) => this.focus(target),
    fill: (target, { value }) => this.write(target, String(value)),
    clear: (target) => this.write(target, ''),
    press: (target, { key_comb: key }) => this.press(target, String(key)),
    select_option: (target, { options }) => this.choose(target, [options].flat().map(String)),
  };

  constructor(private readonly window: InputWindow) {}

  /** @throws ActionFailed for what cannot be done without layout */
  act(name: string, [element]: readonly PageElement[], given: JsonObject): void {
    const deed = this.deeds[name];
    if (deed === undefined) throw new ActionFailed(`${name} needs a browser with layout (browser: chromium)`);
    deed(element as InputElement, given);
  }

  private click(target: InputElement, count: number): void {
    this.moveTo(target);
    if (this.mouse(target, 'mousedown', count)) this.focus(target.closest(FOCUSABLE) as InputElement | null);
    this.mouse(target, 'mouseup', count);
    this.mouse(target, 'click', count);
    // A label hands the keyboard to its field, as it hands it the click.
    const label = target.matches(FOCUSABLE) ? null : (target.closest('label') as InputElement | null);
    if (label?.control?.isConnected) this.focus(label.control);
  }

  private moveTo(target: InputElement): void {
    if (this.under !== target) {
      if (this.under?.isConnected) {
        this.mouse(this.under, 'mouseout', 0);
        this.mouse(this.under, 'mouseleave', 0);
      }
      this.under = target;
      this.mouse(target, 'mouseover', 0);
      this.mouse(target, 'mouseenter', 0);
    }
    this.mouse(target, 'mousemove', 0);
  }

  private mouse(target: InputElement, type: string, detail: number): boolean {
    const bubbles = type !== 'mouseenter' && type !== 'mouseleave';
    const told = { bubbles, cancelable: bubbles, composed: true, detail, button: 0, buttons: +(type === 'mousedown') };
    const event = new this.window.MouseEvent(type, told);
    return target.dispatchEvent(event);
  }

  /** Null: nothing has the keyboard. A field that was written in reports a change when it loses it. */
  private focus(target: InputElement | null): void {
    const { activeElement: active, body } = this.window.document;
    if (active === target) return;
    this.settleField();
    if (target === null) {
      if (active !== body) active?.blur();
      return;
    }
    target.focus();
    if (target.matches(WRITTEN)) this.held = { field: target, value: target.value };
  }

  private settleField(): void {
    const { held } = this;
    this.held = undefined;
    if (held?.field.isConnected && held.field.value !== held.value) this.tell(held.field, 'change');
  }

  private write(target: InputElement, value: string): void {
    this.focus(target);
    target.value = value;
    this.tell(target, 'input');
    // Fields without a caret have their value at once.
    if (/^(color|date|time|month|week|range|datetime-local)$/.test(target.type ?? '')) this.tell(target, 'change');
  }

  /** Without the keyboard, as playwright chooses. */
  private choose(target: InputElement, wanted: readonly string[]): void {
    for (const option of Array.from(target.options ?? [])) {
      const isWanted = wanted.includes(option.textContent.replace(/\s+/g, ' ').trim());
      if (isWanted || target.multiple) option.selected = isWanted;
    }
    this.tell(target, 'input');
    this.tell(target, 'change');
  }

  private press(target: InputElement, key: string): void {
    const keyCode = KEY_CODES[key] ?? (key.length === 1 ? key.toUpperCase().charCodeAt(0) : undefined);
    if (keyCode === undefined) throw new ActionFailed(`no key is called "${key}" here; there are: ${KEYS.join(', ')}`);
    this.focus(target);
    const send = (type: string, code: number) => {
      const init = { key, keyCode: code, which: code, charCode: type === 'keypress' ? code : 0 };
      return target.dispatchEvent(
        new this.window.KeyboardEvent(type, { bubbles: true, cancelable: true, composed: true, ...init }),
      );
    };
    const goesOn =
      send('keydown', keyCode) && (!isTyped(key) || send('keypress', key === 'Enter' ? 13 : key.charCodeAt(0)));
    if (goesOn) this.followKey(target, key);
    send('keyup', keyCode);
  }

  /** What a key does by itself. */
  private followKey(target: InputElement, key: string): void {
    const isField = target.matches(WRITTEN) && !target.readOnly;
    if (key === 'Tab') this.focus(this.afterInOrder(target));
    else if (key === 'Enter') this.enter(target);
    else if (key === ' ' && target.matches('button, input')) {
      if (isField) this.type(target, `${target.value} `);
      else this.mouse(target, 'click', 0);
    } else if (isField && key === 'Backspace') this.type(target, target.value.slice(0, -1));
    else if (isField && key.length === 1) this.type(target, `${target.value}${key}`);
  }

  private enter(target: InputElement): void {
    if (target.tagName === 'TEXTAREA') this.type(target, `${target.value}\n`);
    else if (target.matches('button, a[href], input[type=button], input[type=submit]')) this.mouse(target, 'click', 0);
    else if (target.form !== null && target.tagName === 'INPUT') {
      this.settleField();
      const button = target.form.querySelector('button:not([type=button]):not([type=reset]), input[type=submit]');
      if (button === null) target.form.requestSubmit?.();
      else this.mouse(button, 'click', 0);
    }
  }

  private type(target: InputElement, value: string): void {
    target.value = value;
    this.tell(target, 'input');
  }

  private afterInOrder(target: InputElement): InputElement | null {
    const all = Array.from(this.window.document.querySelectorAll(FOCUSABLE)).filter(({ tabIndex }) => tabIndex >= 0);
    return all[all.indexOf(target) + 1] ?? null;
  }

  private tell(target: InputElement, type: 'input' | 'change'): void {
    const EventType = type === 'input' && target.matches(WRITTEN) ? this.window.InputEvent : this.window.Event;
    target.dispatchEvent(new EventType(type, { bubbles: true, composed: type === 'input' }));
  }
}

const KEY_CODES: Readonly<Record<string, number>> = {
  ArrowDown: 40,
  ArrowLeft: 37,
  ArrowRight: 39,
  ArrowUp: 38,
  Backspace: 8,
  Delete: 46,
  End: 35,
  Enter: 13,
  Escape: 27,
  Home: 36,
  PageDown: 34,
  PageUp: 33,
  Tab: 9,
};

const KEYS = ['a character', ...Object.keys(KEY_CODES)];

function isTyped(key: string): boolean {
  return key.length === 1 || key === 'Enter';
}
