// The page of a bead: its texts, edited in place with compare-and-swap; conflicts; one timeline; what it
// waits for and what waits for it.

import { exported, read, Refused, write } from './api.js';
import { askMessage, askNote, askPriority, canWrite, claim, close, draftOf, fieldName, keepDraft, messageOf, release, reopen, resolve, succeeded, takeBack, undoOf } from './actions.js';
import { beads } from './beads.js';
import { h, icon } from './dom.js';
import { markdown } from './markdown.js';
import { marked, valueText } from './needs.js';
import { actorName, button, cutLine, empty, head, idLink, priorityMark, STATE_WORDS, timeOf } from './parts.js';
import { toast } from './toast.js';
import { View, currentRoute, setQuery } from './view.js';
import { clock, counted, duration, fullTime, number, toMs, wordDifference } from './words.js';

/** @type {[string, string][]} the texts that can be edited */
const TEXTS = [['description', 'Description'], ['design', 'Design'], ['acceptance_criteria', 'Acceptance criteria']];

/**
 * @typedef {object} Edit
 * @property {string} field
 * @property {string} base what the text was when editing began
 * @property {string} hash
 * @property {string} mine
 * @property {string | null} theirs a text that another person or agent saved in the meantime
 * @property {number} began
 */

/** @type {Map<string, Edit>} texts that are not saved yet, by bead: leaving or reloading the page keeps them */
const drafts = new Map();

/** @param {string} id @returns {Edit | null} */
function editOf(id) {
  const kept = drafts.has(id) ? '' : draftOf(`edit ${id}`);
  if (kept) drafts.set(id, JSON.parse(kept));
  return drafts.get(id) ?? null;
}

/** @param {string} id @param {Edit | null} edit */
function keepEdit(id, edit) {
  if (edit) drafts.set(id, edit);
  else drafts.delete(id);
  keepDraft(`edit ${id}`, edit ? JSON.stringify(edit) : '');
}

/** The server sends at most this many events of a bead. */
const MOST_BEAD_EVENTS = 500;

/** A failed read is repeated after this time. */
const READ_AGAIN_MS = 3_000;

export class BeadView extends View {
  constructor() {
    super();
    /** @type {any} */
    this.page = null;
    this.asked = '';
    this.shownId = '';
    this.problem = '';
    this.isSaving = false;
    this.only = 'all';
  }

  /** The text that is being edited. @returns {Edit | null} */
  get edit() {
    return editOf(this.beadId());
  }

  /** @param {Edit | null} edit */
  set edit(edit) {
    keepEdit(this.beadId(), edit);
  }

  /** While the page is being left, the address is another one already. @returns {string} */
  beadId() {
    const { view, rest } = currentRoute();
    return view === 'bead' ? rest[0] ?? '' : this.shownId ?? '';
  }

  /** @override */
  render() {
    this.load();
    super.render();
    const field = this.querySelector('textarea[data-edit]');
    if (field instanceof HTMLTextAreaElement && this.edit && field.dataset.filled === undefined) {
      field.dataset.filled = '';
      field.value = this.edit.mine;
      field.focus();
    }
  }

  load() {
    const id = this.beadId();
    if (!id) {
      [this.page, this.problem] = [null, 'Its address names no bead.'];
      return;
    }
    const brief = beads.get(id);
    const wanted = JSON.stringify([id, brief?.updated, brief?.notes?.length, brief?.lease, brief?.parent, brief?.after, beads.waiting.get(id), beads.children.get(id), beads.pulse?.conflicts.length]);
    if (wanted === this.asked) return;
    if (this.shownId !== id) [this.page, this.problem, this.shownId] = [null, '', id];
    this.asked = wanted;
    if (exported) {
      const bead = exported.details[id];
      this.page = bead ? { bead, conflicts: [], events: { events: [] }, mail: { messages: [], reserved: [] } } : null;
      this.problem = bead ? '' : `${id} is not in this file.`;
      return;
    }
    void read(`bead/${encodeURIComponent(id)}`).then((page) => {
      if (this.asked !== wanted) return;
      this.page = page;
      this.problem = '';
      this.compareEdit();
      const asked = currentRoute().query.get('edit');
      if (asked && !this.edit && !beads.about.read_only && TEXTS.some(([field]) => field === asked)) this.startEdit(asked);
      if (asked) setQuery({ edit: null });
      this.schedule();
    }, (error) => this.readFailed(error, wanted));
  }

  /** Keeps what is shown, unless the bead is gone, and reads again. @param {unknown} error @param {string} wanted */
  readFailed(error, wanted) {
    if (this.asked !== wanted) return;
    this.problem = messageOf(error);
    const status = error instanceof Refused ? error.status : 0;
    if (status === 404) this.page = null;
    // What was refused is refused again; a bead that appears changes what is asked for.
    if (!status || status >= 500) setTimeout(() => this.readAgain(wanted), READ_AGAIN_MS);
    this.schedule();
  }

  /** @param {string} wanted */
  readAgain(wanted) {
    if (this.asked !== wanted) return;
    this.asked = '';
    this.schedule();
  }

  /** Notices that another person or agent saved the text that is being edited. */
  compareEdit() {
    if (!this.edit || !this.page) return;
    const now = this.page.bead[this.edit.field] ?? '';
    // Another field changed, or nothing that this text would overwrite.
    if (now === this.edit.base) this.edit = { ...this.edit, hash: this.page.bead.if_hash ?? this.page.bead.content_hash };
    else if (now !== this.edit.mine) this.edit.theirs = now;
  }

  /** @override */
  content() {
    if (this.problem && !this.page) return [empty(`${this.beadId() || 'This page'} cannot be shown.`, this.problem)];
    if (!this.page) return [h('div.loading', { 'aria-busy': 'true' })];
    const { bead, conflicts, events } = this.page;
    const brief = beads.get(bead.id);
    const state = brief ? beads.state(brief) : bead.status === 'closed' ? 'closed' : 'ready';
    const behind = beads.behind(bead.id);
    const epic = brief && beads.epicOf(brief);
    const held = state === 'held' && bead.assignee;
    return [h('div.bead', {}, h('div', {},
      h('p.crumb', {}, epic ? [h('a', { href: `#/bead/${encodeURIComponent(epic.id)}` }, epic.title), '/'] : null, h('span.id', {}, bead.id)),
      this.edit?.field === 'title' ? this.editor('title', 'Title') : h('h1', {}, bead.title),
      h('p.factline', {}, h('span.mid', { class: STATE_WORDS[state][0] }, icon(state), STATE_WORDS[state][1]), priorityMark(bead.priority), held ? h('span', {}, actorName(bead.assignee), brief?.claimed ? ` for ${duration(beads.now() - brief.claimed)}` : '') : null, beads.critical().has(bead.id) ? h('span', {}, 'critical path') : null, behind.size ? h('span', {}, `${counted(behind.size, 'bead')} ${behind.size === 1 ? 'waits' : 'wait'} behind it`) : null),
      ...conflicts.filter((/** @type {any} */ one) => one.field).map((/** @type {any} */ one, /** @type {number} */ index) => this.conflict(one, index, conflicts.length)),
      ...TEXTS.map(([field, title]) => this.text(field, title)),
      this.timeline(bead, events.events)),
    h('aside.stack', { 'aria-label': 'Facts' }, this.facts(bead, state), ...this.links(bead), this.acts(bead, state)))];
  }

  /** @param {any} one @param {number} index @param {number} count */
  conflict(one, index, count) {
    const { before, after } = wordDifference(valueText(one.value), valueText(one.current));
    const data = { conflict: one.id };
    return h('section.sides', { 'data-key': one.id, 'aria-label': `Conflict about the ${fieldName(one.field)}` },
      h('p.cap', {}, h('span.bad.mid.strong', {}, icon('conflict'), `Two machines wrote the ${fieldName(one.field)} at once`), h('span.small.dim', {}, `${index + 1} of ${count}`)),
      h('div.side', {}, h('p.who', {}, h('b', {}, 'Now'), one.won_by ? actorName(one.won_by) : null, one.won_at ? timeOf(toMs(one.won_at)) : null), h('p.pre', {}, ...marked(after, 'ins'))),
      h('div.side', {}, h('p.who', {}, h('b', {}, 'Overwritten'), actorName(one.by), timeOf(toMs(one.at))), h('p.pre', {}, ...marked(before, 'del'))),
      h('p.do', {}, button('Keep', 'keep', data), TEXTS.some(([field]) => field === one.field) ? button('Edit both into one', 'both', data) : null),
      h('p.do', {}, button('Restore', 'restore', data), h('span.small.dim', {}, 'the value now becomes the overwritten one')));
  }

  /** @param {string} field @param {string} title */
  text(field, title) {
    const text = this.page.bead[field] ?? '';
    if (this.edit?.field === field) return this.editor(field, title);
    if (!text && field !== 'description') return h('span', { 'data-key': `no-${field}` });
    return h('section.block', { 'data-key': field }, h('header.head', {}, h('h2', {}, title), !beads.about.read_only ? h('button.btn.word.more', { type: 'button', 'data-do': 'edit', 'data-field': field }, 'Edit') : null),
      text ? markdown(text) : h('p.dim', {}, 'No description.'));
  }

  /** @param {string} field @param {string} title */
  editor(field, title) {
    const edit = /** @type {Edit} */ (this.edit);
    const theirs = edit.theirs;
    const difference = theirs === null ? null : wordDifference(edit.base, theirs);
    return h('section.block', { 'data-key': `edit-${field}` }, h('header.head', {}, h('h2', {}, title), h('span.more', {}, `you are editing the version of ${clock(edit.began, beads.now())}`)),
      h('div.edit', {}, h('div', { 'data-key': 'text', 'data-keep': '' }, h('textarea', { 'data-edit': field, 'aria-label': title, rows: field === 'title' ? 1 : 8 })),
        difference ? h('div.since', { role: 'alert' }, h('p.mid', {}, h('span.wait.mid', {}, icon('slow')), actorName(this.page.bead.updated_by), ' saved this field while you were typing. Yours is not saved yet.'),
          h('p.pre', {}, ...marked(difference.after, 'ins')),
          h('p.do', {}, button('Add theirs to mine', 'add-theirs'), button('Take theirs', 'take-theirs'), button('Keep only mine', 'only-mine', {}, 'word'))) : null,
        h('p.bott', {}, theirs === null ? h('button.btn.go', { type: 'button', 'data-do': 'save' }, 'Save', h('kbd', {}, '⌘↵')) : h('span', {}, 'Not saved: decide above first.'), h('button.btn.word', { type: 'button', 'data-do': 'discard' }, 'Discard mine'), h('span.end', {}, field === 'title' ? '' : 'Markdown'))));
  }

  /** @param {any} bead @param {import('./beads.js').StoreEvent[]} events */
  timeline(bead, events) {
    /** @type {{ at: number, kind: string, node: Node }[]} */
    const rows = [];
    const add = (/** @type {number} */ at, /** @type {string} */ kind, /** @type {string} */ glyph, /** @type {string} */ style, /** @type {import('./dom.js').Child[]} */ words, /** @type {Node | null} */ body = null) => {
      rows.push({ at, kind, node: h('li', {}, timeOf(at), h('span.mk', { class: style }, icon(glyph)), h('div', {}, h('p.dim', {}, ...words), body)) });
    };
    for (const note of bead.notes ?? []) {
      const asks = note.kind === 'question' ? ' asks' : note.kind === 'answer' ? ' answered' : '';
      add(toMs(note.at), 'notes', asks ? 'person' : 'note', asks ? 'bad' : '', [h('b', {}, actorName(note.author)), asks], markdown(note.content ?? ''));
    }
    for (const event of events) {
      if (['note', 'asked', 'answered', 'created'].includes(event.type)) continue;
      if (event.type === 'updated' && event.fields?.length === 1 && event.fields[0] === 'assignee_expires') continue;
      const glyph = { claimed: 'held', closed: 'closed', released: 'ready', expired: 'gone', conflict: 'conflict', unblocked: 'arrow', reopened: 'arrow', updated: 'edit', handed_over: 'arrow', cancelled: 'gone' }[event.type] ?? 'dot';
      const style = { closed: 'done', claimed: 'act', conflict: 'bad', expired: 'bad', unblocked: 'done' }[event.type] ?? '';
      const fields = event.fields?.map(fieldName).join(', ');
      const words = event.type === 'updated' ? ` changed ${fields ?? 'it'}`
        : event.type === 'conflict' ? ` wrote ${fields ? `the ${fields}` : 'a field'} at the same time as another machine and was overwritten` : ` ${event.type.replace('_', ' ')}`;
      add(toMs(event.at), 'changes', glyph, style, [...(event.type === 'unblocked' ? ['Unblocked: everything that it waited for is closed'] : [event.by ? h('b', {}, actorName(event.by)) : 'The store', words]), event.text && event.type !== 'closed' ? `: ${event.text}` : ''], event.type === 'closed' && event.text ? h('p', {}, event.text) : null);
    }
    for (const one of this.page.mail.messages) {
      add(toMs(one.created_at), 'mail', 'mail', '', [h('b', {}, one.from_agent), ` ${one.category} to `, h('b', {}, one.to_agent), `: ${one.subject}`], one.body && one.body !== one.subject ? markdown(one.body) : null);
      if (one.acked_at) add(toMs(one.acked_at), 'mail', 'mail', '', [h('b', {}, one.to_agent), ' acknowledged the message of ', h('b', {}, one.from_agent)]);
    }
    for (const one of this.page.mail.reserved) add(toMs(one.created_at), 'files', 'lock', '', [h('b', {}, one.agent_id), ' reserved ', h('span.mono', {}, one.scope), ` until ${clock(toMs(one.released_at ?? one.expires_at), beads.now())}`]);
    add(toMs(bead.created_at), 'changes', 'plus', '', [h('b', {}, actorName(bead.created_by)), ' created it']);
    rows.sort((a, b) => b.at - a.at);
    const count = (/** @type {string} */ kind) => rows.filter((row) => row.kind === kind).length;
    const shown = rows.filter((row) => this.only === 'all' || row.kind === this.only).slice(0, this.shown('timeline'));
    const choice = (/** @type {string} */ value, /** @type {string} */ label) => h('button.btn.word', { type: 'button', 'data-do': 'only', 'data-value': value, 'aria-pressed': String(this.only === value), class: this.only === value ? 'strong' : '' }, label);
    return h('section.sec.block', { 'data-key': 'timeline' }, head('Timeline', rows.length, h('span', {}, choice('all', 'All'), choice('notes', `Notes ${count('notes')}`), choice('changes', `Changes ${count('changes')}`), count('mail') ? choice('mail', `Mail ${count('mail')}`) : null, count('files') ? choice('files', `Files ${count('files')}`) : null)), h('ul.tl', {}, shown.map((row) => row.node)), cutLine(shown.length, rows.filter((row) => this.only === 'all' || row.kind === this.only).length, 'entries', 'timeline'), events.length >= MOST_BEAD_EVENTS ? h('p.small.dim', {}, `The latest ${number(MOST_BEAD_EVENTS)} changes. bd log ${bead.id} lists all.`) : null);
  }

  /** @param {any} bead @param {import('./beads.js').State} state */
  facts(bead, state) {
    /** @param {string} term @param {...import('./dom.js').Child} value */
    const fact = (term, ...value) => [h('dt', {}, term), h('dd', {}, ...value)];
    const brief = beads.get(bead.id);
    const lease = toMs(bead.assignee_expires ?? 0);
    return h('section.sec', { 'data-key': 'facts' }, head('Facts'), h('dl.facts', {},
      fact('Status', h('span.mid', { class: STATE_WORDS[state][0] }, icon(state), STATE_WORDS[state][1])),
      bead.assignee ? fact(state === 'held' ? 'Holder' : 'Assignee', actorName(bead.assignee)) : [],
      lease && state === 'held' ? fact('Lease', lease > beads.now() ? `until ${clock(lease, beads.now())}, ${duration(lease - beads.now())} left` : `ended ${duration(beads.now() - lease)} ago`) : [],
      fact('Priority', `P${bead.priority}`), fact('Type', bead.type_word ?? bead.type), bead.labels?.length ? fact('Labels', bead.labels.join(', ')) : [],
      bead.estimated_minutes ? fact('Estimate', `${duration(bead.estimated_minutes * 60_000)}${brief?.claimed ? `, used ${duration((brief.closed ?? beads.now()) - brief.claimed)}` : ''}`) : [],
      bead.due_at ? fact('Due', fullTime(toMs(bead.due_at))) : [], bead.external_ref ? fact('See', bead.external_ref) : [],
      bead.closed_at ? fact('Closed', `${fullTime(toMs(bead.closed_at))} by ${bead.closed_by ?? ''}`) : [], bead.closed_reason ? fact('Because', bead.closed_reason) : [],
      fact('Created', `${fullTime(toMs(bead.created_at))} by ${bead.created_by}`)));
  }

  /** @param {any} bead @returns {Node[]} */
  links(bead) {
    const before = (bead.dependencies ?? []).filter((/** @type {any} */ link) => link.kind === 'blocks');
    const after = (bead.dependents ?? []).filter((/** @type {any} */ link) => link.kind === 'blocks');
    const children = (bead.dependents ?? []).filter((/** @type {any} */ link) => link.kind === 'parent');
    const frees = after.filter((/** @type {any} */ link) => {
      const other = beads.get(link.id);
      return other && other.status !== 'closed' && beads.blockers(other).every((one) => one.id === bead.id);
    });
    const row = (/** @type {any} */ link, /** @type {string} */ fact) => {
      const other = beads.get(link.id);
      const state = other ? beads.state(other) : link.status === 'closed' ? 'closed' : 'ready';
      return h('li', { 'data-key': link.id }, h('span.mid', { class: STATE_WORDS[state][0] }, icon(state, STATE_WORDS[state][1])), idLink(link.id), h('div', {}, h('p', {}, link.title), fact ? h('p.small.dim', {}, fact) : null));
    };
    const about = (/** @type {any} */ link) => {
      const other = beads.get(link.id);
      if (other?.status === 'closed') return `closed ${clock(other.closed ?? 0, beads.now())} by ${other.closer ?? ''}`;
      return other?.assignee && other.status === 'in_progress' ? `held by ${other.assignee}` : '';
    };
    const section = (/** @type {string} */ title, /** @type {any[]} */ list, /** @type {(link: any) => string} */ fact, /** @type {Node | null} */ lead = null) => (list.length ? [h('section.sec', { 'data-key': title }, head(title, list.length), lead, h('ul.deps', {}, list.slice(0, this.shown(title)).map((link) => row(link, fact(link)))), list.length > this.shown(title) ? h('p.small', {}, `Showing ${this.shown(title)} of ${list.length}`) : null)] : []);
    return [...section('Waits for', before, about),
      ...section('Wait for it', after, (link) => (frees.includes(link) ? 'free when this closes' : ''), bead.status !== 'closed' && after.length ? h('p.small.dim', {}, 'Closing it frees ', h('b', {}, `${frees.length} now`), `; ${beads.behind(bead.id).size} wait in all.`) : null),
      ...section('Children', children, about)];
  }

  /** @param {any} bead @param {import('./beads.js').State} state */
  acts(bead, state) {
    if (beads.about.read_only) return h('span', { 'data-key': 'acts' });
    const isMine = bead.assignee === beads.about.actor;
    const key = (/** @type {string} */ letter) => h('kbd', {}, letter);
    /** @param {string} label @param {string} action @param {string} letter @param {string} [kind] */
    const one = (label, action, letter, kind = '') => {
      const element = button(label, action, {}, kind);
      element.append(key(letter));
      return element;
    };
    return h('section.sec', { 'data-key': 'acts' }, head('Act'), h('p.do', {}, one('Add note', 'note', 'n'), state === 'held' && !isMine ? one('Message', 'message', 'm') : null, state === 'ready' ? one('Claim', 'claim', 'w') : null,
      state === 'closed' ? one('Reopen', 'reopen', 'x') : one('Close', 'close', 'x'), one('Priority', 'priority', 'p'), state === 'held' ? (isMine ? one('Release', 'release', 't', 'word') : one('Take back', 'take-back', 't', 'word')) : null));
  }

  /** @param {string} field */
  startEdit(field, mine = this.page.bead[field] ?? '') {
    const { bead } = this.page;
    if (this.edit && this.edit.field !== field && this.edit.mine !== this.edit.base) {
      toast(`Save or discard the ${fieldName(this.edit.field)} first.`, { bad: true });
      return;
    }
    this.edit = { field, base: bead[field] ?? '', hash: bead.if_hash ?? bead.content_hash, mine, theirs: null, began: toMs(bead.updated_at) };
    this.schedule();
  }

  /** Keeps what was typed, and returns it. */
  typed() {
    const field = this.querySelector('textarea[data-edit]');
    if (this.edit && field instanceof HTMLTextAreaElement && field.value !== this.edit.mine) this.edit = { ...this.edit, mine: field.value };
    return this.edit?.mine ?? '';
  }

  /** Saves the text if it was not changed in the meantime; shows the other text otherwise. */
  async save() {
    const edit = this.edit;
    if (!edit || edit.theirs !== null || this.isSaving) return;
    if (!canWrite()) {
      toast('The server does not answer. Your text is still here.', { bad: true });
      return;
    }
    const mine = this.typed();
    const { field } = edit;
    const id = this.beadId();
    this.isSaving = true;
    try {
      const answer = await write({ do: 'edit', id, hash: edit.hash, [field]: mine });
      this.wasSaved(id, field, mine, answer.if_hash ?? answer.content_hash);
      succeeded(`Saved the ${fieldName(field)} of ${id}.`, id, undoOf(id, answer));
    } catch (error) {
      if (error instanceof Refused && /hash|mismatch|conflict/.test(error.code)) await this.saveRefused(id, field, mine);
      else toast(`Not saved: ${messageOf(error)}. Your text is still here.`, { bad: true });
    } finally {
      this.isSaving = false;
      this.schedule();
    }
  }

  /** Ends editing, unless more was typed while the text was on its way. @param {string} id @param {string} field @param {string} mine @param {string} hash */
  wasSaved(id, field, mine, hash) {
    const now = editOf(id);
    const goesOn = now?.field === field && now.mine !== mine;
    keepEdit(id, now && goesOn ? { ...now, base: mine, hash, theirs: null, began: beads.now() } : null);
    this.asked = '';
  }

  /** The bead is not what it was: saves again if only another field changed, and shows the other text otherwise. @param {string} id @param {string} field @param {string} mine */
  async saveRefused(id, field, mine) {
    const page = await read(`bead/${encodeURIComponent(id)}`).catch(() => null);
    const edit = editOf(id);
    if (!page || edit?.field !== field) {
      toast('Not saved: the bead has changed and cannot be read. Your text is still here.', { bad: true });
      return;
    }
    if (this.beadId() === id) this.page = page;
    const now = page.bead[field] ?? '';
    const hash = page.bead.if_hash ?? page.bead.content_hash;
    // An earlier try was not answered, but done.
    if (now === mine) return this.wasSaved(id, field, mine, hash);
    keepEdit(id, { ...edit, hash, theirs: now === edit.base ? null : now });
    if (now === edit.base && this.beadId() === id) {
      this.isSaving = false;
      await this.save();
    }
  }

  /** @param {string} mine */
  setMine(mine) {
    const field = this.querySelector('textarea[data-edit]');
    if (!this.edit) return;
    this.edit = { ...this.edit, mine, base: this.edit.theirs ?? this.edit.base, hash: this.page.bead.if_hash ?? this.page.bead.content_hash, theirs: null };
    if (field instanceof HTMLTextAreaElement) field.value = mine;
  }

  /** @override @param {string} action @param {DOMStringMap} data */
  act(action, data) {
    const { bead, conflicts } = this.page;
    const conflict = conflicts.find((/** @type {any} */ one) => one.id === data.conflict);
    if (action === 'edit') this.startEdit(data.field ?? 'description');
    else if (action === 'save') void this.save();
    else if (action === 'discard') this.edit = null;
    else if (action === 'take-theirs') this.setMine(this.edit?.theirs ?? '');
    else if (action === 'only-mine') this.setMine(this.typed());
    else if (action === 'add-theirs') {
      const { after } = wordDifference(this.edit?.base ?? '', this.edit?.theirs ?? '');
      const added = after.filter(([own]) => own).map(([, text]) => text).join('').trim();
      this.setMine(`${this.typed().trimEnd()}\n\n${added}`);
    } else if (action === 'keep' && conflict) void resolve(conflict, false);
    else if (action === 'restore' && conflict) void resolve(conflict, true);
    else if (action === 'both' && conflict) this.startEdit(conflict.field, `${valueText(conflict.current)}\n\n${valueText(conflict.value)}`);
    else if (action === 'only') this.only = data.value ?? 'all';
    else if (action === 'note') void askNote(bead.id);
    else if (action === 'message') void askMessage(bead.assignee ?? '', bead.id);
    else if (action === 'claim') void claim(bead.id);
    else if (action === 'release') void release(bead.id);
    else if (action === 'take-back') void takeBack(bead.id);
    else if (action === 'close') void close(bead.id);
    else if (action === 'reopen') void reopen(bead.id);
    else if (action === 'priority') void askPriority(bead.id);
    this.schedule();
  }

  /** @override */
  connectedCallback() {
    super.connectedCallback();
    this.addEventListener('input', () => void this.typed());
    this.addEventListener('keydown', (event) => {
      if (!(event.target instanceof HTMLTextAreaElement) || !this.edit) return;
      if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) void this.save();
    });
  }

  /** @override */
  selectedBead() {
    return this.beadId();
  }

  /** @override @param {string} key */
  key(key) {
    if (!this.page) return false;
    const { bead } = this.page;
    if (key === 'e') this.startEdit('description');
    else if (key === 'w') void claim(bead.id);
    else if (key === '[' || key === ']') this.neighbour(key === ']' ? 1 : -1);
    else if (key === 'Escape') history.length > 1 ? history.back() : (location.hash = '#/board');
    else return false;
    return true;
  }

  /** Opens the next bead of the same epic. @param {number} by */
  neighbour(by) {
    const brief = beads.get(this.beadId());
    const ids = brief?.parent ? beads.children.get(brief.parent) ?? [] : [...beads.all.keys()];
    const next = ids[ids.indexOf(this.beadId()) + by];
    if (next) location.hash = `#/bead/${encodeURIComponent(next)}`;
  }

  /** @override @returns {[string, string][]} */
  keys() {
    return [['e', 'edit'], ['n', 'note'], ['m', 'message'], ['p', 'priority'], ['x', 'close'], ['t', 'take back'], ['[ ]', 'previous, next bead'], ['esc', 'back'], ['u', 'undo']];
  }
}
