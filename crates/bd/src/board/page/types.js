// What the server sends, as types. This file has no code, so no page loads it.

/**
 * @typedef {object} Bead
 * @property {string} id
 * @property {string} title
 * @property {'open' | 'in_progress' | 'closed'} status
 * @property {string} [word]
 * @property {number} priority
 * @property {string} type
 * @property {string[]} [labels]
 * @property {string} [parent]
 * @property {string[]} [after]
 * @property {number[]} [linked] when each of these edges was added, unless all are as old as the bead
 * @property {string} [assignee]
 * @property {boolean} [offered]
 * @property {number} [claimed]
 * @property {string} [fence]
 * @property {number} [lease]
 * @property {number} created
 * @property {string} creator
 * @property {number} updated
 * @property {number} [closed]
 * @property {string} [closer]
 * @property {number} [minutes]
 * @property {number} [due]
 * @property {number} [deferred]
 * @property {boolean} [asks]
 * @property {number[]} [notes]
 *
 * @typedef {'ready' | 'blocked' | 'held' | 'closed' | 'deferred'} State
 *
 * @typedef {object} Agent
 * @property {string} actor
 * @property {'dead' | 'hung' | 'quiet' | 'working' | 'idle'} state
 * @property {string | null} last_seen
 * @property {string | null} last_write
 * @property {{ id: string, title: string, since: string, expires: string | null, expired: boolean, offered: boolean }[]} holds
 * @property {{ session: string, last_seen: string, gone: boolean }[]} sessions
 * @property {number} closed
 * @property {number} created
 * @property {number} notes
 * @property {number} busy_ms
 *
 * @typedef {object} StoreEvent
 * @property {string} type
 * @property {string} at
 * @property {string} [id]
 * @property {string} [title]
 * @property {string} [by]
 * @property {string} [text]
 * @property {string[]} [fields]
 * @property {string} [assignee]
 *
 * @typedef {object} Pulse
 * @property {number} now
 * @property {any} status
 * @property {Agent[]} agents
 * @property {any[]} conflicts
 * @property {{ kind: string, ids: string[] }[]} cycles
 * @property {string[]} queue
 * @property {{ events: StoreEvent[] }} feed
 * @property {{ events: StoreEvent[], complete?: boolean }} incidents complete unless the event log is shorter than the period
 * @property {Record<string, { unread: number, reserved: string[] }>} mail
 *
 * @typedef {{ name: string, host: string, actor: string, read_only: boolean, version: string }} About
 */

export {};
