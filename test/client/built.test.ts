// The built files of the client: what they import at run time.
import { readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { parseSync } from 'oxc-parser'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildClient, type BuiltClient } from './built.ts'

let built: BuiltClient
beforeAll(async () => {
  built = await buildClient()
})
afterAll(() => built.remove())

test('they import each other, and nothing else', async () => {
  const files = [join(built.dist, 'client/client.js')]
  for (const file of files) {
    const { module, errors } = parseSync(file, await readFile(file, 'utf8'))
    expect(errors).toEqual([])
    expect(module.dynamicImports).toEqual([])
    const sources = [
      ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
      ...module.staticExports.flatMap(({ entries }) =>
        entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? []),
      ),
    ]
    for (const source of sources) {
      expect(source).toMatch(/^\.\.?\//)
      const target = join(dirname(file), source)
      if (!files.includes(target)) files.push(target)
    }
  }
  const names = files.map((file) => relative(built.dist, file))
  expect(names.length).toBeGreaterThan(8)
  expect(names.filter((name) => !name.startsWith('client/'))).toEqual([])
})
