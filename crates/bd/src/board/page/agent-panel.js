// The panel of an agent, in the rail of *Now*: what it holds, its mail, its files, a message, take back.

import { exported, read } from './api.js';
import { draftOf, keepDraft, message, takeBack } from './actions.js';
import { beads, lastSync } from './beads.js';
import { h, icon } from './dom.js';
import { button, head, idLink, timeOf } from './parts.js';
import { SHOWN_WORDS, closedByAgent, shownState } from './strips.js';
import { clock, duration, fullTime, toMs } from './words.js';

/** @type {Map<string, { at: number, contents: any }>} */
const mailboxes = new Map();

/** The most messages that the panel lists, and that the server sends. */
const MOST_MAIL = 20;
const SENT_MAIL = 50;

/** Reads the mailbox of an agent, at most every few seconds. @param {string} actor */
function mailboxOf(actor) {
  const known = mailboxes.get(actor);
  if (!exported && (!known || Date.now() - known.at > 5_000)) {
    mailboxes.set(actor, { at: Date.now(), contents: known?.contents ?? null });
    void read(`mail/${encodeURIComponent(actor)}`).then((contents) => {
      mailboxes.set(actor, { at: Date.now(), contents });
      beads.touch();
    }, () => {});
  }
  return mailboxes.get(actor)?.contents ?? { messages: [], reserved: [] };
}

/** @param {import('./beads.js').Agent} agent */
function sentence(agent) {
  const now = beads.now();
  const wrote = duration(now - toMs(agent.last_write));
  const seen = duration(now - toMs(agent.last_seen));
  switch (shownState(agent)) {
    case 'gone': return h('p', {}, 'Gave its last sign of life ', h('b', {}, `${seen} ago`), '.');
    case 'slow': return h('p', {}, 'Answers, but has written nothing for ', h('b', {}, wrote), '.');
    case 'unknown': return h('p', {}, 'Not heard of since ', h('b', {}, clock(lastSync(), now)), ', the last sync.');
    case 'idle': return h('p', {}, 'Holds nothing.');
    case 'quiet': return h('p', {}, 'Not heard from for ', h('b', {}, seen), '.');
    default: return h('p', {}, 'Working: last wrote ', h('b', {}, `${wrote} ago`), '.');
  }
}

/** @param {string} actor */
const draftKey = (actor) => `message ${actor}`;

/** @param {number[]} values */
export function median(values) {
  if (!values.length) return 0;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

/** @param {string} actor @returns {Node[]} */
export function agentPanel(actor) {
  const agent = beads.pulse?.agents.find((one) => one.actor === actor);
  const close = h('a.more', { href: '#/now' }, 'close ', h('kbd', {}, 'esc'));
  if (!agent) return [h('section.sec', { 'data-key': 'agent' }, h('header', {}, h('h2', {}, actor), close), h('p', {}, 'Not heard from in the last 36 hours.'))];
  const [glyph, style] = SHOWN_WORDS[shownState(agent)];
  const held = agent.holds.filter((one) => !one.offered);
  const bead = held[0] ? beads.get(held[0].id) : undefined;
  const closed = (closedByAgent().get(actor) ?? []).filter((one) => (one.closed ?? 0) >= beads.left);
  const took = median(closed.filter((one) => one.claimed).map((one) => (one.closed ?? 0) - (one.claimed ?? 0)));
  /** @param {string} term @param {...import('./dom.js').Child} value */
  const fact = (term, ...value) => [h('dt', {}, term), h('dd', {}, ...value)];
  const facts = h('dl.facts', {},
    held.length ? fact('Holds', ...held.flatMap((one) => [idLink(one.id), ` ${one.title}, for ${duration(beads.now() - toMs(one.since))} `])) : [],
    agent.last_seen ? fact('Last sign', `${duration(beads.now() - toMs(agent.last_seen))} ago`) : [],
    agent.last_write ? fact('Last write', h('time', { title: fullTime(toMs(agent.last_write)) }, clock(toMs(agent.last_write), beads.now()))) : [],
    held[0]?.expires ? fact('Lease', `until ${clock(toMs(held[0].expires), beads.now())}`) : [],
    fact('Since you left', `${closed.length} closed${took ? `, median ${duration(took)}` : ''}`),
    agent.sessions.length ? fact('Session', `last call ${duration(beads.now() - toMs(agent.sessions[0].last_seen))} ago${agent.sessions[0].gone ? ', ended' : ''}`) : []);
  const sections = [h('section.sec', { 'data-key': `agent-${actor}` },
    h('header', {}, h('h2.mid', {}, h('span.mid', { class: style }, icon(glyph)), actor), close), sentence(agent), facts)];
  if (bead && !beads.about.read_only) {
    sections.push(h('section.sec', { 'data-key': `message-${actor}` }, head('Message', undefined, `about ${bead.id}`),
      h('form.edit', { 'data-key': 'form', 'data-actor': actor, 'data-bead': bead.id },
        // Only the text is kept: the buttons act on the bead that is shown.
        h('div', { 'data-key': 'text', 'data-keep': '' }, h('textarea', { 'aria-label': `Message to ${actor}`, placeholder: 'What should the agent know?', 'data-draft': draftKey(actor) }, draftOf(draftKey(actor)))),
        h('div.bott', {}, h('button.btn.go', { type: 'button', 'data-do': 'send' }, 'Send', h('kbd', {}, '⌘↵')), button('Take back', 'take-back', { bead: bead.id })))));
  }
  const mail = mailboxOf(actor);
  const unread = mail.messages.filter((/** @type {any} */ one) => one.state === 'unread').length;
  if (mail.messages.length) {
    sections.push(h('section.sec', { 'data-key': 'mail' }, head('Mail', unread ? `${unread} unread` : mail.messages.length < SENT_MAIL ? mail.messages.length : undefined),
      h('ul.notes', {}, mail.messages.slice(0, MOST_MAIL).map((/** @type {any} */ one) => h('li', { 'data-key': one.message_id },
        timeOf(toMs(one.created_at)), h('div', {}, h('p.by', {}, one.from_agent, h('span.id', {}, one.bead_id), one.state === 'unread' && h('span.act', {}, 'unread')),
          h('p', {}, `${one.category}: ${one.subject}`))))), mail.messages.length > MOST_MAIL ? h('p.small.dim', {}, mail.messages.length < SENT_MAIL ? `Showing ${MOST_MAIL} of ${mail.messages.length}` : `The latest ${MOST_MAIL}. bb agent inbox lists all.`) : null));
  }
  if (mail.reserved.length) {
    sections.push(h('section.sec', { 'data-key': 'files' }, head('Files', `${mail.reserved.length} reserved`),
      h('ul.res', {}, mail.reserved.map((/** @type {any} */ one) => h('li', { 'data-key': one.reservation_id }, h('span.mono', {}, one.scope), h('span.small.faint', {}, `until ${clock(toMs(one.expires_at), beads.now())}`))))));
  }
  const notes = (beads.pulse?.feed.events ?? []).filter((event) => event.by === actor && event.type === 'note');
  if (notes.length) {
    sections.push(h('section.sec', { 'data-key': 'notes' }, head('Its notes', notes.length),
      h('ul.notes', {}, [...notes].reverse().map((event) => h('li', { 'data-key': event.at }, timeOf(toMs(event.at)), h('div', {}, h('p.by', {}, idLink(event.id ?? '')), h('p.clip', {}, event.text ?? '')))))));
  }
  return sections;
}

/**
 * Handles the buttons of the panel. Returns whether it was one.
 * @param {string} action
 * @param {DOMStringMap} data
 * @param {HTMLElement} element
 */
export function actOnAgent(action, data, element) {
  if (action === 'take-back' && data.bead) void takeBack(data.bead);
  else if (action === 'send') {
    const form = /** @type {HTMLElement} */ (element.closest('form'));
    const field = /** @type {HTMLTextAreaElement} */ (form.querySelector('textarea'));
    const text = field.value.trim();
    const actor = form.dataset.actor ?? '';
    const wasSent = () => {
      if (field.value.trim() !== text) return;
      field.value = '';
      keepDraft(draftKey(actor), '');
    };
    if (text) void message(actor, form.dataset.bead ?? '', text, wasSent);
  } else return false;
  return true;
}
