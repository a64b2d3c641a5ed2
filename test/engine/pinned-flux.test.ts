// The definition of a stored context: what of it is lost, and what is told in its place.
import { describe, expect, test } from 'vitest'
import { hashOf } from '../../src/definitions/pinned/text.ts'
import type { ContextRecord } from '../../src/model/context.ts'
import { indexKeysOf } from '../../src/engine/record/index-keys.ts'
import { pinnedFluxOf } from '../../src/engine/record/pinned-flux.ts'
import { folderOf, open } from '../definitions/catalog-files.ts'
import { compiled, Hand } from '../support/turns.ts'
import { storeOfDefinition } from '../support/stores.ts'

const source = { states: [{ name: 'first', waiting: true, transitions: [{ to: 'first', event: 'on' }] }] }
const flux = compiled(source, 'Service')
const { record } = new Hand().start(flux).context
const stored = { indexKeys: indexKeysOf(record, flux) }

async function fluxAs(text: string, more: Partial<ContextRecord> = {}, now: object = source) {
  const { catalog } = await open(await folderOf({ 'p/Service.flux': now }))
  return pinnedFluxOf({ catalog, store: storeOfDefinition(text) }, stored, {
    ...record,
    definition: hashOf(text),
    ...more,
  })
}

describe('a definition of which nothing is left', () => {
  test('is secured if the service of that name now is', async () => {
    expect(await fluxAs('{', {}, { ...source, secured: true })).toMatchObject({ secured: true, states: [{}] })
    expect(await fluxAs('{')).toMatchObject({ secured: false })
  })

  test('still takes any event where it took all others', async () => {
    const any = compiled({ states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: '$else' }] }] })
    const { record: waits } = new Hand().start(any).context
    const { catalog } = await open(await folderOf({ 'p/readme.md': '' }))
    const store = storeOfDefinition('{')
    const { states } = await pinnedFluxOf({ catalog, store }, { indexKeys: indexKeysOf(waits, any) }, waits)
    expect(states[0]?.choice.otherwise).toBe(0)
    expect((await fluxAs('{')).states[0]?.choice.otherwise).toBeNull()
  })
})

describe('a definition that has fewer states than the context was in', () => {
  test.each([
    ['visited', { visited: [0, 2] }],
    ['is', { state: 2 }],
    ['started in', { startState: 2 }],
  ])('is lost where the context %s one that it has not', async (_, more) => {
    const { states, lost, faults } = await fluxAs(flux.text, more)
    expect(states.map(({ index }) => index)).toEqual([0, 1, 2])
    expect([lost, faults]).toEqual([null, ['the context stands where its definition has no place']])
  })

  test('is as it was for all others', async () => {
    expect(await fluxAs(flux.text)).toMatchObject({ faults: [], states: [{ name: 'first', fault: null }] })
  })
})
