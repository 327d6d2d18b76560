// Markdown as elements: no raw HTML, no images, and links only to http, https, mailto and beads.

import { h } from './dom.js';

/**
 * Renders Markdown.
 * @param {string} text
 * @returns {HTMLElement}
 */
export function markdown(text) {
  const out = h('div.read');
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    const fence = /^\s*(```+|~~~+)/.exec(line);
    if (fence) {
      const end = lines.findIndex((other, index) => index > at && other.trim().startsWith(fence[1]));
      const last = end < 0 ? lines.length : end;
      out.append(h('pre', { tabindex: 0 }, h('code', {}, lines.slice(at + 1, last).join('\n'))));
      at = last + 1;
      continue;
    }
    const heading = /^(#{1,6})\s+(.*)$/.exec(line);
    if (heading) {
      out.append(h('p.heading', { role: 'heading', 'aria-level': Math.min(6, heading[1].length + 2) }, inline(heading[2])));
      at++;
      continue;
    }
    const item = LIST_ITEM.exec(line);
    if (item) {
      const list = h(/\d/.test(item[2]) ? 'ol' : 'ul');
      for (; at < lines.length && LIST_ITEM.test(lines[at]); at++) {
        const match = /** @type {RegExpExecArray} */ (LIST_ITEM.exec(lines[at]));
        const task = /^\[([ xX])\]\s+(.*)$/.exec(match[3]);
        list.append(h('li', {}, task ? (task[1] === ' ' ? '☐ ' : '☑ ') : null, inline(task ? task[2] : match[3])));
      }
      out.append(list);
      continue;
    }
    if (/^\s*>/.test(line)) {
      const from = at;
      while (at < lines.length && /^\s*>/.test(lines[at])) at++;
      out.append(h('blockquote', {}, inline(lines.slice(from, at).map((one) => one.replace(/^\s*>\s?/, '')).join('\n'))));
      continue;
    }
    if (/^\s*$/.test(line)) {
      at++;
      continue;
    }
    const from = at++;
    while (at < lines.length && !/^\s*$/.test(lines[at]) && !/^(#{1,6}\s|\s*(```|~~~|>))/.test(lines[at]) && !LIST_ITEM.test(lines[at])) at++;
    out.append(h('p', {}, inline(lines.slice(from, at).join('\n'))));
  }
  return out;
}

const LIST_ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;

const INLINE = /(`+)([\s\S]*?[^`])\1(?!`)|!?\[([^\]]*)\]\(([^()\s]*)(?:\s+"[^"]*")?\)|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|(\bhttps?:\/\/[^\s<>()]+[^\s<>().,;:!?'"])/;

/**
 * Renders the inside of a paragraph.
 * @param {string} text
 * @param {number} [depth]
 * @returns {(Node | string)[]}
 */
function inline(text, depth = 0) {
  /** @type {(Node | string)[]} */
  const out = [];
  let rest = text;
  for (let match = INLINE.exec(rest); match && depth < 5; match = INLINE.exec(rest)) {
    if (match.index) out.push(rest.slice(0, match.index));
    const [whole, , code, label, target, bold, emphasis, address] = match;
    if (code !== undefined) out.push(h('code', {}, code.trim()));
    else if (label !== undefined) out.push(link(label || target, target));
    else if (bold !== undefined) out.push(h('strong', {}, inline(bold, depth + 1)));
    else if (emphasis !== undefined) out.push(h('em', {}, inline(emphasis, depth + 1)));
    else out.push(link(address, address));
    rest = rest.slice(match.index + whole.length);
  }
  if (rest) out.push(rest);
  return out;
}

/**
 * Returns a link, or its text if its target is not allowed. An image becomes a link: nothing is loaded.
 * @param {string} label
 * @param {string} target
 */
function link(label, target) {
  if (!/^(https?:\/\/|mailto:|#\/)/i.test(target)) return label;
  return h('a.act', { href: target, rel: 'noopener noreferrer', target: target.startsWith('#') ? null : '_blank' }, label);
}
