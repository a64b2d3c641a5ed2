import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { readFile, utimes, writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { changeFile } from '../../src/access/change-file.ts'
import { tokenFile } from './folder.ts'

let file: string
let fresh: string
beforeEach(async () => {
  file = await tokenFile(onTestFinished)
  fresh = `${file}.new`
})

const add = (word: string) => (text: string | null) => `${text ?? ''}${word}`

test('what a command that died left is taken over by one alone after 10 s', async () => {
  await writeFile(file, '')
  await writeFile(fresh, 'half')
  const then = Date.now() / 1000 - 10.5
  await utimes(fresh, then, then)
  await Promise.all(['a', 'b', 'c', 'd'].map((word) => changeFile(file, add(word))))
  expect([...await readFile(file, 'utf8')].sort().join('')).toBe('abcd')
  expect(existsSync(fresh)).toBe(false)
})

test('what is younger is waited for', async () => {
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

test('one that was taken for dead starts over, and puts nobody else\'s half in place', async () => {
  let times = 0
  const changed = changeFile(file, (text) => {
    times += 1
    if (times === 1) {
      rmSync(fresh)
      writeFileSync(fresh, 'half')
    }
    return add('a')(text)
  })
  await pause(300)
  expect(times).toBe(1)
  expect(existsSync(file)).toBe(false)
  expect(await readFile(fresh, 'utf8')).toBe('half')
  await writeFile(file, 'theirs ')
  rmSync(fresh)
  await changed
  expect(await readFile(file, 'utf8')).toBe('theirs a')
})

test('a change that throws leaves the file, and nothing beside it', async () => {
  await writeFile(file, 'before')
  await expect(changeFile(file, () => { throw new Error('no') })).rejects.toThrow('no')
  expect(await readFile(file, 'utf8')).toBe('before')
  expect(existsSync(fresh)).toBe(false)
})
