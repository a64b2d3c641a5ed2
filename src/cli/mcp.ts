// cli: `actorflux mcp`: the calls of a server as tools for agents (Model Context Protocol), over standard input and output.
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { CLIENT_METHODS } from '../api/calls.ts'
import type { Client } from '../client/client.ts'
import type { JsonObject } from '../model/json/value.ts'
import { flagOption } from './command.ts'
import { AgentCalls } from './mcp/answer.ts'
import { EventTools } from './mcp/event-tools.ts'
import { callTools } from './mcp/tools.ts'
import { remote } from './remote/remote.ts'
import { versionText } from './version.ts'

export const mcp = remote({
  summary: 'offer the calls of a server as tools for agents, over standard input and output',
  hasOwnForm: true,
  options: { write: flagOption('also the calls that change something; without it, only those that read') },
  notes: `An agent starts it by itself: name "node ${process.argv[1]} mcp" as the command of a server in its settings.`,
  async run({ values }, { client }) {
    const calls = new AgentCalls()
    const server = serverOf(client, calls, values)
    // The transport closes at the end of its input, and drops the answers of calls that are under way.
    const input = new PassThrough()
    process.stdin.pipe(input, { end: false })
    const transport = new StdioServerTransport(input)
    const closed = new Promise<Error>((resolve) => {
      let last = new Error('it was closed')
      const onerror = (error: Error) => {
        last = error
      }
      Object.assign(transport, { onerror, onclose: () => resolve(last) })
    })
    await server.connect(transport)
    // The agent goes by closing standard input.
    const fault = await Promise.race([once(process.stdin, 'end').then(() => null), closed])
    if (fault !== null) throw new Error(`the agent can not be spoken to any more: ${fault.message}`)
    // Messages that were just read begin their calls, and results are written, in the same turn of the event loop.
    await nextTurn()
    await calls.settled()
    await nextTurn()
    await transport.close()
  },
})

function serverOf(client: Client, calls: AgentCalls, { write = false }: { readonly write?: boolean | undefined }) {
  const server = new McpServer(
    { name: 'actorflux', version: versionText() },
    { instructions: write ? `${READING} ${WRITING}` : READING },
  )
  for (const { name, description, input, hints } of callTools({ write }))
    server.registerTool(
      name,
      { description, inputSchema: fromJsonSchema<JsonObject>(input), annotations: hints },
      (given) => calls.answer(() => callOf(client, name)(given)),
    )
  if (write) addEventTools(server, client, calls)
  return server
}

const READING =
  'Contexts are running workflows. listServices tells which there are, listContexts finds contexts, getContext tells why one is where it is, getContextEvents what it can take.'
const WRITING = 'offerEvents makes each event that a waiting context can take a tool of its own, with typed inputs.'

function addEventTools(server: McpServer, client: Client, calls: AgentCalls) {
  const tools = new EventTools(server, client, calls)
  server.registerTool(
    'offerEvents',
    {
      description: 'Make each event that a waiting context can take now a tool of its own',
      inputSchema: fromJsonSchema<{ contextId: number }>({
        type: 'object',
        properties: { contextId: { type: 'integer', minimum: 1, description: 'Id of a context' } },
        required: ['contextId'],
        additionalProperties: false,
      }),
      annotations: { readOnlyHint: true },
    },
    ({ contextId }) => calls.answer(() => tools.offer(contextId)),
  )
}

/** The method of the client that has the name of the call. */
function callOf(client: Client, name: string): (fields: JsonObject) => Promise<unknown> {
  const method: unknown = Object.hasOwn(CLIENT_METHODS, name) ? Reflect.get(client, name) : undefined
  if (typeof method !== 'function') throw new Error(`the client has no call ${name}`)
  return async (fields) => method.call(client, fields)
}
