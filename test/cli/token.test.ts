import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { openTokens } from '../../src/access/authenticate.ts'
import { readTokens } from '../../src/access/tokens.ts'
import { CALL_LIST } from '../../src/api/calls.ts'
import { ROLE_MEANINGS } from '../../src/model/caller.ts'
import { tokenFile } from '../access/folder.ts'
import { commandLines } from './world.ts'

const DAY = 86_400_000

let file: string
beforeEach(async () => {
  file = await tokenFile(onTestFinished)
})

async function token(...args: string[]) {
  const { err, ...told } = await commandLines(['token', ...args], { ACTORFLUX_TOKENS: file })
  return { ...told, err: err.join('\n') }
}

async function rolesOf(text: string | undefined) {
  const { authenticate, close } = await openTokens({ file, now: Date.now, onError: () => {} })
  close()
  return authenticate(`Bearer ${text}`).roles
}

test('help and the documents say of each role what the calls need', async () => {
  const documented = await readFile(new URL('../../src/http/README.md', import.meta.url), 'utf8')
  const { out } = await token('create', '--help')
  for (const [role, meaning] of Object.entries(ROLE_MEANINGS)) {
    expect(out.join('\n')).toMatch(new RegExp(`^ +${role} +${meaning}$`, 'm'))
    expect(documented).toMatch(new RegExp(`\\| \`${role}\`.* \\| ${meaning}`))
  }
  for (const { name, call } of CALL_LIST) {
    const least = /^(?:retry|pause|resume)/.test(name) ? 'admin' : 'invoke'
    expect([name, call.role]).toEqual([name, call.method === 'GET' ? 'read' : least])
  }
})

describe('token create', () => {
  test('prints the token alone on the last line, and keeps nothing of it', async () => {
    const { code, out, err } = await token('create', '--name', 'svc')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const text = out.at(-1) ?? ''
    expect(text).toMatch(/^af_[\w-]{43}$/)
    expect(out.length).toBeGreaterThan(1)
    for (const line of out.slice(0, -1)) expect(line).not.toContain(text)
    expect(await rolesOf(text)).toEqual(['invoke'])
    expect(await readFile(file, 'utf8')).not.toContain(text.slice(3))
    expect((await readTokens(file))[0]?.expires).toBeNull()
  })

  test('takes roles, each once', async () => {
    expect(await rolesOf((await token('create', '--name', 'a', '--roles', 'admin, read,admin')).out.at(-1))).toEqual([
      'admin',
      'read',
    ])
  })

  test('takes a rate, and lists it', async () => {
    expect((await token('create', '--name', 'a', '--rate', '500/S')).out.at(0)).toContain('at most 500/s')
    await token('create', '--name', 'b')
    expect((await readTokens(file)).map(({ rate }) => rate)).toEqual(['500/s', undefined])
    const { out } = await token('list')
    expect([out[0], out[1]?.endsWith('  500/s'), out[2]?.endsWith('never')]).toEqual([
      'NAME  ROLES   CREATED               EXPIRES  RATE',
      true,
      true,
    ])
  })

  test.each([
    ['90d', 90 * DAY],
    ['1.5h', 5_400_000],
    ['30S', 30_000],
    ['5m', 300_000],
    ['2w', 14 * DAY],
  ])('--expires %s', async (expires, duration) => {
    expect((await token('create', '--name', 'a', '--expires', expires)).code).toBe(0)
    const [made] = await readTokens(file)
    expect(made?.expires).toBe((made?.created ?? 0) + duration)
    expect(Math.abs(Date.now() - (made?.created ?? 0))).toBeLessThan(10_000)
  })

  test('a name that is taken fails in one line', async () => {
    await token('create', '--name', 'a')
    expect(await token('create', '--name', 'a')).toEqual({
      code: 1,
      out: [],
      err: 'actorflux: there is a token named a already',
    })
    expect(await readTokens(file)).toHaveLength(1)
  })

  test('four processes at once lose none', async () => {
    const names = ['a', 'b', 'c', 'd']
    const texts = await Promise.all(
      names.map(async (name) => {
        const { stdout } = await promisify(execFile)(
          process.execPath,
          [inject('program'), 'token', 'create', '--name', name],
          {
            cwd: dirname(file),
            env: { ...process.env, ACTORFLUX_TOKENS: '' },
          },
        )
        return stdout.trimEnd().split('\n').at(-1)
      }),
    )
    expect((await readTokens(file)).map(({ name }) => name).sort()).toEqual(names)
    for (const text of texts) expect(await rolesOf(text)).toEqual(['invoke'])
  })
})

describe('token list', () => {
  test('shows all but the hash', async () => {
    await writeFile(
      file,
      JSON.stringify({
        tokens: [
          { name: 'old-one', sha256: 'a'.repeat(64), roles: ['read', 'admin'], created: 0, expires: DAY },
          { name: 'new', sha256: 'b'.repeat(64), roles: ['invoke'], created: DAY + 1, expires: null },
          { name: 'far', sha256: 'c'.repeat(64), roles: ['invoke'], created: 0, expires: 8.64e15 },
        ],
      }),
    )
    expect(await token('list')).toEqual({
      code: 0,
      err: '',
      out: [
        'NAME     ROLES       CREATED               EXPIRES                         RATE',
        'old-one  read,admin  1970-01-01T00:00:00Z  1970-01-02T00:00:00Z (expired)',
        'new      invoke      1970-01-02T00:00:00Z  never',
        'far      invoke      1970-01-01T00:00:00Z  +275760-09-13T00:00:00Z',
      ],
    })
  })

  test('of no tokens is a head alone', async () => {
    expect((await token('list')).out).toEqual(['NAME  ROLES  CREATED  EXPIRES  RATE'])
  })

  test('of a malformed file fails in one line', async () => {
    await writeFile(file, 's3cret')
    expect(await token('list')).toEqual({ code: 1, out: [], err: `actorflux: ${file} is not JSON` })
  })
})

describe('the file of tokens', () => {
  test('is all that matters of the settings', async () => {
    const env = { ACTORFLUX_TOKENS: file, ACTORFLUX_PORT: 'abc', ACTORFLUX_REDIS_URL: 'none' }
    const told = { code: 0, out: ['NAME  ROLES  CREATED  EXPIRES  RATE'], err: [] }
    expect(await commandLines(['token', 'list'], env)).toEqual(told)
  })

  test('needs its folder', async () => {
    const folder = dirname(file)
    file = join(folder, 'none', 'tokens.json')
    expect(await token('create', '--name', 'a')).toEqual({
      code: 1,
      out: [],
      err: `actorflux: there is no folder ${join(folder, 'none')} to keep tokens.json in`,
    })
  })
})

describe('token revoke', () => {
  test('ends it', async () => {
    const text = (await token('create', '--name', 'a')).out.at(-1)
    expect((await token('revoke', '--name', 'a')).code).toBe(0)
    await expect(rolesOf(text)).rejects.toThrow('the token is not known')
    expect(await token('revoke', '--name', 'a')).toEqual({
      code: 1,
      out: [],
      err: 'actorflux: there is no token of that name',
    })
    expect((await token('list')).out[1]).toMatch(/^a .*Z \(revoked\)$/)
    expect(await token('create', '--name', 'a')).toMatchObject({
      code: 1,
      err: expect.stringContaining('a token named a was revoked'),
    })
  })
})

describe('the command line', () => {
  test.each([
    [[], 'token needs a command'],
    [['fly'], 'there is no command token fly'],
    [['constructor'], 'there is no command token constructor'],
    [['create'], '--name is missing'],
    [['create', '--name'], '--name'],
    [['create', '--name', ''], '--name must be'],
    [['create', '--name', 'a b'], '--name must be'],
    [['create', '--name', 'a\n'], '--name must be'],
    [['create', '--name', 'a'.repeat(65)], '--name must be'],
    [['create', '--name', 'é'], '--name must be'],
    [['create', 'a'], 'no further words'],
    [['create', '--name', 'a', '--fast'], '--fast'],
    [['create', '--name', 'a', '--roles', ''], '--roles must be one of read, invoke, admin'],
    [['create', '--name', 'a', '--roles', 'read,'], '--roles must be one of'],
    [['create', '--name', 'a', '--roles', 'root'], '--roles must be one of'],
    [['create', '--name', 'a', '--roles', 'constructor'], '--roles must be one of'],
    ...['', '0d', '90', 'd', '-1d', '1y', '90dd', '9999999999d', '0.0001s', '500ms', 'never'].map(
      (text) =>
        [
          ['create', '--name', 'a', `--expires=${text}`],
          '--expires must be a duration such as 12h, 90d or 52w, of the units s, m, h, d, w;',
        ] as const,
    ),
    [['list', '--name', 'a'], 'there is no option --name'],
    [['list', 'a'], 'no further words'],
    [['revoke'], '--name is missing'],
    [['revoke', '--name', 'a b'], '--name must be'],
    [['revoke', 'a'], 'no further words'],
    [['revoke', 'a', 'b'], 'no further words'],
    [['revoke', 'a', '--name', 'a'], 'no further words'],
    [['revoke', 'a', '--roles', 'read'], 'there is no option --roles'],
  ] as const)('%j is a mistake of usage', async (args, reason) => {
    const { code, out, err } = await token(...args)
    expect({ code, out }).toEqual({ code: 2, out: [] })
    expect(err).toContain(reason)
    expect(err).toContain('(see actorflux token --help)')
    await expect(readFile(file)).rejects.toThrow('ENOENT')
  })

  test.each([
    [['--help'], 'Usage: actorflux token <command>'],
    ...['create', 'list', 'revoke'].flatMap(
      (name) =>
        [
          [[name, '--help'], `Usage: actorflux token ${name}`],
          [['-h', name], `Usage: actorflux token ${name}`],
        ] as const,
    ),
  ] as const)('%j helps', async (args, usage) => {
    const { code, out, err } = await token(...args)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out.join('\n')).toContain(usage)
  })
})
