// The notes about a blocked event loop, written and erased by the watchdog's thread of another process.
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { newFolder } from '../support/at-end.ts'

const JITI = join(createRequire(import.meta.url).resolve('jiti/package.json'), '../lib/jiti-cli.mjs')
const CHILD = join(import.meta.dirname, 'blocked-child.ts')

test('are erased after the last of them, when the event loop turns again', async () => {
  const folder = await newFolder()
  const { stdout } = await promisify(execFile)(process.execPath, [JITI, CHILD, join(folder, 'notes')], {
    timeout: 25_000,
  })
  expect(JSON.parse(stdout)).toEqual(['opened', 'begins 1', 'wrote 1', 'begins 2', 'wrote 2', 'erased'])
})
