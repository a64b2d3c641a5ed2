import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { untilStopped } from '../../src/cli/stop.ts'
import { memoryLog } from '../http/support.ts'

function run(close: () => Promise<void>) {
  const exits: number[] = []
  const { log, lines } = memoryLog()
  const emitter = Object.assign(new EventEmitter(), { exit: (code: number) => void exits.push(code) })
  const stopped = untilStopped(close, log, emitter, (ended) => {
    emitter.on('launcher ended', ended)
  })
  return { emitter, exits, lines, stopped }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('a server', () => {
  test.each(['SIGTERM', 'SIGINT'])('closes once on %s and ends well', async (signal) => {
    let closed = 0
    const { emitter, exits, stopped } = run(() => {
      closed++
      return Promise.resolve()
    })
    emitter.emit(signal, signal)
    expect(await stopped).toBe(0)
    expect(closed).toBe(1)
    expect(exits).toEqual([])
  })

  test('takes what comes within 2 s of the first signal for the same one, and exits at once on a later one', () => {
    const { emitter, exits } = run(() => new Promise(() => {}))
    emitter.emit('SIGTERM', 'SIGTERM')
    emitter.emit('SIGTERM', 'SIGTERM')
    vi.advanceTimersByTime(1999)
    emitter.emit('SIGINT', 'SIGINT')
    expect(exits).toEqual([])
    vi.advanceTimersByTime(1)
    emitter.emit('SIGINT', 'SIGINT')
    expect(exits).toEqual([1])
  })

  test('closes when the shell has gone by which npm started it, and takes that for no second signal', async () => {
    const first = run(() => Promise.resolve())
    first.emitter.emit('launcher ended')
    expect(await first.stopped).toBe(0)
    const second = run(() => new Promise(() => {}))
    second.emitter.emit('SIGTERM', 'SIGTERM')
    vi.advanceTimersByTime(9000)
    second.emitter.emit('launcher ended')
    expect(second.exits).toEqual([])
  })

  test('tells when it could not close', async () => {
    const error = new Error('stuck')
    const { emitter, lines, stopped } = run(() => Promise.reject(error))
    emitter.emit('SIGTERM', 'SIGTERM')
    expect(await stopped).toBe(1)
    expect(lines.at(-1)).toEqual({ level: 'error', message: 'could not stop in order', fields: { error } })
  })

  test('logs an exception that nobody caught, and exits', () => {
    const { emitter, exits, lines } = run(() => Promise.resolve())
    const error = new Error('surprise')
    emitter.emit('uncaughtException', error)
    expect(exits).toEqual([1])
    expect(lines).toEqual([{ level: 'error', message: 'an uncaught error ends the server', fields: { error } }])
  })

  test('logs a rejection that nobody handled, and goes on', () => {
    const { emitter, exits, lines } = run(() => Promise.resolve())
    const error = new Error('forgotten')
    emitter.emit('unhandledRejection', error)
    expect(exits).toEqual([])
    expect(lines).toMatchObject([{ level: 'error', fields: { error } }])
  })
})
