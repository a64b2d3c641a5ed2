import { expect, test } from 'vitest'
import { Turnstile } from '../../src/model/turnstile.ts'
import { held } from '../support/held.ts'

test('as many as may are under way, the others in order, and further ones are refused until one has ended', async () => {
  const turnstile = new Turnstile(2, { waiting: 2, what: 'tests' })
  const begun: number[] = []
  const ends = Array.from({ length: 6 }, () => held<null>())
  const run = (n: number) =>
    turnstile.run(async () => {
      begun.push(n)
      await ends[n]?.promise
    })
  const runs = [0, 1, 2, 3].map(run)
  await expect(run(4)).rejects.toMatchObject({
    failure: { kind: 'overloaded', detail: 'the server has too many tests at present' },
  })
  expect(begun).toEqual([0, 1])
  ends[1]?.release(null)
  await runs[1]
  const last = run(5)
  await Promise.resolve()
  expect(begun).toEqual([0, 1, 2])
  for (const end of ends) end.release(null)
  await Promise.all([...runs, last])
  expect(begun).toEqual([0, 1, 2, 3, 5])
})

test('one that fails leaves its place', async () => {
  const turnstile = new Turnstile(1)
  await expect(turnstile.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await turnstile.run(() => Promise.resolve(7))).toBe(7)
})
