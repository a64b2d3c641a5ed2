import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createToken, revokeToken } from '../../src/access/tokens.ts'
import { warnOfMissingToken } from '../../src/cli/serve.ts'
import { readSettings } from '../../src/settings.ts'
import { tokenFile } from '../access/folder.ts'
import { NO_TERMINAL } from './world.ts'

let file: string
beforeEach(async () => {
  file = await tokenFile(onTestFinished)
})

async function warnings(requireAuth: boolean, ...secured: boolean[]): Promise<string[]> {
  const lines: string[] = []
  const settings = readSettings({ ACTORFLUX_TOKENS: file, ACTORFLUX_REQUIRE_AUTH: String(requireAuth) })
  await warnOfMissingToken(
    settings,
    secured.map((each) => ({ package: 'p', fluxName: 'S', triggers: [], webhooks: [], source: { secured: each } })),
    {
      env: {},
      out: () => {},
      ...NO_TERMINAL,
      err: (line) => {
        lines.push(line)
      },
    },
  )
  return lines
}

test('nobody is shut out where everything is open', async () => {
  expect(await warnings(false)).toEqual([])
  expect(await warnings(false, false, false)).toEqual([])
})

test('warns that calls need a token while the file has no valid one', async () => {
  const all = [
    expect.stringMatching(
      /^actorflux: warning: every call needs a token, and .*tokens\.json has no valid one; create one with: actorflux token create --name <name>$/,
    ),
  ]
  expect(await warnings(true)).toEqual(all)
  expect(await warnings(false, false, true, true)).toEqual([
    expect.stringContaining('each call of 2 secured services needs a token'),
  ])
  await createToken(file, { name: 'old', roles: ['invoke'], created: 0, expires: 1 })
  expect(await warnings(true, true)).toEqual(all)
  await createToken(file, { name: 'good', roles: ['invoke'], created: 0, expires: null })
  expect(await warnings(true, true)).toEqual([])
  await revokeToken(file, 'good')
  expect(await warnings(true)).toEqual(all)
})
