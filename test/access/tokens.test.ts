import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createToken, isRevoked, readTokens, revokeToken, type Token } from '../../src/access/tokens.ts'
import { tokenFile } from './folder.ts'

const details = (name: string): Omit<Token, 'sha256'> => ({ name, roles: ['invoke'], created: 1000, expires: null })
const GOOD = { name: 'a', sha256: 'a'.repeat(64), roles: ['read', 'admin'], created: 1, expires: 2 }
const only = (token: unknown) => JSON.stringify({ tokens: [token] })

let file: string
beforeEach(async () => {
  file = await tokenFile(onTestFinished)
})

const filesBeside = () => readdir(dirname(file))

describe('a token', () => {
  test('is 32 random bytes, and the file has only its SHA-256', async () => {
    const text = await createToken(file, { ...details('svc'), roles: ['read', 'admin'], expires: 5000 })
    expect(text).toMatch(/^af_[A-Za-z0-9_-]{43}$/)
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
      tokens: [
        {
          name: 'svc',
          sha256: createHash('sha256').update(text).digest('hex'),
          roles: ['read', 'admin'],
          created: 1000,
          expires: 5000,
        },
      ],
    })
    expect(await createToken(file, details('other'))).not.toBe(text)
  })

  test('is in a file for its owner alone, also if that was open before', async () => {
    await createToken(file, details('a'))
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    await chmod(file, 0o644)
    await revokeToken(file, 'a')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  })

  test('has a name of its own', async () => {
    await createToken(file, details('a'))
    const before = await readFile(file, 'utf8')
    await expect(createToken(file, details('a'))).rejects.toThrow('there is a token named a already')
    expect(await readFile(file, 'utf8')).toBe(before)
    expect(await filesBeside()).toEqual(['tokens.json'])
  })

  test('can be revoked, once', async () => {
    for (const name of ['a', 'b', 'c']) await createToken(file, details(name))
    await revokeToken(file, 'b')
    expect((await readTokens(file)).filter((token) => !isRevoked(token)).map(({ name }) => name)).toEqual(['a', 'c'])
    await expect(revokeToken(file, 'b')).rejects.toThrow('there is no token of that name')
  })

  test('is not made under the name of a revoked one before thirty days, for which keys may be kept', async () => {
    const before = await createToken(file, details('a'))
    vi.setSystemTime('2026-01-01')
    onTestFinished(() => void vi.useRealTimers())
    await revokeToken(file, 'a')
    vi.setSystemTime('2026-01-30')
    await expect(createToken(file, details('a'))).rejects.toThrow('choose another name, or wait until 2026-01-31')
    await createToken(file, details('b'))
    expect((await readTokens(file)).map(isRevoked)).toEqual([true, false])
    vi.setSystemTime('2026-01-31')
    const [a, b] = [await createToken(file, details('a')), await readTokens(file)]
    expect(a).not.toBe(before)
    expect(b.map(({ name }) => name)).toEqual(['b', 'a'])
    expect(b.some(isRevoked)).toBe(false)
  })

  test('none is lost when many are made at once', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `svc-${index}`)
    const texts = await Promise.all(names.map((name) => createToken(file, details(name))))
    const tokens = await readTokens(file)
    expect(tokens.map(({ name }) => name).sort()).toEqual(names.sort())
    expect(new Set(tokens.map(({ sha256 }) => sha256))).toEqual(
      new Set(texts.map((text) => createHash('sha256').update(text).digest('hex'))),
    )
    expect(await filesBeside()).toEqual(['tokens.json'])
  })
})

describe('the file of tokens', () => {
  test('that is not there has none', async () => expect(await readTokens(file)).toEqual([]))

  test('may be a link, and stays one', async () => {
    const real = join(dirname(file), 'real.json')
    await writeFile(real, '{"tokens":[]}')
    await symlink(real, file)
    await createToken(file, details('a'))
    expect((await lstat(file)).isSymbolicLink()).toBe(true)
    expect(await readTokens(real)).toHaveLength(1)
  })

  test('that is a folder is told by name', async () => {
    await mkdir(file)
    await expect(readTokens(file)).rejects.toThrow(`${file} can't be read: EISDIR`)
  })

  test('is well-formed with every role, and no expiry', async () => {
    const tokens = [GOOD, { ...GOOD, name: 'B_.-9', sha256: 'b'.repeat(64), roles: ['invoke'], expires: null }]
    await writeFile(file, JSON.stringify({ tokens }))
    expect(await readTokens(file)).toEqual(tokens)
  })

  test('may begin with a byte order mark', async () => {
    await writeFile(file, `\ufeff${only(GOOD)}`)
    expect(await readTokens(file)).toEqual([GOOD])
    await createToken(file, details('new'))
    expect(await readTokens(file)).toHaveLength(2)
  })

  test.each([
    ['', 'is not JSON'],
    ['{"tokens":["s3cret', 'is not JSON'],
    ['[]', ': its content must be an object of tokens alone'],
    ['{}', ': tokens must be a list'],
    ['{"tokens":{}}', ': tokens must be a list'],
    ['{"tokens":[],"s3cret":1}', ': its content must be an object of tokens alone'],
    [only('s3cret'), ': tokens[0] must be an object of name, sha256, roles, created, expires and rate alone'],
    [
      only({ ...GOOD, s3cret: 1 }),
      ': tokens[0] must be an object of name, sha256, roles, created, expires and rate alone',
    ],
    [only({ ...GOOD, name: 1 }), ': tokens[0].name must be text'],
    [only({ ...GOOD, name: 's3cret\n' }), ': tokens[0].name must be 1 to 64 letters, digits, -, _ and .'],
    [only({ ...GOOD, name: '' }), ': tokens[0].name must be 1 to 64 letters, digits, -, _ and .'],
    [only({ ...GOOD, sha256: 's3cret' }), ': tokens[0].sha256 must be 64 hexadecimal digits, in lower case'],
    [only({ ...GOOD, roles: undefined }), ': tokens[0].roles must be a list'],
    [only({ ...GOOD, roles: [] }), ': tokens[0].roles must name a role'],
    [only({ ...GOOD, roles: ['read', 's3cret'] }), ': tokens[0].roles[1] must be one of read, invoke, admin'],
    [only({ ...GOOD, roles: ['constructor'] }), ': tokens[0].roles[0] must be one of read, invoke, admin'],
    [only({ ...GOOD, created: '1' }), ': tokens[0].created must be epoch milliseconds'],
    [only({ ...GOOD, expires: undefined }), ': tokens[0].expires must be epoch milliseconds or null'],
    [only({ ...GOOD, expires: 1.5 }), ': tokens[0].expires must be epoch milliseconds or null'],
    [only({ ...GOOD, expires: -1 }), ': tokens[0].expires must be epoch milliseconds or null'],
    [only({ ...GOOD, expires: 1e300 }), ': tokens[0].expires must be epoch milliseconds or null'],
    ...[5, '', '0/s', '5/h', '5 /s', '1000001/s', '1.5/s'].map((rate): [string, string] => [
      only({ ...GOOD, rate }),
      ': tokens[0].rate must be a number of calls from 1 to 1000000 in a second or minute, such as 500/s or 30/m',
    ]),
    [
      JSON.stringify({ tokens: [GOOD, { ...GOOD, sha256: 'b'.repeat(64) }] }),
      ': tokens[1].name must not be that of another token',
    ],
    [
      JSON.stringify({ tokens: [GOOD, { ...GOOD, name: 'b' }] }),
      ': tokens[1].sha256 must not be that of another token',
    ],
  ])('that is malformed is told in one line that quotes nothing, and never changed: %s', async (text, reason) => {
    await writeFile(file, text)
    const errors = await Promise.all(
      [readTokens(file), createToken(file, details('new')), revokeToken(file, 'a')].map((call) =>
        call.then(
          () => null,
          (error: unknown) => error,
        ),
      ),
    )
    for (const error of errors) {
      expect(error).toBeInstanceOf(Error)
      expect(String(error)).toBe(`Error: ${file}${reason.startsWith(':') ? '' : ' '}${reason}`)
      expect(error).not.toHaveProperty('cause')
    }
    expect(await readFile(file, 'utf8')).toBe(text)
    expect(await filesBeside()).toEqual(['tokens.json'])
  })
})
