// cli/mcp: what a waiting context can take, as tools with the inputs of its events. A tool is there as long as the context
// was last seen to take its event.
import { fromJsonSchema, type McpServer, type RegisteredTool } from '@modelcontextprotocol/server'
import type { Client } from '../../client/client.ts'
import type { JsonObject } from '../../model/json/value.ts'
import type { AgentCalls } from './answer.ts'

/** Contexts that have tools at once: the tools of the one that was looked at first go first. */
const MAX_CONTEXTS = 8
/** Tools of one context. */
const MAX_EVENTS = 32
const MAX_NAME_CHARACTERS = 64

export class EventTools {
  readonly #server: McpServer
  readonly #client: Client
  readonly #calls: AgentCalls
  readonly #tools = new Map<number, readonly RegisteredTool[]>()

  constructor(server: McpServer, client: Client, calls: AgentCalls) {
    this.#server = server
    this.#client = client
    this.#calls = calls
  }

  /** Looks at a context, and offers its events as tools. Gives what it can take. */
  async offer(contextId: number) {
    const taken = await this.#client.getContextEvents({ contextId })
    this.#drop(contextId)
    const names = new Set<string>()
    const tools = taken.events.slice(0, MAX_EVENTS).map(({ event, to, input }) => {
      const name = nameOf(event, contextId, names)
      return this.#server.registerTool(
        name,
        {
          title: `${event} to context ${contextId}`,
          description: `Send the event ${JSON.stringify(event)} to context ${contextId} of ${taken.state}, which then goes to ${to ?? 'its next state'}`,
          inputSchema: fromJsonSchema<JsonObject>(input),
          annotations: { readOnlyHint: false },
        },
        (given) =>
          this.#calls.answer(async () => {
            const sent = await this.#client.sendEvent({ contextId, event, input: given })
            return { ...sent, now: await this.offer(contextId) }
          }),
      )
    })
    if (tools.length > 0) this.#tools.set(contextId, tools)
    const [oldest] = this.#tools.size > MAX_CONTEXTS ? this.#tools.keys() : []
    if (oldest !== undefined) this.#drop(oldest)
    return { ...taken, tools: [...names] }
  }

  #drop(contextId: number) {
    for (const tool of this.#tools.get(contextId) ?? []) tool.remove()
    this.#tools.delete(contextId)
  }
}

/** Names of tools are of few characters; two events never have the same. */
function nameOf(event: string, contextId: number, taken: Set<string>) {
  const head = `send_${contextId}_${event.replaceAll(/[^\w-]/g, '_')}`.slice(0, MAX_NAME_CHARACTERS)
  let name = head
  for (let n = 2; taken.has(name); n += 1) name = `${head.slice(0, MAX_NAME_CHARACTERS - 4)}_${n}`
  taken.add(name)
  return name
}
