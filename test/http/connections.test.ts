// Which connections are ended because their clients read nothing, without sockets that really send.
import { Server } from 'node:http'
import { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Connections } from '../../src/http/socket/connections.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** A client, and what it has been sent and has taken. */
class Client {
  readonly socket = new Socket()
  #written = 0
  #waiting = 0

  constructor() {
    Object.defineProperty(this.socket, 'bytesWritten', { get: () => this.#written })
    Object.defineProperty(this.socket, 'writableLength', { get: () => this.#waiting })
  }

  send(bytes: number): void {
    this.#written += bytes
    this.#waiting += bytes
  }

  take(bytes: number): void {
    this.#waiting -= bytes
  }
}

function open(count: number): { clients: Client[]; connections: Connections } {
  // It does not listen: connections are only reported to it.
  const server = new Server().removeAllListeners('connection')
  const connections = new Connections(server, { maxConnections: 10, answerTimeout: 8_000 })
  const clients = Array.from({ length: count }, () => new Client())
  for (const { socket } of clients) server.emit('connection', socket)
  return { clients, connections }
}

test('a client that takes a little now and then keeps its connection; one that takes nothing loses it', () => {
  const { clients, connections } = open(3)
  const [slow, deaf, idle] = clients
  slow?.send(1_000)
  deaf?.send(1_000)
  for (let rounds = 0; rounds < 10; rounds += 1) {
    vi.advanceTimersByTime(6_000)
    slow?.take(1)
    if (rounds === 0) expect(deaf?.socket.destroyed).toBe(false)
  }
  expect([slow, deaf, idle].map((client) => client?.socket.destroyed)).toEqual([false, true, false])
  vi.advanceTimersByTime(10_000)
  expect(slow?.socket.destroyed).toBe(true)
  connections.close()
})

test('one that has taken everything is given the whole time for what is sent next', () => {
  const { clients, connections } = open(1)
  const [client] = clients
  for (let rounds = 0; rounds < 3; rounds += 1) {
    client?.send(10)
    vi.advanceTimersByTime(6_000)
    client?.take(10)
    vi.advanceTimersByTime(1_000)
  }
  expect(client?.socket.destroyed).toBe(false)
  connections.close()
})
