// Isolated functions, each in a process of its own.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { stepRunner } from '../../src/steps/runner.ts'
import { notFound } from '../../src/model/failure.ts'
import type { JsonObject } from '../../src/model/json/value.ts'
import type { Flux } from '../../src/ports/steps.ts'
import { errorOf } from '../../src/engine/interpreter/exception.ts'
import { flux } from './flux.ts'
import { silent } from '../support/silent.ts'

const MODULE = `
import { helper } from './helper.ts'
enum Kind { A = 'a' }
export const pid = () => process.pid
export const facts = (args: object, { contextId, fluxName, stateName, stepKey, attempt, rawBody, signal }: any) =>
  ({ args, contextId, fluxName, stateName, stepKey, attempt, raw: rawBody.toString(), aborted: signal.aborted, kind: Kind.A, helper: helper() })
export const environment = () => [process.env['ISOLATE_TEST'], process.cwd()]
export const loop = () => { for (;;); }
export const patient = (_: object, { signal }: any) => new Promise((resolve) => { signal.addEventListener('abort', () => resolve(signal.reason.message)) })
export async function calls(_: object, flux: any) {
  const seen = await flux.getContext({ contextId: 5 })
  const refused = await flux.terminate({ contextId: 6 }).catch((error: any) => [error.name, error.failure.kind, error.message])
  flux.log.warn('a word', { n: 1, f() {} })
  return { seen, refused }
}
export function fails() { throw Object.assign(new RangeError('too far'), { code: 'E1', cause: new Error('why') }) }
export function failsWithData() { throw { name: 'Mine', code: 2 } }
export function failsWithTraps() {
  const trap = (name: string) => ({ enumerable: true, get() { throw new Error('no ' + name) } })
  throw Object.defineProperties(new TypeError('trapped'), { stack: trap('stack'), cause: trap('cause'), constructor: trap('constructor') })
}
export function failsWithNoText() { throw Object.assign(new Error('x'), { message: { a: 1 }, constructor: null }) }
export function failsWithProxy() { throw new Proxy({}, { getPrototypeOf() { throw new Error('no') } }) }
export const large = ({ bytes }: any) => 'x'.repeat(bytes - 2)
export const huge = () => { const list: unknown[] = []; for (let n = 0; n < 60; n++) list.push([...list, ...list].slice(0, 3)); return 'x'.repeat(2 ** 28) }
export const dies = () => process.kill(process.pid, 'SIGKILL')
export function leavesWork(_: object, flux: any) {
  const timer = setInterval(() => {
    flux.log.info('late')
    flux.getContext({ contextId: 1 }).catch((error: Error) => { refused = error.message; clearInterval(timer) })
  }, 20)
}
let refused = ''
export const clearsUp = (_: object, flux: any) => new Promise((resolve) => { flux.signal.addEventListener('abort', async () => {
  flux.log.info('called off')
  resolve(await flux.getContext({ contextId: 1 }))
}) })
export const slowPid = () => new Promise((resolve) => { setTimeout(() => resolve(process.pid), 300) })
export const slow = () => new Promise((resolve) => { setTimeout(() => resolve(refused), 300) })
export const odd = () => ({ date: new Date(5), map: new Map([['a', 1n]]), bytes: new Uint8Array([1, 2]) })
`

let folder: string
let runner: ReturnType<typeof stepRunner>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'actorflux-isolate-'))
  await writeFile(join(folder, 'fn.ts'), MODULE)
  await writeFile(join(folder, 'helper.ts'), 'export const helper = (): string => "helped"')
  runner = stepRunner({ log: silent, maxResult: 2000, isolated: 2 })
  runner.mount([{ name: 'p', root: folder }])
})
afterAll(async () => {
  runner.close()
  await rm(folder, { recursive: true })
})

const run = (
  methodName: string,
  { args = {}, timeout = 60_000, ...more }: { args?: JsonObject; timeout?: number } & Partial<Flux> = {},
) => runner.runIsolated({ package: 'p', className: 'fn', methodName, args, timeout, flux: { ...flux, ...more } })

const thrownBy = async (name: string) => errorOf(await run(name).catch((thrown: unknown) => thrown))

const getContext: Flux['getContext'] = async ({ contextId }) => JSON.parse(JSON.stringify({ id: contextId }))
const terminate: Flux['terminate'] = () => Promise.reject(notFound('no such context'))

describe('an isolated function', () => {
  test('runs in another process, which is used again after success and failure', async () => {
    const pid = await run('pid')
    expect(pid).not.toBe(process.pid)
    await run('fails').catch(() => {})
    expect(await run('pid')).toBe(pid)
  })

  test('loads TypeScript, and knows its step, its arguments and the environment', async () => {
    vi.stubEnv('ISOLATE_TEST', 'known')
    const other = stepRunner({ log: silent })
    other.mount([{ name: 'p', root: folder }])
    const call = {
      package: 'p',
      className: 'fn',
      args: { a: [1] },
      timeout: 60_000,
      flux: { ...flux, rawBody: Buffer.from('raw') },
    }
    expect(await other.runIsolated({ ...call, methodName: 'facts' })).toEqual({
      args: { a: [1] },
      contextId: 7,
      fluxName: 'S',
      stateName: 'a',
      stepKey: '7-1',
      attempt: 1,
      raw: 'raw',
      aborted: false,
      kind: 'a',
      helper: 'helped',
    })
    expect(await other.runIsolated({ ...call, methodName: 'environment' })).toEqual(['known', process.cwd()])
    other.close()
    vi.unstubAllEnvs()
  })

  test('makes calls and logs through the server', async () => {
    const warned: unknown[] = []
    const log = {
      ...silent,
      warn: (...said: unknown[]) => {
        warned.push(said)
      },
    }
    expect(await run('calls', { getContext, terminate, log })).toEqual({
      seen: { id: 5 },
      refused: ['FluxError', 'notFound', 'no such context'],
    })
    expect(warned).toEqual([['a word', { n: 1 }]])
  })

  test('speaks for itself alone: what it left running when it ended is not heard under the name of the next', async () => {
    const heard: string[] = []
    const named = (name: string): Partial<Flux> => ({
      log: {
        ...silent,
        info: (message) => {
          heard.push(`${name}: ${message}`)
        },
      },
      getContext: async (request) => {
        heard.push(`${name}: a call`)
        return getContext(request)
      },
    })
    const single = stepRunner({ log: silent, isolated: 1 })
    single.mount([{ name: 'p', root: folder }])
    const call = { package: 'p', className: 'fn', args: {}, timeout: 60_000 }
    try {
      await single.runIsolated({ ...call, methodName: 'leavesWork', flux: { ...flux, ...named('first') } })
      expect(await single.runIsolated({ ...call, methodName: 'slow', flux: { ...flux, ...named('second') } })).toBe(
        'the function has ended: it can make no more calls',
      )
      expect(heard).toEqual([])
      const signal = AbortSignal.timeout(200)
      await single
        .runIsolated({ ...call, methodName: 'clearsUp', flux: { ...flux, ...named('third'), signal } })
        .catch(() => {})
      await vi.waitFor(() => expect(heard).toEqual(['third: called off', 'third: a call']), 5000)
    } finally {
      single.close()
    }
  })

  test('returns data, of a bounded size', async () => {
    expect(await run('odd')).toEqual({ date: 5, map: { a: 1 }, bytes: 'AQI=' })
    expect(await run('large', { args: { bytes: 2000 } })).toHaveLength(1998)
    await expect(run('large', { args: { bytes: 2001 } })).rejects.toMatchObject({ name: 'ResultTooLarge' })
    await expect(run('huge')).rejects.toMatchObject({
      name: 'ResultTooLarge',
      message: 'the result has more than 2000 bytes as JSON',
    })
  })

  test('fails as it would here', async () => {
    const error = await run('fails').catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ stack: expect.stringMatching(/^RangeError: too far\n\s+at \S*fails .*fn\.ts/) })
    expect(errorOf(error)).toEqual({
      message: 'too far',
      type: 'RangeError',
      className: 'RangeError',
      realException: { name: 'RangeError', message: 'too far', code: 'E1', cause: 'Error: why' },
    })
    expect(await run('failsWithData').catch(errorOf)).toMatchObject({ type: 'Mine', realException: { code: 2 } })
    await expect(run('nothing')).rejects.toThrow('doesn\'t export "nothing"')
  })

  test('fails at once also with what can not be read', async () => {
    expect(await thrownBy('failsWithTraps')).toMatchObject({ message: 'trapped', type: 'TypeError' })
    expect(await thrownBy('failsWithNoText')).toMatchObject({ message: '{"a":1}', type: 'Error' })
    expect(await thrownBy('failsWithProxy')).toMatchObject({ message: "something was thrown that can't be shown" })
  })

  test('that does not return is ended by its timeout, and the others go on', async () => {
    const pid = await run('pid')
    const looping = run('loop', { timeout: 300 })
    const other = run('pid')
    await expect(looping).rejects.toMatchObject({ name: 'TimeoutError', message: 'no result within 0.3 s' })
    expect(await other).not.toBe(pid)
    await vi.waitFor(() => expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH'), 30_000)
    expect(await run('pid')).not.toBe(pid)
  })

  test('that ends by itself after its timeout costs its process all the same', async () => {
    const pid = await run('pid')
    await expect(run('patient', { timeout: 300 })).rejects.toMatchObject({ name: 'TimeoutError' })
    await vi.waitFor(() => expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH'), 30_000)
    expect(await run('pid')).not.toBe(pid)
  })

  test('hears that it is called off, and its process is used again if it ends then', async () => {
    const pid = await run('pid')
    const controller = new AbortController()
    const called = run('patient', { signal: controller.signal })
    const reason = new DOMException('the context has ended', 'AbortError')
    setTimeout(() => controller.abort(reason), 200)
    await expect(called).rejects.toBe(reason)
    await vi.waitFor(async () => expect(await run('pid')).toBe(pid), 30_000)
  })

  test('that takes its process with it fails, and the next one runs', async () => {
    await expect(run('dies')).rejects.toMatchObject({
      name: 'ProcessEnded',
      message: 'the process of the function ended: SIGKILL',
    })
    expect(await run('pid')).toEqual(expect.any(Number))
  })

  test('waits for a place without losing time of its own', async () => {
    const looping = Array.from({ length: 6 }, () => run('loop', { timeout: 400 }).catch((error: unknown) => error))
    expect(await run('pid', { timeout: 5000 })).toEqual(expect.any(Number))
    expect(await Promise.all(looping)).toHaveLength(6)
  })

  test('has as many processes as there are places, however many wait', async () => {
    const places = stepRunner({ log: silent, isolated: 3 })
    places.mount([{ name: 'p', root: folder }])
    const call = { package: 'p', className: 'fn', methodName: 'slowPid', args: {}, timeout: 60_000, flux }
    const pids = await Promise.all(Array.from({ length: 9 }, () => places.runIsolated(call)))
    expect(new Set(pids).size).toBe(3)
    places.close()
  })

  test('gets the place of one that was called off while its process started', async () => {
    const single = stepRunner({ log: silent, maxResult: 2000, isolated: 1 })
    single.mount([{ name: 'p', root: folder }])
    const controller = new AbortController()
    const call = { package: 'p', className: 'fn', methodName: 'pid', args: {}, timeout: 60_000 }
    const first = single.runIsolated({ ...call, flux: { ...flux, signal: controller.signal } })
    const second = single.runIsolated({ ...call, flux })
    await new Promise(setImmediate)
    controller.abort(new Error('called off'))
    await expect(first).rejects.toThrow('called off')
    expect(await second).toEqual(expect.any(Number))
    single.close()
  })

  test('knows the newest modules', async () => {
    await writeFile(join(folder, 'helper.ts'), 'export const helper = (): string => "anew"')
    runner.mount([{ name: 'p', root: folder }])
    expect(await run('facts', { rawBody: Buffer.from('') })).toMatchObject({ helper: 'anew' })
  })
})
