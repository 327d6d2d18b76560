// Stands in for opencode: loads a plugin, sends it events, and prints what it did.
import { readFileSync } from "node:fs"

const [plugin, directory] = process.argv.slice(2)
let input = ""
for await (const chunk of process.stdin) input += chunk
const prompts = []
const client = {
  session: {
    prompt: async ({ path, body }) => {
      prompts.push({ id: path.id, noReply: body.noReply, text: body.parts.map((part) => part.text).join("\n") })
    },
  },
}
process.chdir(directory)
// opencode's runtime reads any .js file as a module; node only does so for a data address.
const module = await import(`data:text/javascript,${encodeURIComponent(readFileSync(plugin, "utf8"))}`)
const hooks = []
for (const create of Object.values(module)) hooks.push(await create({ client, directory, worktree: directory }))
for (const event of JSON.parse(input)) for (const hook of hooks) await hook.event({ event })
const output = { env: {} }
for (const hook of hooks) await hook["shell.env"]({ cwd: directory, sessionID: "ses_1" }, output)
console.log(JSON.stringify({ prompts, env: output.env }))
