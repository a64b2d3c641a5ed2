import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, inject, test } from 'vitest'
import { reportLines } from '../../src/cli/report.ts'
import { LoadError, startServer } from '../../src/main.ts'
import { readSettings } from '../../src/settings.ts'
import { END, folderOf } from '../definitions/catalog-files.ts'
import { commandLines } from './world.ts'
import { silent } from '../support/silent.ts'

const validate = (args: string[], env: Record<string, string> = {}) => commandLines(['validate', ...args], env)

describe('validate', () => {
  test('needs no more settings than it uses', async () => {
    const folder = await folderOf({ 'p/A.flux': END })
    const bad = { ACTORFLUX_PORT: 'abc', ACTORFLUX_REDIS_URL: 'none', ACTORFLUX_REQUIRE_AUTH: 'yes' }
    const fine = { code: 0, out: ['1 service: 0 faults, 0 warnings'], err: [] }
    expect(await validate([], { ...bad, ACTORFLUX_ACTORS: folder })).toEqual(fine)
    expect(await validate([folder], { ...bad, ACTORFLUX_ACTORS: ':' })).toEqual(fine)
    expect(await validate([], { ACTORFLUX_ACTORS: ':' })).toEqual({
      code: 1,
      out: [],
      err: ['actorflux: ACTORFLUX_ACTORS must name a folder'],
    })
  })

  test('names of files and keys never control the terminal', async () => {
    const states = [{ name: 'a', 'key\u001b[2J': 1 }]
    const folder = await folderOf({
      'p/A\u001b]0;x\u0007.flux': { states },
      'p/B\u202e.flux': '{',
      'p/C\u001b.gloop': '',
    })
    const { out, err } = await validate([folder])
    expect(out.length).toBeGreaterThan(3)
    for (const line of [...out, ...err]) expect(line).not.toMatch(/[\p{Cc}\u202e]/u)
    expect(out.join()).toContain('A\\u001b]0;x\\u0007.flux')
  })

  test('fails where there is no service at all', async () => {
    const folder = await folderOf({ 'p/A.flux': END, 'q/readme.txt': '' })
    for (const [path, warnings] of [
      [join(folder, 'p'), '2 warnings'],
      [join(folder, 'q'), '1 warning'],
    ] as const) {
      const { code, out, err } = await validate([path])
      expect({ code, err }).toEqual({
        code: 1,
        err: [`actorflux: no service was found: ${path} must hold packages, which are folders of .flux files`],
      })
      expect(out.at(-1)).toBe(`0 services: 0 faults, ${warnings}`)
    }
  })

  test.each(['process.exit(0)', 'setTimeout(() => process.exit(), 50)\nawait new Promise(() => {})'])(
    'fails when a module ends the process: %s',
    async (end) => {
      const folder = await folderOf({
        'p/ending.ts': `${end}\nexport const f = () => 1`,
        'p/A.flux': { states: [{ name: 'a', action: { type: 'invokeCode', className: 'ending', methodName: 'f' } }] },
      })
      const ended = promisify(execFile)(process.execPath, [inject('program'), 'validate', folder])
      await expect(ended).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /^actorflux: the process was ended by code that it ran, at .*ending\.ts[^\n]*\n$/,
        ),
      })
    },
  )
})

const hook = (scheme: string, ...names: string[]) => ({
  ...END,
  webhooks: [
    {
      urlPath: '/h',
      httpMethods: ['POST'],
      verify: { scheme, secrets: names.map((name) => `$secrets.${name}`) },
    },
  ],
})
const twice = { ACTORFLUX_SECRET_KEY: 'one-value', ACTORFLUX_SECRET_KEY_FILE: '/other-value' }
const at = '/p/A.flux:1:'

/** What keeps the server from starting. */
async function refusal(service: unknown, env: Record<string, string>): Promise<string[]> {
  const folder = await folderOf({ 'p/A.flux': service })
  const settings = readSettings({
    ACTORFLUX_ACTORS: folder,
    ACTORFLUX_DATA: join(folder, '.data'),
    ACTORFLUX_PORT: '0',
  })
  const error: unknown = await startServer(settings, { log: silent, env }).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(LoadError)
  return error instanceof LoadError ? reportLines(error.report) : []
}

describe('secrets', () => {
  test('that are missing are warnings here, and faults where services are served', async () => {
    const service = hook('github', 'KEY', 'OTHER')
    const folder = await folderOf({ 'p/A.flux': service })
    const { code, out } = await validate([folder], { ACTORFLUX_SECRET_OTHER: 'x' })
    expect(code).toBe(0)
    const told =
      'there is no secret KEY: set ACTORFLUX_SECRET_KEY, or ACTORFLUX_SECRET_KEY_FILE to the file that has it'
    const [first = ''] = out
    expect(first).toMatch(/^.*\/p\/A\.flux:1:\d+ #\/webhooks\/0\/verify\/secrets\/0: warning: /)
    expect(first).toContain(told)
    expect(out.at(-1)).toBe('1 service: 0 faults, 1 warning')
    const lines = await refusal(service, { ACTORFLUX_SECRET_OTHER: 'x' })
    expect(lines).toEqual([expect.stringContaining(`#/webhooks/0/verify/secrets/0: ${told}`)])
    expect(lines[0]).toContain(at)
  })

  test('in the inputs of a function and in onEnd are checked, too', async () => {
    const inputs = [{ from: ['$secrets', 'KEY'], to: ['a'] }]
    const action = { type: 'invokeCode', className: 'Logger', methodName: 'info', inputs }
    const onEnd = { url: 'https://x.example', secret: '$secrets.END' }
    const lines = await refusal({ onEnd, states: [{ name: 'end', action }] }, { ACTORFLUX_SECRET_END: 'whpk_AAAA' })
    expect(lines).toEqual([
      expect.stringContaining("#/onEnd/secret: the secret END can't be used here: a public key can check signatures"),
      expect.stringContaining('#/states/0/action/inputs/0/from: there is no secret KEY'),
    ])
  })

  test('that are set twice are faults everywhere', async () => {
    const service = hook('github', 'KEY')
    const { code, out } = await validate([await folderOf({ 'p/A.flux': service })], twice)
    const told = 'the secret KEY is set twice, by ACTORFLUX_SECRET_KEY and by ACTORFLUX_SECRET_KEY_FILE'
    expect(code).toBe(1)
    expect(out[0]).toContain(told)
    const lines = await refusal(service, twice)
    expect(lines).toEqual([expect.stringContaining(told)])
    expect([...out, ...lines].join('')).not.toMatch(/one-value|other-value/)
  })

  test.each([
    ['whsec_%%', /can't be used here: must be base64/],
    ['whpk_AAAA', /can't be used here: after "whpk_"/],
  ])('that are malformed are faults where services are served: %s', async (value, reason) => {
    const service = hook('standard', 'KEY')
    const env = { ACTORFLUX_SECRET_KEY: value }
    const lines = await refusal(service, env)
    expect(lines).toEqual([expect.stringMatching(reason)])
    expect(lines[0]).not.toContain(value)
    const { out } = await validate([await folderOf({ 'p/A.flux': service })], env)
    expect(out).toEqual(['1 service: 0 faults, 0 warnings'])
  })
})
