import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, inject, test } from 'vitest'
import { run } from '../../src/cli/run.ts'
import { END, folderOf } from '../definitions/catalog-files.ts'

async function validate(args: string[], env: Record<string, string> = {}) {
  const [out, err]: [string[], string[]] = [[], []]
  const code = await run(['validate', ...args], {
    env,
    out: (line) => {
      out.push(line)
    },
    err: (line) => {
      err.push(line)
    },
  })
  return { code, out, err }
}

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
