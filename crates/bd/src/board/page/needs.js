// *Needs you*: one list of everything that no agent continues by itself, each with its action.

import { answer, askDue, askMessage, claim, close, cut, draftOf, fieldName, free, handled, keepDraft, MOST_HANDLED, resolve, setPriority, snooze, snoozed, syncNow, takeBack, undo } from './actions.js';
import { beads } from './beads.js';
import { h, icon } from './dom.js';
import { firstOf } from './filter.js';
import { actorName, button, cutLine, empty, head, idLink, timeOf } from './parts.js';
import { shownState } from './strips.js';
import { toast } from './toast.js';
import { View } from './view.js';
import { capital, clock, counted, duration, number, ordinal, toMs, wordDifference } from './words.js';

/**
 * @typedef {object} Need
 * @property {string} key
 * @property {string} kind
 * @property {string} kindWord
 * @property {string} icon
 * @property {string} style
 * @property {number} rank
 * @property {string} title
 * @property {import('./dom.js').Child[]} text
 * @property {string} short
 * @property {Node[]} actions
 * @property {Node[]} shortActions
 * @property {string} [bead]
 * @property {string} [actor]
 * @property {number} behind
 * @property {number} [since]
 * @property {string} cost
 * @property {any} [question]
 * @property {string} [how] how a person ends it outside the board
 */

/** What makes things come here, in words. They are the thresholds of `bd agents` and `bd status`. */
const THRESHOLDS = [
  ['Gone', 'its sessions ended, or 5 min without a sign after its lease'],
  ['No progress', 'answers, but 30 min without a note or change'],
  ['Sync', 'the last try failed'],
  ['Question', 'asked with bd ask, not answered'],
  ['Conflict', 'two machines wrote the same field'],
  ['Cycle', 'beads that wait for each other'],
  ['Overdue', 'past its date and not in progress'],
  ['Stale', 'ready for 14 days without a change'],
  ['Damage', 'what bd validate finds'],
];

/** Everything that needs a person: first what makes the screen untrue, then by priority, number waiting, age. @returns {Need[]} */
export function needs() {
  return beads.once('needs', () => {
    const hidden = snoozed();
    const all = [...syncNeeds(), ...findingNeeds(), ...agentNeeds(), ...questionNeeds(), ...conflictNeeds(), ...cycleNeeds(), ...waitingNeeds(), ...overdueNeeds(), ...staleNeeds()];
    const priority = (/** @type {Need} */ one) => (one.bead ? beads.get(one.bead)?.priority ?? 4 : 4);
    return all.filter((one) => !hidden[one.key]).sort((a, b) => a.rank - b.rank || priority(a) - priority(b) || b.behind - a.behind || (a.since ?? 0) - (b.since ?? 0));
  });
}

/** @param {Partial<Need> & { key: string, kind: string, title: string }} one @returns {Need} */
function need(one) {
  const behind = one.bead ? beads.behind(one.bead).size : 0;
  const priority = one.bead ? beads.get(one.bead)?.priority : undefined;
  const cost = behind ? `${number(behind)} wait` : priority !== undefined ? `P${priority}` : '';
  return { kindWord: one.kind, icon: 'slow', style: 'wait', rank: 1, text: [], short: one.title, actions: [], shortActions: one.actions?.slice(0, 2) ?? [], behind, cost, ...one };
}

function syncNeeds() {
  const sync = beads.pulse?.status?.sync;
  const error = sync?.last_error;
  if (!error) return [];
  const since = toMs(error.since);
  return [need({
    key: `sync ${error.since}`, kind: 'sync', kindWord: 'a failed sync', icon: 'sync', style: 'bad', rank: 0, since,
    title: `Nothing was sent or received for ${duration(beads.now() - since)}`,
    text: [`${counted(error.attempts, 'try', 'tries')} since ${clock(since, beads.now())}. ${counted(sync.unsynced, 'change')} ${sync.unsynced === 1 ? 'waits' : 'wait'} here${unheard()}. `, h('code', {}, error.message)],
    cost: counted(sync.unsynced, 'change'), actions: [button('Try again', 'sync'), button('Copy the error', 'copy', { text: error.message }), h('button.btn.word', { type: 'button', 'data-do': 'how' }, 'How to fix')],
    how: howToFix(error, sync.remote),
  })];
}

/** Names the machines that nothing is known of while the sync fails. */
function unheard() {
  const hosts = [...new Set(beads.agents().filter((agent) => shownState(agent) === 'unknown').map((agent) => agent.actor.split('@')[1]?.split('/')[0] ?? ''))];
  return hosts.length ? `, and nothing is known of ${hosts.slice(0, 3).join(', ')}${hosts.length > 3 ? ` and ${hosts.length - 3} more` : ''} since` : '';
}

/** The last note of an agent on a bead, if it is among those that the page has. @param {string} actor @param {string} id */
function lastNote(actor, id) {
  const note = (beads.pulse?.feed.events ?? []).findLast((event) => event.type === 'note' && event.id === id && event.by === actor && event.text);
  return note ? ` Last note at ${clock(toMs(note.at), beads.now())}: “${String(note.text).split('\n')[0]}”` : '';
}

/** @type {[RegExp, string][]} what ends a failed sync, by what its message says */
const REMEDIES = [
  [/auth|denied|credential|password|log ?in|403|401|publickey/i, 'The remote refuses the login. Check it with git fetch REMOTE in this repository, and renew the key or the token that it asks for.'],
  [/resolve|could not connect|connection|network|unreachable|timed? ?out/i, 'The remote cannot be reached. Check the network and the address with git remote -v; the board tries again by itself.'],
  [/not found|does not exist|no such|404|not appear to be a git/i, 'The remote does not exist at this address. Correct it with git remote set-url REMOTE ADDRESS.'],
  [/read.?only|protected|hook|permission/i, 'The remote refuses the push. Allow pushes to its branch beads/store, or choose another remote with bd config set sync.remote NAME.'],
];

/** Says how a failed sync is repaired. @param {any} error @param {unknown} remote */
function howToFix(error, remote) {
  const known = REMEDIES.find(([pattern]) => pattern.test(`${error.code ?? ''} ${error.message}`))?.[1];
  const text = known ?? 'Run bd sync here: it shows the whole error. bd doctor looks for the cause.';
  return `${text.replace('REMOTE', String(remote ?? 'origin'))}${error.hint ? ` ${error.hint}` : ''}`;
}

/** Findings that have an entry of their own, with its action. */
const OWN_ENTRIES = ['cycle', 'stuck'];

/** The most findings and overdue beads that are listed. */
const MOST_FINDINGS = 50;
const MOST_OVERDUE = 100;

/** Says how many of a long list are shown. @param {number} most @param {number} all @param {string} what */
function ofAll(most, all, what) {
  return all > most ? ` ${number(most)} of ${number(all)} ${what} are listed.` : '';
}

function findingNeeds() {
  const all = beads.findings.filter((one) => one.severity !== 'info' && !OWN_ENTRIES.includes(one.code));
  return all.slice(0, MOST_FINDINGS).map((one) => need({
    key: `finding ${one.code} ${one.message}`, kind: 'damage', kindWord: 'a finding', icon: 'damage', style: 'bad', rank: 0.5, bead: one.id ?? undefined,
    title: one.message ?? String(one.code), text: ['Found by bd validate. ', one.hint ?? '', ofAll(MOST_FINDINGS, all.length, 'findings')], actions: [button('Copy', 'copy', { text: one.message })],
  }));
}

function agentNeeds() {
  return (beads.pulse?.agents ?? []).flatMap((agent) => {
    const state = shownState(agent);
    const all = agent.holds.filter((one) => !one.offered && beads.get(one.id)?.assignee === agent.actor);
    // The most urgent one; when that is taken back, the next one comes.
    const [held] = firstOf(all, 1, (a, b) => (beads.get(a.id)?.priority ?? 0) - (beads.get(b.id)?.priority ?? 0) || beads.behind(b.id).size - beads.behind(a.id).size);
    const more = all.length > 1 ? ` It holds ${counted(all.length - 1, 'more bead')}.` : '';
    if (!held || (state !== 'gone' && state !== 'slow')) return [];
    const bead = beads.get(held.id);
    const data = { bead: held.id, actor: agent.actor };
    if (state === 'gone') {
      const seen = toMs(agent.last_seen) || toMs(held.since);
      const lease = toMs(held.expires ?? 0);
      return [need({
        key: `gone ${agent.actor} ${held.id}`, kind: 'gone', kindWord: 'a gone agent', icon: 'gone', style: 'bad', bead: held.id, actor: agent.actor, since: seen,
        title: `${agent.actor} gave its last sign of life ${duration(beads.now() - seen)} ago and holds a P${bead?.priority ?? ''}`,
        short: `${agent.actor} gave no sign of life for ${duration(beads.now() - seen)}`,
        text: [idLink(held.id), ` ${held.title}. `, lease > beads.now() ? `No other agent can take it before the lease ends at ${clock(lease, beads.now())}, in ${duration(lease - beads.now())}.` : 'Its lease has ended.', more],
        actions: [button('Take back', 'take-back', data), button('Hide for 2 h', 'snooze', { key: `gone ${agent.actor} ${held.id}` }, 'word')],
        shortActions: [button('Take back', 'take-back', data)],
      })];
    }
    const wrote = toMs(agent.last_write) || toMs(held.since);
    return [need({
      key: `slow ${agent.actor} ${held.id}`, kind: 'slow', kindWord: 'an agent without progress', bead: held.id, actor: agent.actor, since: wrote,
      title: `${agent.actor} answers, but has written nothing for ${duration(beads.now() - wrote)}`,
      short: `${agent.actor} answers, but wrote nothing for ${duration(beads.now() - wrote)}`,
      text: [idLink(held.id), ` ${held.title}.${lastNote(agent.actor, held.id)} It renews its lease, so this will not end by itself.${more}`],
      actions: [button('Send message', 'message', data), button('Take back', 'take-back', data), button('Fine, ask again in 2 h', 'snooze', { key: `slow ${agent.actor} ${held.id}` }, 'word')],
      shortActions: [button('Send message', 'message', data), button('Take back', 'take-back', data, 'word')],
    })];
  });
}

function questionNeeds() {
  const asked = (/** @type {any} */ one) => beads.get(one.id)?.asks;
  return (beads.pulse?.status?.questions ?? []).filter(asked).map((/** @type {any} */ one) => need({
    key: `question ${one.question}`, kind: 'question', kindWord: 'a question', icon: 'person', style: 'bad', bead: one.id, actor: one.asked_by, since: toMs(one.at), question: one,
    title: String(one.text).split('\n')[0], short: `Asked you at ${clock(toMs(one.at), beads.now())}: ${one.text}`,
    text: [actorName(one.asked_by), ' on ', idLink(one.id), ` ${one.title}`, String(one.text).includes('\n') ? `: “${one.text}”` : ''],
    shortActions: [button('Answer', 'answer', { bead: one.id })],
  }));
}

function conflictNeeds() {
  return (beads.pulse?.conflicts ?? []).filter((one) => one.field && one.field !== 'assignee').map((one) => {
    const { before, after } = wordDifference(valueText(one.value), valueText(one.current));
    const data = { conflict: one.id };
    return need({
      key: `conflict ${one.id}`, kind: 'conflict', kindWord: 'a conflict', icon: 'conflict', style: 'bad', bead: one.bead, since: toMs(one.won_at ?? one.at),
      title: `Two machines wrote the ${fieldName(one.field)} of ${one.bead} at once`,
      text: ['Now: ', ...marked(after, 'ins'), ' (', actorName(one.won_by ?? ''), '). Overwritten: ', ...marked(before, 'del'), ' (', actorName(one.by), ').'],
      actions: [h('a.btn', { href: `#/bead/${encodeURIComponent(one.bead)}` }, 'Compare'), button('Keep', 'keep', data), button('Restore', 'restore', data)],
    });
  });
}

/** @param {unknown} value */
export function valueText(value) {
  return typeof value === 'string' ? value : value === null || value === undefined ? '' : JSON.stringify(value);
}

/** @param {[boolean, string][]} parts @param {'ins' | 'del'} tag */
export function marked(parts, tag) {
  return parts.map(([own, text]) => (own && text.trim() ? h(tag, {}, text) : text));
}

/** The edges among these beads, the newest first. @param {string[]} ids */
function edgesAmong(ids) {
  const edges = ids.flatMap((from) => {
    const bead = beads.get(from);
    return (bead?.after ?? []).map((to, index) => ({ from, to, at: bead?.linked?.[index] ?? bead?.created ?? 0 })).filter(({ to }) => ids.includes(to));
  });
  return edges.sort((a, b) => b.at - a.at || b.from.localeCompare(a.from));
}

/** The most edges of a cycle with a button. */
const MOST_CUTS = 4;

function cycleNeeds() {
  return (beads.pulse?.cycles ?? []).filter((one) => one.kind === 'blocks').map((one) => {
    const ids = one.ids;
    const edges = edgesAmong(ids);
    const since = edges[0]?.at ?? 0;
    const data = (/** @type {{ from: string, to: string }} */ { from, to }) => ({ from, to });
    const others = edges.slice(1, MOST_CUTS).map((edge) => button(edges.length === 2 ? 'Cut the older' : `Cut ${edge.from} → ${edge.to}`, 'cut', data(edge)));
    const newer = edges.slice(0, 1).map((edge) => button('Cut the newer edge', 'cut', data(edge)));
    return need({
      key: `cycle ${ids.join(' ')}`, kind: 'cycle', kindWord: 'a cycle', icon: 'cycle', bead: ids[0], since,
      title: ids.length === 2 ? `${ids[0]} and ${ids[1]} wait for each other` : `${ids.slice(0, 4).join(', ')}${ids.length > 4 ? ' …' : ''} wait for each other`,
      short: `Waits in a cycle with ${ids.slice(1, 4).join(', ')}`,
      text: [ids.slice(0, 5).map((id) => beads.get(id)?.title ?? id).join(' → '), ` → and back. ${ids.length === 2 ? 'Neither' : 'None of them'} can start. `, edges.length > 1 ? `The newer edge is ${edges[0].from} → ${edges[0].to}, from ${clock(since, beads.now())}.${ofAll(MOST_CUTS, edges.length, 'edges')}` : ''],
      actions: [...newer, ...others],
      shortActions: edges.slice(0, 1).map((edge) => button('Cut the newer edge', 'cut', data(edge))),
    });
  });
}

function waitingNeeds() {
  return (beads.pulse?.status?.waiting ?? []).flatMap((/** @type {any} */ one) => {
    const base = { bead: one.id, since: toMs(one.since), key: `${one.need} ${one.id}` };
    if (one.need === 'stuck') return [need({ ...base, kind: 'free', kindWord: 'a bead without a holder', icon: 'held', title: `${one.id} is in progress without a holder`, short: 'In progress without a holder', text: [idLink(one.id), ` ${one.title}. It is neither handed out nor taken back by itself.`], actions: [button('Put it back into the queue', 'free', { bead: one.id }), button('Claim it', 'claim', { bead: one.id })] })];
    if (one.need === 'blocked') return [need({ ...base, kind: 'blocked', kindWord: 'a blocked bead', icon: 'blocked', title: `${one.id} is set to blocked, without a bead that it waits for`, short: 'Set to blocked by its status', text: [idLink(one.id), ` ${one.title}`], actions: [button('Put it back into the queue', 'free', { bead: one.id })] })];
    if (one.need === 'close_epic') return [need({ ...base, kind: 'epic', kindWord: 'a finished epic', icon: 'closed', style: 'done', rank: 2, title: `All children of ${one.id} are closed`, text: [idLink(one.id), ` ${one.title}`], actions: [button('Close it', 'close', { bead: one.id })] })];
    if (one.need === 'assigned' && one.actor === beads.about.actor) return [need({ ...base, kind: 'assigned', kindWord: 'a bead for you', icon: 'person', rank: 2, title: `${one.id} is assigned to you`, text: [idLink(one.id), ` ${one.title}`], actions: [button('Claim it', 'claim', { bead: one.id })] })];
    return [];
  });
}

function overdueNeeds() {
  const now = beads.now();
  const late = [...beads.dated.values()].filter((bead) => (bead.due ?? now) < now && bead.type !== 'epic' && bead.status === 'open');
  return firstOf(late, MOST_OVERDUE, (a, b) => a.priority - b.priority || (a.due ?? 0) - (b.due ?? 0)).map((bead) => need({
    key: `overdue ${bead.id}`, kind: 'overdue', kindWord: 'an overdue bead', icon: 'clock', rank: 2, bead: bead.id, since: bead.due,
    title: `${bead.title} was due ${duration(now - (bead.due ?? 0))} ago`,
    text: [idLink(bead.id), ` is P${bead.priority}`, beads.places().has(bead.id) ? ` and ${ordinal(beads.places().get(bead.id) ?? 0)} in the queue.` : ' and waits for others.', ofAll(MOST_OVERDUE, late.length, 'overdue beads')],
    actions: [bead.priority > 1 && button('Raise to P1', 'raise', { bead: bead.id }), button('Move the date', 'due', { bead: bead.id }), button('Ask again in 2 h', 'snooze', { key: `overdue ${bead.id}` }, 'word')].filter((one) => one !== false),
  }));
}

/** A ready bead that did not change for this long is stale. */
const STALE_MS = 14 * 24 * 60 * 60_000;

/** The most stale beads that are listed. */
const MOST_STALE = 20;

function staleNeeds() {
  const now = beads.now();
  const old = beads.onceFor('stale', `${beads.content} ${beads.ticks}`, () => beads.inState('ready').filter((bead) => now - bead.updated > STALE_MS && !(bead.due && bead.due < now)));
  return firstOf(old, MOST_STALE, (a, b) => a.priority - b.priority || a.updated - b.updated).map((bead) => need({
    key: `stale ${bead.id} ${bead.updated}`, kind: 'stale', kindWord: 'a stale bead', icon: 'clock', style: '', rank: 3, bead: bead.id, since: bead.updated,
    title: `${bead.title} has been open for ${duration(now - bead.updated)} without a change`,
    text: [idLink(bead.id), ` is P${bead.priority}`, beads.places().has(bead.id) ? ` and ${ordinal(beads.places().get(bead.id) ?? 0)} in the queue.` : '.', ofAll(MOST_STALE, old.length, 'stale beads')],
    actions: [button('Close it', 'close', { bead: bead.id }), bead.priority > 1 && button('Raise to P1', 'raise', { bead: bead.id }), button('Keep it, ask again in a week', 'snooze', { key: `stale ${bead.id} ${bead.updated}`, hours: '168' }, 'word')].filter((one) => one !== false),
  }));
}

/** How many handled matters are shown. */
const SHOWN_HANDLED = 12;

/** The browser remembers only some of them. @param {number} all */
function cutHandled(all) {
  if (all <= SHOWN_HANDLED) return null;
  return h('p.small.dim', {}, all < MOST_HANDLED ? `Showing ${SHOWN_HANDLED} of ${all}` : `The latest ${SHOWN_HANDLED}. bd activity lists all.`);
}

/** @param {string} question */
const draftKeyOf = (question) => `answer ${question}`;

export class NeedsView extends View {
  /** Whether the page says how to repair the sync. */
  explains = false;

  explain() {
    this.explains = !this.explains;
    this.schedule();
  }

  /** @override */
  content() {
    const all = this.steady('needs', needs(), (one) => one.key);
    const behind = new Set(all.flatMap((one) => (one.bead ? [...beads.behind(one.bead)] : [])));
    const urgent = [...behind].filter((id) => (beads.get(id)?.priority ?? 4) <= 1).length;
    const shown = all.slice(0, this.shown('needs'));
    const agents = beads.agents().filter((agent) => agent.holds.length).length;
    const done = handled();
    const now = beads.now();
    const leases = beads.agents().flatMap((agent) => agent.holds.map((held) => toMs(held.expires ?? 0))).filter((end) => end > now);
    const lease = leases.length ? `; the next lease ends at ${clock(Math.min(...leases), now)}` : '';
    return [h('p.say1', { role: 'heading', 'aria-level': 1 }, h('b', {}, all.length === 1 ? '1 thing needs you.' : `${number(all.length)} things need you.`), behind.size ? ` ${counted(behind.size, 'bead')} ${behind.size === 1 ? 'waits' : 'wait'} behind them, ${urgent} of them P0 or P1.` : ''),
      h('div.nowgrid', {}, h('section.sec', {}, head('To do', all.length, 'what makes this screen untrue first, then by priority, then by how many wait'),
        all.length ? null : empty('Nothing needs you.', `${counted(agents, 'agent')} ${agents === 1 ? 'is' : 'are'} working${lease}. This page fills itself.`),
        h('ol.needs', { 'data-steady': 'needs' }, shown.map((one) => this.row(one))), cutLine(shown.length, all.length, 'matters', 'needs')),
      h('aside.stack', { 'aria-label': 'Handled and thresholds' },
        h('section.sec', {}, head('Handled in the last 12 hours', done.length < MOST_HANDLED ? done.length : undefined), done.length ? null : h('p.dim.small', {}, 'Nothing yet.'), h('ul.handled', {}, done.slice(0, SHOWN_HANDLED).map((one, index) => h('li', {}, timeOf(one.at), h('span', {}, one.text), index === 0 && one.undo ? button('Undo', 'undo-handled', {}, 'word') : null))), cutHandled(done.length)),
        h('section.sec', {}, head('What comes here'), h('dl.facts.small', {}, THRESHOLDS.flatMap(([term, text]) => [h('dt', {}, term), h('dd', {}, text)])))))];
  }

  /** @param {Need} one */
  row(one) {
    const kind = { slow: 'No progress', free: 'No holder', epic: 'Finished epic', assigned: 'For you' }[one.kind] ?? capital(one.kind);
    return h('li', { 'data-key': one.key, 'data-row': one.key, 'data-bead': one.bead, 'data-agent': one.actor },
      h('span.kind.mid', { class: one.style }, icon(one.icon), kind),
      h('div', {}, h('p.strong', {}, one.title), one.text.length ? h('p.dim.evidence', {}, ...one.text) : null,
        one.question && !beads.about.read_only ? this.answerForm(one) : one.actions.length ? h('p.do', {}, ...one.actions) : null,
        one.how && this.explains ? h('p.how', { role: 'status' }, one.how) : null),
      h('p.cost', {}, h('b', {}, one.cost), one.since ? h('span', {}, `${clock(one.since, beads.now())}, ${duration(beads.now() - one.since)} ago`) : null));
  }

  /** @param {Need} one */
  answerForm(one) {
    const options = one.question.options ?? [];
    return h('div', { 'data-key': `answer-${one.key}` }, options.length ? h('p.do', {}, options.map((/** @type {string} */ option) => button(option, 'choose', { bead: one.bead, question: one.question.question, text: option }))) : null,
      h('div.answer', { 'data-key': 'field', 'data-keep': '' }, h('input', { 'aria-label': `Answer to ${one.title}`, placeholder: 'Answer as a note; the bead goes back into the queue', 'data-first': '', 'data-bead': one.bead, 'data-question': one.question.question, 'data-draft': draftKeyOf(one.question.question), value: draftOf(draftKeyOf(one.question.question)) }),
        h('button.btn.go', { type: 'button', 'data-do': 'send-answer' }, 'Answer', h('kbd', {}, '↵')), button('Keep it myself', 'claim', { bead: one.bead }, 'word')));
  }

  /** @override */
  connectedCallback() {
    super.connectedCallback();
    this.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && event.target instanceof HTMLInputElement && event.target.dataset.question) this.send(event.target);
    });
  }

  /** @param {HTMLInputElement} field */
  send(field) {
    const text = field.value.trim();
    const question = field.dataset.question ?? '';
    const wasSent = () => {
      if (field.value.trim() !== text) return;
      field.value = '';
      keepDraft(draftKeyOf(question), '');
    };
    if (text) void answer(field.dataset.bead ?? '', question || null, text, wasSent);
  }

  /** @override */
  open() {
    const first = this.selectedRow()?.querySelector('[data-first]') ?? this.selectedRow()?.querySelector('.do [data-do], .do a');
    if (first instanceof HTMLInputElement) first.focus();
    else if (first instanceof HTMLElement) first.click();
  }

  /** @override @param {string} action @param {DOMStringMap} data @param {HTMLElement} element */
  act(action, data, element) {
    const bead = data.bead ?? '';
    const conflict = beads.pulse?.conflicts.find((one) => one.id === data.conflict);
    const newest = handled()[0];
    if (action === 'sync') void syncNow();
    else if (action === 'undo-handled' && newest?.undo) void undo(newest.undo, newest.text);
    else if (action === 'copy') void navigator.clipboard.writeText(data.text ?? '').then(() => toast('Copied.'));
    else if (action === 'take-back') void takeBack(bead);
    else if (action === 'message') void askMessage(data.actor ?? '', bead);
    else if (action === 'snooze') snooze(data.key ?? '', Number(data.hours ?? 2));
    else if (action === 'cut') void cut(data.from ?? '', data.to ?? '');
    else if (action === 'free') void free(bead);
    else if (action === 'claim') void claim(bead);
    else if (action === 'close') void close(bead);
    else if (action === 'how') this.explain();
    else if (action === 'due') void askDue(bead);
    else if (action === 'raise') void setPriority(bead, 1);
    else if (action === 'keep' && conflict) void resolve(conflict, false);
    else if (action === 'restore' && conflict) void resolve(conflict, true);
    else if (action === 'choose') void answer(bead, data.question ?? null, data.text ?? '');
    else if (action === 'send-answer') this.send(/** @type {HTMLInputElement} */ (element.parentElement?.querySelector('input')));
  }

  /** @override @returns {[string, string][]} */
  keys() {
    return [['j k', 'move'], ['↵', 'first action'], ['b', 'the bead'], ['g', 'show it in the graph'], ['/', 'search'], ['u', 'undo'], ['1–5', 'views']];
  }
}
