// That the store's indexes agree with its records.
import { CONTEXT_STATUSES, type ContextRecord, isFinished } from '../../src/model/context.ts'
import { keysOfReceivers, keysOfList } from '../../src/engine/record/index-keys.ts'
import type { Ledger } from './ledger.ts'
import type { Memory } from '../../src/store/memory/memory.ts'
import { MemoryStore } from '../../src/store/memory/memory-store.ts'

const UNFINISHED = CONTEXT_STATUSES.filter((status) => !isFinished(status))

/** Whoever is looked for by what he is, is found, and nobody else. */
export async function checkIndexes(
  records: readonly ContextRecord[],
  { memory, ledger }: { readonly memory: Memory; readonly ledger: Ledger },
  wrong: (what: string) => void,
): Promise<void> {
  const store = new MemoryStore(memory)
  const check = async (what: string, any: readonly (readonly string[])[], test: (record: ContextRecord) => boolean) => {
    const { ids: found } = await store.selectIds({ any, order: 'asc', limit: Infinity })
    const expected = records
      .filter(test)
      .map(({ id }) => id)
      .sort((a, b) => a - b)
    if (found.join() !== expected.join()) wrong(`${what} are ${expected.join()}, and found are ${found.join()}`)
  }
  for (const status of CONTEXT_STATUSES)
    await check(`those that are ${status}`, keysOfList({}, [status]), (record) => record.status === status)
  await check('the unfinished', keysOfList({}, UNFINISHED), ({ status }) => !isFinished(status))
  await check(
    'those with the tag red',
    keysOfList({ tag: ['red'] }, UNFINISHED),
    ({ status, tags }) => !isFinished(status) && tags.includes('red'),
  )
  for (const name of new Set(records.map(({ fluxName }) => fluxName)))
    await check(
      `those of ${name}`,
      keysOfList({ fluxName: name }, UNFINISHED),
      ({ status, fluxName }) => !isFinished(status) && fluxName === name,
    )
  await check(
    'those in Listen',
    keysOfList({ currentState: 'Listen' }, UNFINISHED),
    (record) => !isFinished(record.status) && ledger.stateOf(record) === 'Listen',
  )
  for (const tags of [[], ['red']]) {
    const any = keysOfReceivers('add', tags).map((key) => [key])
    const { ids: found } = await store.selectIds({ any, order: 'asc', limit: Infinity })
    const waits = (record: ContextRecord) =>
      record.position.phase === 'waiting' &&
      record.fluxName !== 'Child' &&
      record.fluxName !== 'Late' &&
      (record.tags.length === 0 ? tags.length === 0 : tags.some((tag) => record.tags.includes(tag)))
    const expected = records
      .filter(waits)
      .map(({ id }) => id)
      .sort((a, b) => a - b)
    if (found.join() !== expected.join()) wrong(`those that hear are ${expected.join()}, and found are ${found.join()}`)
  }
}
