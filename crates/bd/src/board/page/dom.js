// Elements from functions, and a patch that keeps focus, selection and scroll positions.

const SVG = 'http://www.w3.org/2000/svg';

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Creates an element. Text children become text, never markup.
 * @param {string} tag a tag with optional classes: `a.btn.go`
 * @param {Record<string, string | number | boolean | null | undefined>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  return /** @type {HTMLElement} */ (build(document.createElement(tag.split('.')[0] || 'div'), tag, attributes, children));
}

/**
 * Creates an SVG element.
 * @param {string} tag
 * @param {Record<string, string | number | boolean | null | undefined>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
export function s(tag, attributes = {}, ...children) {
  return /** @type {SVGElement} */ (build(document.createElementNS(SVG, tag.split('.')[0]), tag, attributes, children));
}

/**
 * @param {Element} element
 * @param {string} tag
 * @param {Record<string, string | number | boolean | null | undefined>} attributes
 * @param {(Child | Child[])[]} children
 */
function build(element, tag, attributes, children) {
  const classes = tag.split('.').slice(1).join(' ');
  if (classes) element.setAttribute('class', classes);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'class' && classes) element.setAttribute('class', `${classes} ${value}`.trim());
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  if (attributes['data-do'] && !attributes['data-key']) element.setAttribute('data-key', actionKey(attributes));
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false || child === '') continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** Another action is another element: a button never becomes one that does something else. @param {Record<string, unknown>} attributes */
function actionKey(attributes) {
  const named = Object.entries(attributes).filter(([name, value]) => name.startsWith('data-') && value !== null && value !== undefined);
  return named.map(([name, value]) => `${name.slice(5)}=${value}`).join(' ');
}

/**
 * Returns an icon of the sprite in the page.
 * @param {string} name
 * @param {string} [label] what it means, for readers that do not see it
 */
export function icon(name, label) {
  const drawing = ICONS[name] ?? ICONS.dot;
  const shapes = drawing.map(([tag, attributes]) => s(tag, attributes));
  return s('svg.ic', { viewBox: '0 0 12 12', width: 12, height: 12, ...(label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': 'true' }) }, shapes);
}

/** @type {Record<string, [string, Record<string, string | number>][]>} */
const ICONS = {
  ready: [['circle', { cx: 6, cy: 6, r: 4.5 }]],
  held: [['circle', { cx: 6, cy: 6, r: 4.5 }], ['path', { class: 'f', d: 'M6 1.5a4.5 4.5 0 0 1 0 9z' }]],
  blocked: [['circle', { cx: 6, cy: 6, r: 4.5 }], ['path', { d: 'M3.6 6h4.8' }]],
  closed: [['circle', { class: 'f', cx: 6, cy: 6, r: 5.2 }], ['path', { class: 'k', d: 'M3.7 6.2l1.6 1.6 3-3.4' }]],
  deferred: [['circle', { cx: 6, cy: 6, r: 4.5, 'stroke-dasharray': '1.5 2' }]],
  person: [['circle', { cx: 6, cy: 3.6, r: 2.1 }], ['path', { d: 'M2 11c.3-2.6 1.9-4 4-4s3.700 1.400 4 4' }]],
  slow: [['path', { d: 'M6 1.500l5 9H1z' }], ['path', { d: 'M6 5v2.600M6 8.700v.700' }]],
  gone: [['path', { 'stroke-width': 2, d: 'M2.500 2.500l7 7M9.500 2.500l-7 7' }]],
  cycle: [['path', { d: 'M10 4.200A4.500 4.500 0 1 0 10.500 6' }], ['path', { class: 'f', d: 'M11.500 1.500v4h-4z' }]],
  conflict: [['path', { d: 'M1.500 4h8M7.500 2l2 2-2 2M10.500 8.500h-8M4.500 6.500l-2 2 2 2' }]],
  sync: [['path', { 'stroke-width': 1.3, d: 'M3 10V3M1.500 4.500L3 3l1.500 1.500M9 2v7M7.500 7.500L9 9l1.500-1.500M1 11L11 1' }]],
  clock: [['circle', { cx: 6, cy: 6, r: 4.500 }], ['path', { d: 'M6 3.300V6l1.800 1.200' }]],
  find: [['circle', { cx: 5, cy: 5, r: 3.500 }], ['path', { d: 'M7.700 7.700L11 11' }]],
  note: [['path', { d: 'M1.500 2h9v6h-5l-2.500 2.500V8h-1.500z' }]],
  edit: [['path', { d: 'M2 10l.500-2.500 6-6 2 2-6 6z' }]],
  mail: [['path', { d: 'M1.500 2.500h9v7h-9zM1.500 3l4.500 3.500L10.500 3' }]],
  lock: [['path', { d: 'M2.500 5.500h7v5h-7zM4 5.500V4a2 2 0 0 1 4 0v1.500' }]],
  plus: [['path', { d: 'M6 2v8M2 6h8' }]],
  arrow: [['path', { d: 'M2 6h7M6.500 3.500L9 6l-2.500 2.500' }]],
  idle: [['circle', { cx: 6, cy: 6, r: 2 }]],
  unknown: [['circle', { cx: 6, cy: 6, r: 4.500, 'stroke-dasharray': '1 2' }], ['circle', { class: 'f', cx: 6, cy: 6, r: 1.200 }]],
  damage: [['path', { d: 'M6 1.500v6M6 9.500v1' }]],
  dot: [['circle', { class: 'f', cx: 6, cy: 6, r: 1.500 }]],
};

/**
 * Turns `target` into `wanted`, changing as little as possible. Children with `data-key` keep their element.
 * A field that has the focus keeps what was typed.
 * @param {Element} target
 * @param {Element} wanted
 */
export function patch(target, wanted) {
  const signature = signatures.get(wanted);
  if (signature === undefined) signatures.delete(target);
  else {
    signatures.set(target, signature);
    shownAs.set(wanted, target);
  }
  for (const { name } of [...target.attributes]) {
    if (!wanted.hasAttribute(name) && !isOwn(name)) target.removeAttribute(name);
  }
  for (const { name, value } of [...wanted.attributes]) {
    if (target.getAttribute(name) !== value) target.setAttribute(name, value);
  }
  if (target.hasAttribute('data-keep')) return;
  /** @type {Map<string, Element>} */
  const keyed = new Map();
  for (const child of target.children) {
    const key = child.getAttribute('data-key');
    if (key) keyed.set(key, child);
  }
  /** @type {ChildNode | null} */
  let at = target.firstChild;
  for (const next of [...wanted.childNodes]) {
    const key = next instanceof Element ? next.getAttribute('data-key') : null;
    const known = key ? keyed.get(key) : undefined;
    const kept = next instanceof Element ? standIns.get(next) : undefined;
    if (kept) {
      if (key) keyed.delete(key);
      if (kept === at) at = at.nextSibling;
      else target.insertBefore(kept, at);
    } else if (known && known.tagName === /** @type {Element} */ (next).tagName) {
      keyed.delete(/** @type {string} */ (key));
      if (known === at) at = at.nextSibling;
      else target.insertBefore(known, at);
      patch(known, /** @type {Element} */ (next));
    } else if (at && !key && isSame(at, next)) {
      const current = at;
      at = at.nextSibling;
      if (current instanceof Element) patch(current, /** @type {Element} */ (next));
      else if (current.nodeValue !== next.nodeValue) current.nodeValue = next.nodeValue;
    } else {
      if (next instanceof Element) putBack(next);
      target.insertBefore(next, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/** @type {WeakMap<Element, string>} what a part was made from */
const signatures = new WeakMap();
/** @type {WeakMap<Element, Element>} the element in the page that took over what was made */
const shownAs = new WeakMap();
/** @type {WeakMap<Element, Element>} the elements that stand for a part that stays as it is */
const standIns = new WeakMap();

/** The parts of a view that are built again only if what they show has changed. */
export class Parts {
  constructor() {
    /** @type {Map<string, Element>} */
    this.made = new Map();
    /** @type {Map<string, Element>} */
    this.used = new Map();
  }

  /**
   * Returns a part, or an empty element that stands for it if the page shows the same already.
   * @template {Element} T
   * @param {string} key
   * @param {string} signature everything that the part shows
   * @param {() => T} build
   * @returns {T}
   */
  get(key, signature, build) {
    const before = this.made.get(key);
    const shown = before && (shownAs.get(before) ?? before);
    if (before && shown?.isConnected && signatures.get(shown) === signature) {
      this.used.set(key, before);
      const standIn = /** @type {T} */ (shown.cloneNode(false));
      standIn.setAttribute('data-same', '');
      standIns.set(standIn, shown);
      return standIn;
    }
    const made = build();
    signatures.set(made, signature);
    this.used.set(key, made);
    return made;
  }

  /** Forgets the parts that were not used since the last call. */
  swap() {
    this.made = this.used;
    this.used = new Map();
  }
}

/** Puts the parts that stay as they are into a new element. @param {Element} made */
function putBack(made) {
  for (const standIn of made.querySelectorAll('[data-same]')) {
    const shown = standIns.get(standIn);
    if (shown) standIn.replaceWith(shown);
  }
}

/** @param {string} name attributes that the page itself sets on elements */
function isOwn(name) {
  return name === 'open' || name === 'data-glow';
}

/**
 * @param {Node} a
 * @param {Node} b
 */
function isSame(a, b) {
  if (a.nodeType !== b.nodeType || a.nodeName !== b.nodeName) return false;
  return !(a instanceof Element) || (!a.hasAttribute('data-key') && a.className.toString() === /** @type {Element} */ (b).className.toString());
}
