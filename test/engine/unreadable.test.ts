// What the log tells of stored records that can't be read.
import { expect, test } from 'vitest'
import { malformed, unreadable } from '../../src/model/failure.ts'
import { isUnreadable } from '../../src/engine/record/unreadable.ts'
import { memoryLog } from '../http/support.ts'

test('each is told once to each log, however often it is come upon', () => {
  const [one, other] = [memoryLog(), memoryLog()]
  for (let time = 0; time < 3; time += 1)
    for (const id of [1, 2])
      for (const { log } of [one, other]) expect(isUnreadable(unreadable(id, new Error('garbage')), log)).toBe(true)
  for (const { lines } of [one, other]) {
    expect(lines.map(({ level, message }) => [level, message])).toEqual(
      [1, 2].map((id) => ['error', expect.stringContaining(`context ${id} `)]),
    )
  }
})

test('nothing else is taken for one', () => {
  const { log, lines } = memoryLog()
  for (const error of [new Error('other'), malformed('no such thing'), null])
    expect(isUnreadable(error, log)).toBe(false)
  expect(lines).toEqual([])
})
