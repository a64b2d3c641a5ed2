// Definitions are in the store before a commit names them, and again after a while: a store may lose its last moments.
import { expect, test } from 'vitest'
import { unavailable } from '../../src/model/failure.ts'
import { Pins } from '../../src/engine/contexts/ids.ts'
import { held } from '../support/held.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { emptyStore } from '../support/stores.ts'
import { compiled } from '../support/turns.ts'

const flux = compiled({ states: [{ name: 'end' }] })

function open(put: () => Promise<void> = () => Promise.resolve()) {
  const clock = new SimulatedClock()
  const stored: string[] = []
  const state = { incarnation: 0 }
  const store = emptyStore({
    async commit({ rows: [row] = [] }) {
      expect(row).toMatchObject({ space: 'definitions', value: flux.text, expiresAt: null })
      stored.push(row?.key ?? '')
      await put()
      return { ok: true }
    },
  })
  const pins = new Pins(
    {
      ...store,
      get incarnation() {
        return state.incarnation
      },
    },
    clock,
  )
  return { clock, stored, state, pins }
}

test('a definition is stored once, however many ask for it at once, and is there only then', async () => {
  const put = held<void>()
  const { stored, pins } = open(() => put.promise)
  const all = Promise.all([pins.pin(flux), pins.pin(flux), pins.pin(flux)])
  expect([stored, pins.has(flux)]).toEqual([[flux.hash], false])
  put.release()
  await all
  expect(pins.has(flux)).toBe(true)
  await pins.pin(flux)
  expect(stored).toEqual([flux.hash])
})

test('it is stored again after a minute', async () => {
  const { clock, stored, pins } = open()
  await pins.pin(flux)
  await clock.advance(59_999)
  expect(pins.has(flux)).toBe(true)
  await clock.advance(1)
  expect(pins.has(flux)).toBe(false)
  await pins.pin(flux)
  expect(pins.has(flux)).toBe(true)
  expect(stored).toHaveLength(2)
})

test('it is stored again when the store was away', async () => {
  const { state, stored, pins } = open()
  await pins.pin(flux)
  state.incarnation = 1
  expect(pins.has(flux)).toBe(false)
  await pins.pin(flux)
  expect([stored.length, pins.has(flux)]).toEqual([2, true])
})

test('what the store refused is tried again', async () => {
  const faults = [unavailable('out of reach')]
  const { stored, pins } = open(() => {
    const fault = faults.pop()
    return fault ? Promise.reject(fault) : Promise.resolve()
  })
  await expect(pins.pin(flux)).rejects.toThrow('out of reach')
  expect(pins.has(flux)).toBe(false)
  await pins.pin(flux)
  expect([stored.length, pins.has(flux)]).toEqual([2, true])
})
