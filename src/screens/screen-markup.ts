// A screen as HTML, for whoever writes pages as code (gWorld, Code2World): what is drawn of it is the same screen. Elements carry their ids
// as `data-bid`, so that a page that was written anew says which of its elements were there before.

import type { ScreenElement, ScreenView } from '../env/screens/screen-state.js';
import { BID, FOCUSED } from './page/still-page.js';

/** The whole page, indented by nothing, as models pay for spaces. */
export function screenMarkup(view: ScreenView): string {
  const { name, children } = view.elements[view.root];
  const body = new Markup(view).contentOf(children);
  return `<!DOCTYPE html><html><head><title>${escaped(name)}</title></head><body>${body}</body></html>`;
}

/** Roles that a tag has by itself. What may not stand within one another as tags is written by `role` alone. */
const TAGS: Readonly<Record<string, string>> = {
  button: 'button',
  generic: 'div',
  heading: 'h2',
  image: 'img',
  LabelText: 'label',
  link: 'a',
  list: 'ul',
  listitem: 'li',
  SvgRoot: 'svg',
};
/** Of fields with a value that is not written over lines. */
const INPUTS: Readonly<Record<string, string>> = {
  checkbox: 'checkbox',
  radio: 'radio',
  textbox: 'text',
  searchbox: 'search',
  spinbutton: 'number',
  slider: 'range',
  ColorWell: 'color',
  Date: 'date',
  InputTime: 'time',
};
/** May hold no other of their like. */
const LONELY = new Set(['button', 'a', 'label']);
const NAMED_BY_CONTENT = new Set(['button', 'link', 'heading', 'option', 'listitem', 'LabelText', 'generic']);

type Attributes = Record<string, string | boolean | undefined>;

class Markup {
  private readonly within: string[] = [];

  constructor(private readonly view: ScreenView) {}

  contentOf(ids: readonly string[]): string {
    const { elements } = this.view;
    const isText = (id: string | undefined) => id !== undefined && elements[id].role === 'StaticText';
    // A text that is all there is would be its parent's name, and two in a row would be one.
    const isTextAlone = ids.every(isText);
    return ids
      .map((id, i) => {
        if (!isText(id)) return this.elementOf(id);
        return `${escaped(elements[id].name)}${isTextAlone || isText(ids[i + 1]) ? '<br>' : ' '}`;
      })
      .join('');
  }

  private elementOf(id: string): string {
    const element = this.view.elements[id];
    const tag = this.tagOf(element);
    const attributes = { [BID]: id, ...(id === this.view.focused && { [FOCUSED]: true }), ...this.said(element, tag) };
    const open = `<${tag}${Object.entries(attributes).map(attributeText).join('')}>`;
    if (tag === 'img' || tag === 'input') return open;
    this.within.push(tag);
    const content = tag === 'textarea' ? `\n${escaped(String(element.value))}` : this.inner(element, tag);
    this.within.pop();
    return `${open}${content}</${tag}>`;
  }

  private inner({ name, children }: ScreenElement, tag: string): string {
    if (children.length > 0) return this.contentOf(children);
    return tag === 'select' || tag === 'svg' || this.within.includes('svg') ? '' : escaped(name);
  }

  private tagOf({ role, name, value, checked, multiline, children }: ScreenElement): string {
    if (role === 'graphics-symbol' && this.within.includes('svg')) return name;
    if (role === 'textbox' && value !== undefined && multiline === true) return 'textarea';
    const isTicked = role === 'checkbox' || role === 'radio';
    if (INPUTS[role] !== undefined && children.length === 0 && (isTicked ? checked : value) !== undefined)
      return 'input';
    if ((role === 'combobox' || role === 'listbox') && value !== undefined) return 'select';
    if (this.within.includes('select')) return { option: 'option', group: 'optgroup' }[role] ?? 'option';
    const tag = TAGS[role] ?? 'div';
    return LONELY.has(tag) && this.within.includes(tag) ? 'div' : tag;
  }

  /** What the element is, where its tag does not say it. */
  private said(element: ScreenElement, tag: string): Attributes {
    const { role, name, classes, color, disabled, readonly } = element;
    const isField = ['input', 'select', 'textarea', 'option', 'optgroup'].includes(tag);
    const isOwn = isField || TAGS[role] === tag || (role === 'graphics-symbol' && tag === name);
    const takesDisabled = isField || tag === 'button';
    return {
      role: isOwn ? undefined : role,
      class: classes as string | undefined,
      fill: color as string | undefined,
      'aria-label': this.isNamed(element, tag) ? name : undefined,
      href: tag === 'a' ? '#' : undefined,
      disabled: takesDisabled && disabled === true,
      'aria-disabled': !takesDisabled && disabled === true ? 'true' : undefined,
      readonly: readonly === true,
      ...(isField ? fieldAttributes(element, tag) : stateAttributes(element)),
    };
  }

  /** Whether the name must be told: it is not what the element holds. */
  private isNamed({ role, name, children }: ScreenElement, tag: string): boolean {
    if (name === '' || role === 'graphics-symbol') return false;
    if (['input', 'select', 'textarea', 'optgroup', 'img', 'svg'].includes(tag)) return true;
    return children.length > 0 || (tag !== 'div' && !NAMED_BY_CONTENT.has(role));
  }
}

function fieldAttributes(element: ScreenElement, tag: string): Attributes {
  const { role, value, checked, selected, expanded, multiselectable } = element;
  const isTicked = role === 'checkbox' || role === 'radio';
  return {
    type: tag === 'input' ? INPUTS[role] : undefined,
    value: tag === 'input' && !isTicked ? String(value) : undefined,
    checked: tag === 'input' && isTicked && checked === true,
    selected: tag === 'option' && selected === true,
    multiple: tag === 'select' && multiselectable === true,
    size: tag === 'select' && role === 'listbox' ? '4' : undefined,
    'aria-expanded': expanded === undefined ? undefined : String(expanded),
  };
}

function stateAttributes({ checked, selected, expanded }: ScreenElement): Attributes {
  const told = Object.entries({ checked, selected, expanded }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(told.map(([key, value]) => [`aria-${key}`, String(value)]));
}

function attributeText([name, value]: [string, string | boolean | undefined]): string {
  if (value === undefined || value === false) return '';
  return value === true ? ` ${name}` : ` ${name}="${escaped(value)}"`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
