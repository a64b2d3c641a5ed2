// The tools for agents, over the standard input and output of the real program.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { ROUTES } from '../../src/client/routes.ts'
import { cleanUp, placeFor, startServer, type Server } from '../support/server.ts'

const SERVICES = {
  'shop/Order.flux': {
    states: [
      {
        name: 'pay',
        waiting: true,
        input: [{ name: 'sum', type: 'double', required: true }],
        transitions: [{ event: 'paid in full', to: 'done' }],
      },
      { name: 'done' },
    ],
  },
}

let server: Server
beforeAll(async () => {
  server = await startServer({ program: inject('program'), ...(await placeFor(SERVICES)) })
})
afterAll(cleanUp)

interface Message {
  readonly id?: number
  readonly method?: string
  readonly result?: Record<string, unknown>
  readonly error?: { readonly message: string }
}

/** An agent that started the program. */
class Agent {
  readonly #child: ChildProcess
  readonly #answers = new Map<number, (message: Message) => void>()
  readonly notices: string[] = []
  errors = ''
  #count = 0

  constructor(...args: string[]) {
    this.#child = spawn(process.execPath, [inject('program'), 'mcp', '--url', server.url, ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const { stdin, stdout, stderr } = this.#child
    if (!stdin || !stdout || !stderr) throw new Error('there are pipes')
    // The program may go before it has read all.
    stdin.on('error', () => {})
    stderr.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text
    })
    // Whatever is no message would break an agent.
    createInterface(stdout).on('line', (line) => {
      const message: Message = JSON.parse(line)
      if (message.id === undefined) this.notices.push(message.method ?? '')
      else this.#answers.get(message.id)?.(message)
    })
  }

  async open(): Promise<this> {
    const { result } = await this.request('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    })
    expect(result?.['serverInfo']).toMatchObject({ name: 'actorflux' })
    this.#send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return this
  }

  request(method: string, params: object = {}): Promise<Message> {
    const id = (this.#count += 1)
    return new Promise((resolve) => {
      this.#answers.set(id, resolve)
      this.#send({ jsonrpc: '2.0', id, method, params })
    })
  }

  async tools() {
    const { result } = await this.request('tools/list')
    const tools = result?.['tools'] as { name: string; inputSchema: object; annotations: { readOnlyHint: boolean } }[]
    return new Map(tools.map((tool) => [tool.name, tool]))
  }

  async call(name: string, given: object) {
    const { result, error } = await this.request('tools/call', { name, arguments: given })
    if (error) return { isError: true, text: error.message, data: null }
    const [content] = (result?.['content'] ?? []) as { text: string }[]
    const text = content?.text ?? ''
    return { isError: result?.['isError'] === true, text, data: text.startsWith('{') ? JSON.parse(text) : null }
  }

  async close(): Promise<number | null> {
    this.#child.stdin?.end()
    return this.ended()
  }

  async ended(): Promise<number | null> {
    const [code] = await once(this.#child, 'exit')
    return code
  }

  write(text: string): void {
    this.#child.stdin?.write(text)
  }

  #send(message: object): void {
    this.write(`${JSON.stringify(message)}\n`)
  }
}

describe('actorflux mcp', () => {
  test('reads by default: every call that reads is a tool, and none that changes something', async () => {
    const agent = await new Agent().open()
    const tools = await agent.tools()
    const reading = Object.entries(ROUTES).flatMap(([name, { method }]) => (method === 'GET' ? [name] : []))
    expect(reading).toEqual(expect.arrayContaining(['getContext', 'listContexts', 'listOperations']))
    expect([...tools.keys()].sort()).toEqual(reading.sort())
    expect([...tools.values()].every(({ annotations }) => annotations.readOnlyHint)).toBe(true)
    expect(tools.get('getContextEvents')?.inputSchema).toMatchObject({ properties: { contextId: { type: 'integer' } } })
    const { data } = await agent.call('listServices', {})
    expect(data.services[0]).toMatchObject({ package: 'shop', fluxName: 'Order' })
    expect(await agent.call('execute', { package: 'shop', fluxName: 'Order' })).toMatchObject({ isError: true })
    expect(await agent.close()).toBe(0)
    expect(agent.errors).toBe('')
  })

  test('--write: starts and moves contexts; the events of a waiting one are tools with its inputs', async () => {
    const agent = await new Agent('--write').open()
    const { data: started } = await agent.call('execute', { package: 'shop', fluxName: 'Order' })
    const contextId: number = started.contextId
    const { data: offered } = await agent.call('offerEvents', { contextId })
    const name = `send_${contextId}_paid_in_full`
    expect(offered.tools).toEqual([name])
    expect(agent.notices).toContain('notifications/tools/list_changed')
    expect((await agent.tools()).get(name)?.inputSchema).toMatchObject({
      properties: { sum: { type: ['number', 'null'] } },
      required: ['sum'],
    })
    expect(await agent.call(name, { sum: 'a lot' })).toMatchObject({ isError: true })
    const { data: moved } = await agent.call(name, { sum: 3 })
    expect(moved).toMatchObject({ transitions: [{ contextId, state: 'done' }], now: { tools: [] } })
    expect((await agent.tools()).has(name)).toBe(false)
    expect(await agent.close()).toBe(0)
  })

  test('a refusal is a result that says why', async () => {
    const agent = await new Agent().open()
    expect(await agent.call('getContext', { contextId: 999_999 })).toMatchObject({
      isError: true,
      data: { status: 404, retryable: false },
    })
    expect(await agent.call('getContext', { contextId: 'seven' })).toMatchObject({ isError: true })
    await agent.close()
  })

  test('what was asked is answered when nothing more can be asked', async () => {
    const agent = await new Agent().open()
    const [listed, code] = await Promise.all([agent.call('listServices', {}), agent.close()])
    expect(listed.data.services.length).toBe(1)
    expect(code).toBe(0)
  })

  test('a line that is no message is passed over; one that is too long ends it, in one line', async () => {
    const agent = await new Agent().open()
    agent.write('nothing\n{"jsonrpc"\n[]\n')
    expect((await agent.call('listServices', {})).isError).toBe(false)
    const ended = agent.ended()
    agent.write('x'.repeat(11_000_000))
    expect(await ended).toBe(1)
    expect(agent.errors).toMatch(/^actorflux: the connection to the agent broke, [^\n]+\n$/)
  })

  test('as many contexts as may have tools of their own; a long answer is cut', async () => {
    const agent = await new Agent('--write').open()
    const body = '{"fluxName":"Order"}\n'.repeat(300)
    const headers = { 'content-type': 'application/x-ndjson' }
    await (await fetch(`${server.url}/flux-api/shop/executes`, { method: 'POST', headers, body })).text()
    const ids: number[] = []
    for (let count = 0; count < 9; count += 1) {
      const { data } = await agent.call('execute', { package: 'shop', fluxName: 'Order' })
      ids.push(data.contextId)
      await agent.call('offerEvents', { contextId: data.contextId })
    }
    const offered = [...(await agent.tools()).keys()].filter((name) => name.endsWith('_paid_in_full'))
    expect(offered.sort()).toEqual(
      ids
        .slice(1)
        .map((id) => `send_${id}_paid_in_full`)
        .sort(),
    )
    const { isError, text } = await agent.call('listContexts', { limit: 1000 })
    expect(isError).toBe(false)
    expect(text.length).toBeLessThan(201_000)
    expect(text).toMatch(/\n… cut: the answer has \d+ characters; ask for less$/)
    expect(await agent.close()).toBe(0)
  })
})
