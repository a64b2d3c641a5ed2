// Writes of a context: what changed is encoded anew, within the bound of the whole, and its key is claimed when it begins
// or goes on. A write that changes the head of a context alone leaves all else as the store has it.
import { expect, test } from 'vitest'
import { headWrite, RecordTooLarge, writeOf } from '../../src/engine/record/encode.ts'
import { usingKey } from '../../src/engine/record/index-keys.ts'
import type { ContextRecord } from '../../src/model/context.ts'
import type { StoredContext } from '../../src/ports/store.ts'
import { compiled, Hand } from '../support/turns.ts'

const flux = compiled({ states: [{ name: 'w', waiting: true, transitions: [{ to: 'w', event: 'go' }] }] })

function stored() {
  const { context, writes } = new Hand().start(flux)
  const { parts } = writes[0]?.context ?? {}
  if (!parts) throw new Error('it was written')
  return { record: context.record, parts }
}

const written = (
  before: ContextRecord,
  texts: StoredContext['parts'],
  change: Partial<ContextRecord>,
  maxRecord = 1000,
) =>
  writeOf({
    before,
    texts,
    next: { ...before, ...change },
    flux,
    log: [],
    maxRecord,
    notifies: [],
    answersNotification: true,
  })

test('parts that stay as they are count as well, before and after one that changes', () => {
  const { record, parts } = stored()
  const large = { a: 'x'.repeat(600) }
  for (const [kept, changed] of [
    ['input', 'output'],
    ['output', 'input'],
  ] as const) {
    const first = written(record, parts, { [kept]: large })
    const next = (maxRecord: number) =>
      written(first.record, first.write.context.parts, { [changed]: large }, maxRecord)
    expect(() => next(1000)).toThrow(RecordTooLarge)
    expect(next(2000).write.changed).toEqual([changed])
  }
})

test('one that is retried claims its key again, and one that goes on has it', () => {
  const { record, parts } = stored()
  const keyed = { ...record, key: 'k' }
  const address = usingKey({ package: record.package, fluxName: record.fluxName, key: 'k' })
  expect(written({ ...keyed, status: 'FAILED' }, parts, { status: 'RUNNING' }).write.unique).toBe(address)
  expect(written(keyed, parts, { due: 9 }).write.unique).toBeUndefined()
  expect(written(keyed, parts, { status: 'FAILED' }).write.unique).toBeUndefined()
})

test.each([
  ['waits for a child still has its notification to answer', 7, false],
  ['waits for none has answered', null, true],
] as const)('a context that %s', (_, child, answersNotification) => {
  const { record, parts } = stored()
  const write = headWrite({ version: record.version, parts }, { ...record, child, due: 9 }, flux, [3])
  expect(write).toMatchObject({
    previous: 1,
    changed: ['head'],
    log: [],
    notifies: [3],
    answersNotification,
    context: { version: 2, due: 9, parts: { base: parts['base'], tail: parts['tail'] } },
  })
  expect(JSON.parse(write.context.parts['head'] ?? '')).toMatchObject({ ...(child && { child }), due: 9 })
})

test('a context that ends by its head alone names the part with its early events as removed', () => {
  const { record, parts } = stored()
  const texts = { ...parts, pending: '[]' }
  const write = headWrite({ version: record.version, parts: texts }, { ...record, status: 'FAILED' }, flux, [])
  expect(write.changed).toEqual(['head', 'pending'])
  expect(write.context.parts).not.toHaveProperty('pending')
})
