// Written by bd setup opencode. It tells opencode's agents about their beads; bd setup opencode --remove removes it.
// Everything here is optional for a session: a failing bd never stops it.
import { execFile } from "node:child_process"

const TIMEOUT_MS = 10_000

/** Runs bd with a payload on standard input, and returns what it prints. */
const bd = (directory, args, payload) =>
  new Promise((resolve) => {
    const child = execFile("bd", args, { cwd: directory, timeout: TIMEOUT_MS }, (error, stdout) =>
      resolve(error ? "" : stdout),
    )
    child.on("error", () => resolve(""))
    child.stdin?.on("error", () => {})
    child.stdin?.end(JSON.stringify(payload))
  })

const parsed = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

export const Beads = async ({ client, directory }) => {
  // Subagents run in child sessions, which get their instructions from their parent.
  const children = new Set()
  const say = (id, text, noReply) =>
    client.session.prompt({ path: { id }, body: { noReply, parts: [{ type: "text", text }] } }).catch(() => {})
  const hook = async (event, id) =>
    parsed(await bd(directory, ["hook", event, "--client", "opencode"], { session_id: id, cwd: directory }))

  const on = {
    "session.created": async ({ info }) => {
      if (info?.parentID) return void children.add(info.id)
      const payload = { session_id: info.id, cwd: directory }
      const answer = parsed(await bd(directory, ["prime", "--hook=opencode"], payload))
      if (answer.context) await say(info.id, answer.context, true)
    },
    "session.idle": async ({ sessionID }) => {
      if (children.has(sessionID)) return
      const { reason } = await hook("stop", sessionID)
      if (reason) await say(sessionID, reason, false)
    },
    "session.deleted": async ({ info }) => {
      if (!children.delete(info?.id)) await hook("end", info.id)
    },
  }

  return {
    event: async ({ event }) => {
      await on[event.type]?.(event.properties ?? {})
    },
    // Commands of a session act as that session.
    "shell.env": async (input, output) => {
      if (input?.sessionID && output?.env) output.env.BD_SESSION ??= input.sessionID
    },
  }
}
