import { createHash } from 'node:crypto'
import { copyFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { openTokens, type Authenticate } from '../../src/access/authenticate.ts'
import { createToken, revokeToken, type Token } from '../../src/access/tokens.ts'
import type { Failure } from '../../src/model/failure.ts'
import { tokenFile } from './folder.ts'

const UNKNOWN: Failure = { kind: 'unauthorized', detail: 'the token is not known', token: 'invalid' }
const EXPIRED: Failure = { kind: 'unauthorized', detail: 'the token has expired', token: 'invalid' }
const NO_BEARER: Failure = {
  kind: 'unauthorized',
  detail: 'the Authorization header must be Bearer and a token',
  token: 'none',
}

type OnEnd = (fn: () => void | Promise<void>) => void

/** `add` makes a token in the file; `open` reads the file and follows it until the test ends. */
async function setUp(onEnd: OnEnd) {
  const file = await tokenFile(onEnd)
  const onError = vi.fn<(error: Error) => void>()
  const add = (name: string, details: Partial<Token> = {}) =>
    createToken(file, { name, roles: ['invoke'], created: 0, expires: null, ...details })
  const open = async (now = Date.now) => {
    const tokens = await openTokens({ file, now, onError })
    onEnd(() => tokens.close())
    return tokens.authenticate
  }
  return { file, onError, add, open }
}

function failureOf(authenticate: Authenticate, header: string): unknown {
  try {
    return authenticate(header)
  } catch (error) {
    return error instanceof Error && 'failure' in error ? error.failure : error
  }
}

const FOLLOWED = { timeout: 5000, interval: 50 }

describe.concurrent('a caller', () => {
  test('without a header is anonymous', async ({ onTestFinished }) => {
    const { add, open } = await setUp(onTestFinished)
    await add('a')
    expect((await open())(undefined)).toEqual({ roles: [] })
  })

  test('has the roles of the token', async ({ onTestFinished }) => {
    const { add, open } = await setUp(onTestFinished)
    const [one, other] = [await add('one'), await add('other', { roles: ['read', 'admin'] })]
    const authenticate = await open()
    expect(authenticate(`Bearer ${one}`)).toEqual({ name: 'one', roles: ['invoke'] })
    for (const scheme of ['Bearer', 'bearer', 'BEARER', 'Bearer  '])
      expect(authenticate(`${scheme} ${other}`)).toEqual({ name: 'other', roles: ['read', 'admin'] })
  })

  test('with a header that proves nothing is refused', async ({ onTestFinished }) => {
    const { add, open } = await setUp(onTestFinished)
    const text = await add('a')
    const digest = createHash('sha256').update(text).digest('hex')
    const authenticate = await open()
    const wrong = [
      'Bearer',
      'bearer x',
      'Bearer a b',
      `Bearer ${text} b`,
      `Bearer ${text},`,
      `Bearer ${text}, Bearer ${text}`,
      `Bearer ${text.slice(0, -1)}`,
      `Bearer ${text}A`,
      `Bearer ${text.toUpperCase()}`,
      `Bearer ${digest}`,
      `Bearer ${'x'.repeat(1_000_000)}`,
      `Bearer ${' '.repeat(100_000)}x y`,
      'Bearer ünï',
      'Bearer __proto__',
    ]
    for (const header of wrong) expect(failureOf(authenticate, header)).toEqual(UNKNOWN)
    for (const header of [
      '',
      ' ',
      text,
      `Basic ${text}`,
      `Bearer${text}`,
      `Bearer\t${text}`,
      ` Bearer ${text}`,
      'x'.repeat(1_000_000),
    ])
      expect(failureOf(authenticate, header)).toEqual(NO_BEARER)
  })

  test("can't come in without a token, though the file has the SHA-256 of no text", async ({ onTestFinished }) => {
    const { file, open } = await setUp(onTestFinished)
    await writeFile(
      file,
      JSON.stringify({
        tokens: [
          {
            name: 'a',
            sha256: createHash('sha256').update('').digest('hex'),
            roles: ['admin'],
            created: 0,
            expires: null,
          },
        ],
      }),
    )
    const authenticate = await open()
    for (const header of ['Bearer', 'Bearer ', 'Bearer  ']) expect(failureOf(authenticate, header)).toEqual(UNKNOWN)
  })

  test('is refused from the millisecond on in which the token expires', async ({ onTestFinished }) => {
    const { add, open } = await setUp(onTestFinished)
    const text = await add('a', { expires: 5000 })
    let time = 4999
    const authenticate = await open(() => time)
    expect(authenticate(`Bearer ${text}`)).toMatchObject({ roles: ['invoke'] })
    time = 5000
    expect(failureOf(authenticate, `Bearer ${text}`)).toEqual(EXPIRED)
    time = 4999
    expect(authenticate(`Bearer ${text}`)).toMatchObject({ roles: ['invoke'] })
  })
})

describe.concurrent('the file of tokens', () => {
  test("that is malformed or can't be read is an error at the start", async ({ onTestFinished }) => {
    const { file, open } = await setUp(onTestFinished)
    await writeFile(file, '{')
    await expect(open()).rejects.toThrow(`${file} is not JSON`)
  })

  test('is followed within 5 s when it is made, changed and deleted', async ({ onTestFinished }) => {
    const { file, onError, add, open } = await setUp(onTestFinished)
    const authenticate = await open()
    const text = await add('a')
    await vi.waitFor(() => authenticate(`Bearer ${text}`), FOLLOWED)
    const other = await add('b')
    await revokeToken(file, 'a')
    await vi.waitFor(() => expect(failureOf(authenticate, `Bearer ${text}`)).toEqual(UNKNOWN), FOLLOWED)
    expect(authenticate(`Bearer ${other}`)).toMatchObject({ roles: ['invoke'] })
    await rm(file)
    await vi.waitFor(() => expect(failureOf(authenticate, `Bearer ${other}`)).toEqual(UNKNOWN), FOLLOWED)
    expect(onError).not.toHaveBeenCalled()
  })

  test('that changes right after it was read is followed too, though its size is the same', async ({
    onTestFinished,
  }) => {
    const { file, add, open } = await setUp(onTestFinished)
    await add('a')
    const authenticate = await open()
    await revokeToken(file, 'a')
    const text = await add('b')
    await vi.waitFor(() => authenticate(`Bearer ${text}`), FOLLOWED)
  })

  test('that becomes malformed or unreadable is told once a change, and the tokens stay good', async ({
    onTestFinished,
  }) => {
    const { file, onError, add, open } = await setUp(onTestFinished)
    const text = await add('a')
    const authenticate = await open()
    const times = async (count: number) => {
      await vi.waitFor(() => expect(onError).toHaveBeenCalledTimes(count), FOLLOWED)
      expect(authenticate(`Bearer ${text}`)).toMatchObject({ roles: ['invoke'] })
    }
    await copyFile(file, `${file}.good`)
    await writeFile(`${file}.bad`, '{"tokens":[{}]}')
    await rename(`${file}.bad`, file)
    await times(1)
    expect(onError.mock.calls[0]?.[0].message).toBe(`${file}: tokens[0].name must be text`)
    await writeFile(file, '{"tokens":[{"name":1}]}')
    await times(2)
    // At no moment is there no file.
    await symlink(dirname(file), `${file}.folder`)
    await rename(`${file}.folder`, file)
    await times(3)
    expect(onError.mock.calls[2]?.[0].message).toContain(`${file} can't be read: EISDIR`)
    await pause(4500)
    await times(3)
    await writeFile(`${file}.none`, '{"tokens":[]}')
    await rename(`${file}.none`, file)
    await vi.waitFor(() => expect(failureOf(authenticate, `Bearer ${text}`)).toEqual(UNKNOWN), FOLLOWED)
    await rename(`${file}.good`, file)
    await vi.waitFor(() => authenticate(`Bearer ${text}`), FOLLOWED)
    expect(onError).toHaveBeenCalledTimes(3)
  })

  test('is no longer followed after close', async ({ onTestFinished }) => {
    const { file, onError, add } = await setUp(onTestFinished)
    const text = await add('a')
    const { authenticate, close } = await openTokens({ file, now: Date.now, onError })
    close()
    close()
    await writeFile(file, '{')
    await pause(3000)
    expect(onError).not.toHaveBeenCalled()
    expect(authenticate(`Bearer ${text}`)).toMatchObject({ roles: ['invoke'] })
  })
})
