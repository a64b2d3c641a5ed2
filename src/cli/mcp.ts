// cli: `actorflux mcp`: the calls of a server as tools for agents (Model Context Protocol), over standard input and output.
// Their names, inputs and hints are those of `api/`. What a waiting context can take are tools, too, with the inputs of its
// events: each is there as long as the context was last seen to take its event.
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fromJsonSchema, McpServer, type RegisteredTool } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'
import { fieldSchema, type Call } from '../api/call.ts'
import { CLIENT_METHODS } from '../api/calls.ts'
import { idempotencyKey } from '../api/fields.ts'
import type { Client } from '../client/client.ts'
import { ConnectionError, Problem } from '../client/problem.ts'
import type { JsonObject } from '../model/json/value.ts'
import { flagOption } from './command.ts'
import { remote } from './remote/remote.ts'
import { versionText } from './version.ts'

/** Characters of a result: an agent reads all of it. */
const MAX_CHARACTERS = 200_000
/** Contexts that have tools at once: the tools of the one that was looked at first go first. */
const MAX_CONTEXTS = 8
const MAX_NAME_CHARACTERS = 64

export const mcp = remote({
  summary: 'offer the calls of a server as tools for agents, over standard input and output',
  hasOwnForm: true,
  options: { write: flagOption('also the calls that change something; without it, only those that read') },
  notes: `An agent starts it by itself: name "node ${process.argv[1]} mcp" as the command of a server in its settings.
ACTORFLUX_TOKEN has the token, if the server asks for one.`,
  async run({ values: { write = false } }, { client }) {
    const underWay = new Set<Promise<unknown>>()
    const server = serverOf(client, write, (call) => {
      const answer = resultOf(call)
      underWay.add(answer)
      return answer.finally(() => underWay.delete(answer))
    })
    // The transport closes at the end of its input, and drops the answers of calls that are under way.
    const input = new PassThrough()
    process.stdin.pipe(input, { end: false })
    const transport = new StdioServerTransport(input)
    const closed = new Promise<never>((_, reject) => {
      const error = new Error('the connection to the agent broke, or a message was too long')
      Object.assign(transport, { onclose: () => reject(error) })
    })
    await server.connect(transport)
    // The agent goes by closing standard input.
    await Promise.race([once(process.stdin, 'end'), closed])
    // Messages that were just read begin their calls, and results are written, in the same turn of the event loop.
    await nextTurn()
    while (underWay.size > 0) await Promise.allSettled(underWay)
    await nextTurn()
  },
})

/** The answer of a call as the result of a tool. A refusal is a result too, so that the agent can read why. */
async function resultOf(call: () => Promise<unknown>) {
  try {
    return textResult(JSON.stringify(await call()) ?? 'null', false)
  } catch (error) {
    if (error instanceof Problem) {
      const { status, type, detail, errors, retryable } = error
      return textResult(JSON.stringify({ status, type, detail, errors, retryable }), true)
    }
    if (error instanceof ConnectionError || error instanceof TypeError) return textResult(error.message, true)
    throw error
  }
}

function textResult(text: string, isError: boolean) {
  const rest = `\n… cut: the answer has ${text.length} characters; ask for less`
  const shown = text.slice(0, MAX_CHARACTERS) + (text.length > MAX_CHARACTERS ? rest : '')
  return { content: [{ type: 'text' as const, text: shown }], isError }
}

type Answer = (call: () => Promise<unknown>) => ReturnType<typeof resultOf>

const READING =
  'Contexts are running workflows. listServices tells which there are, listContexts finds contexts, getContext tells why one is where it is, getContextEvents what it can take.'
const WRITING = 'offerEvents makes each event that a waiting context can take a tool of its own, with typed inputs.'

/** The tools that read; with `write`, also those that change something. */
function serverOf(client: Client, write: boolean, answer: Answer) {
  const instructions = write ? `${READING} ${WRITING}` : READING
  const server = new McpServer({ name: 'actorflux', version: versionText() }, { instructions })
  for (const [name, call] of Object.entries<Call>(CLIENT_METHODS)) {
    const method: unknown = Reflect.get(client, name)
    if (typeof method !== 'function') throw new Error(`the client has no call ${name}`)
    if (!write && call.method !== 'GET') continue
    const annotations = {
      readOnlyHint: call.method === 'GET',
      destructiveHint: call.method === 'DELETE',
      idempotentHint: call.method !== 'POST',
    }
    server.registerTool(name, { description: call.summary, inputSchema: inputOf(call), annotations }, (given) =>
      answer(async () => method(given)),
    )
  }
  if (write) addEventTools(server, client, answer)
  return server
}

const inputOf = ({ path, query, body, takesKey }: Call) =>
  fromJsonSchema<JsonObject>(
    fieldSchema(z.strictObject({ ...path, ...query, ...body, ...(takesKey && { idempotencyKey }) })),
  )

function addEventTools(server: McpServer, client: Client, answer: Answer) {
  const toolsOf = new Map<number, ReadonlyMap<string, RegisteredTool>>()
  const drop = (contextId: number) => {
    toolsOf.get(contextId)?.forEach((tool) => tool.remove())
    toolsOf.delete(contextId)
  }
  /** Looks at a context, and offers its events as tools. Gives what it can take. */
  const offer = async (contextId: number): Promise<object> => {
    const offered = await client.getContextEvents({ contextId })
    drop(contextId)
    const tools = new Map<string, RegisteredTool>()
    for (const { event, to, input } of offered.events) {
      const name = `send_${contextId}_${event.replaceAll(/[^\w-]/g, '_')}`.slice(0, MAX_NAME_CHARACTERS)
      // Of two events whose tools would have one name, sendEvent sends the second.
      if (tools.has(name)) continue
      const config = {
        title: `${event} to context ${contextId}`,
        description: `Send the event ${JSON.stringify(event)} to context ${contextId} of ${offered.state}, which then goes to ${to}`,
        inputSchema: fromJsonSchema<JsonObject>(input),
        annotations: { readOnlyHint: false },
      }
      const send = async (given: JsonObject) => {
        const sent = await client.sendEvent({ contextId, event, input: given })
        return { ...sent, now: await offer(contextId) }
      }
      tools.set(
        name,
        server.registerTool(name, config, (given) => answer(() => send(given))),
      )
    }
    if (tools.size > 0) toolsOf.set(contextId, tools)
    const [oldest] = toolsOf.size > MAX_CONTEXTS ? toolsOf.keys() : []
    if (oldest !== undefined) drop(oldest)
    return { ...offered, tools: [...tools.keys()] }
  }
  server.registerTool(
    'offerEvents',
    {
      description: 'Make each event that a waiting context can take now a tool of its own',
      inputSchema: z.strictObject({ contextId: z.int().positive().describe('Id of a context') }),
      annotations: { readOnlyHint: true },
    },
    ({ contextId }) => answer(() => offer(contextId)),
  )
}
