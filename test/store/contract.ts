// What the store port promises, as tests that any adapter must pass.
import { describe } from 'vitest'
import { commitPromises } from './contract-commits.ts'
import { endPromises } from './contract-ends.ts'
import { modelPromises } from './contract-model.ts'
import { queryPromises } from './contract-queries.ts'
import { rowModelPromises } from './contract-row-model.ts'
import { rowPromises } from './contract-rows.ts'
import { selectionPromises } from './contract-selections.ts'
import { scenarios, type OpenStore } from './contract-support.ts'
import { timePromises } from './contract-time.ts'
import { uniquePromises } from './contract-uniques.ts'

export type { OpenStore } from './contract-support.ts'

/** `open` gives an empty store, for one test each time. */
export function storeContract(name: string, open: OpenStore): void {
  describe(`the store port, on ${name}`, () => {
    const test = scenarios(open)
    commitPromises(test)
    queryPromises(test)
    selectionPromises(test)
    timePromises(test)
    endPromises(test)
    rowPromises(test)
    uniquePromises(test)
    modelPromises(open)
    rowModelPromises(open)
  })
}
