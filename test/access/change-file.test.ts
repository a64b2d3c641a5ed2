import { existsSync, rmSync } from 'node:fs'
import { chown, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { changeFile } from '../../src/access/change-file.ts'
import { tokenFile } from './folder.ts'

let file: string
let fresh: string
beforeEach(async () => {
  file = await tokenFile(onTestFinished)
  fresh = `${file}.new`
})

const ownerOf = async (path: string) => {
  const { uid, gid, mode } = await stat(path)
  return { uid, gid, mode: mode & 0o777 }
}

const add = (word: string) => (text: string | null) => `${text ?? ''}${word}`

test('another change is waited for', async () => {
  await writeFile(fresh, 'half')
  const started = Date.now()
  const changed = changeFile(file, add('a'))
  await pause(500)
  expect(existsSync(file)).toBe(false)
  rmSync(fresh)
  await changed
  expect(Date.now() - started).toBeLessThan(2000)
  expect(await readFile(file, 'utf8')).toBe('a')
})

test('what a command that died left is told by name', { timeout: 20_000 }, async () => {
  await writeFile(fresh, 'half')
  await expect(changeFile(file, add('a'))).rejects.toThrow(
    `is being changed by another command; if there is none, remove ${fresh}`,
  )
  expect(existsSync(file)).toBe(false)
})

test('changes at once are all made', async () => {
  await writeFile(file, '')
  await Promise.all(['a', 'b', 'c', 'd'].map((word) => changeFile(file, add(word))))
  expect([...(await readFile(file, 'utf8'))].sort().join('')).toBe('abcd')
})

test('a change that throws leaves the file, and nothing beside it', async () => {
  await writeFile(file, 'before')
  await expect(
    changeFile(file, () => {
      throw new Error('no')
    }),
  ).rejects.toThrow('no')
  expect(await readFile(file, 'utf8')).toBe('before')
  expect(existsSync(fresh)).toBe(false)
})

test('a folder that is not there is told by name', async () => {
  const folder = join(dirname(file), 'none')
  await expect(changeFile(join(folder, 'tokens.json'), add('a'))).rejects.toThrow(
    `there is no folder ${folder} to keep tokens.json in`,
  )
})

describe.skipIf(process.getuid?.() !== 0)('by root, who alone may give files away', () => {
  const [OWNER, GROUP] = [65_534, 65_533]

  test("a file that is changed stays its owner's", async () => {
    await writeFile(file, 'x')
    await chown(file, OWNER, GROUP)
    await changeFile(file, add('a'))
    expect(await ownerOf(file)).toEqual({ uid: OWNER, gid: GROUP, mode: 0o600 })
  })

  test("a new one is its folder's owner's", async () => {
    await chown(dirname(file), OWNER, GROUP)
    await changeFile(file, add('a'))
    expect(await ownerOf(file)).toEqual({ uid: OWNER, gid: GROUP, mode: 0o600 })
  })
})
