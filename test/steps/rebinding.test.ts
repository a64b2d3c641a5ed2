import type { LookupAddress } from 'node:dns'
import { createServer } from 'node:http'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { listening } from '../support/listening.ts'

const names = vi.hoisted(() => ({ answers: [] as string[][], asked: 0 }))

vi.mock('node:dns', async (original) => ({
  ...(await original<typeof import('node:dns')>()),
  lookup(_host: string, _options: unknown, callback: (error: null, found: LookupAddress[]) => void) {
    const found = names.answers[Math.min(names.asked, names.answers.length - 1)] ?? []
    names.asked += 1
    callback(
      null,
      found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  },
}))

const { publicLookup } = await import('../../src/steps/builtin/http/addresses.ts')
const { httpRequest } = await import('../../src/steps/builtin/http/request.ts')

const lookup = (all: boolean) =>
  new Promise((resolve) => {
    publicLookup('example.com', { all }, (error, address, family) => resolve(error ? error.name : [address, family]))
  })

beforeEach(() => {
  names.asked = 0
})

describe('a name', () => {
  test('stands for its public addresses alone', async () => {
    names.answers = [['10.0.0.1', '1.1.1.1', '::1', '2606:4700:4700::1111']]
    expect(await lookup(true)).toEqual([
      [
        { address: '1.1.1.1', family: 4 },
        { address: '2606:4700:4700::1111', family: 6 },
      ],
      undefined,
    ])
    expect(await lookup(false)).toEqual(['1.1.1.1', 4])
    names.answers = [['10.0.0.1', '::ffff:1.1.1.1']]
    expect([await lookup(true), await lookup(false)]).toEqual(['ForbiddenAddress', 'ForbiddenAddress'])
  })

  test('that leads to this machine is refused, and is not asked for again', async () => {
    let heard = 0
    const server = createServer((_, response) => {
      heard += 1
      response.end()
    })
    const port = await listening(server)
    names.answers = [['127.0.0.1']]
    const ask = () =>
      httpRequest({ allowPrivate: false })(
        { url: `http://rebind.example:${port}/`, timeout: 2 },
        { signal: new AbortController().signal },
      )
    await expect(ask()).rejects.toThrow(expect.objectContaining({ name: 'ForbiddenAddress' }))
    expect([names.asked, heard]).toEqual([1, 0])
  })
})
