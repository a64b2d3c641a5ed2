// A process of its own with an embedded store, for the tests that kill it. Usage: lmdb-child.ts <task> <folder>
import { listed } from './listed.ts'
import { writeSync } from 'node:fs'
import { openLmdbStore } from '../../src/store/lmdb/store.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { contextOf, writeOf } from './contract-support.ts'
import { silent } from '../support/silent.ts'

const [task, folder = ''] = process.argv.slice(2)
const quiet = (): void => {}
const store = await openLmdbStore({
  folder,
  clock: new SimulatedClock(),
  log: silent,
})

/** At once, so that nothing told is lost when the process is killed; waits while nobody reads. */
function tell(line: string): void {
  for (;;) {
    try {
      writeSync(1, `${line}\n`)
      return
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error
    }
  }
}

const tasks: { readonly [name: string]: () => Promise<void> } = {
  /** Keeps the folder open. */
  async hold() {
    tell('open')
    setInterval(quiet, 1000)
  },

  /** Commits to 16 contexts at once until it is killed; tells each commit that was acknowledged. */
  async write() {
    const { first } = await store.reserveIds({ count: 16, partition: 0 })
    await Promise.all(
      Array.from({ length: 16 }, async (_, index) => {
        for (let version = 1; ; version++) {
          const context = contextOf(first + index, version, { indexKeys: [`version:${version}`], due: version })
          const { ok } = await store.commit({ writes: [writeOf(context, { log: [`${version}`] })] })
          tell(`${ok} ${context.id} ${version}`)
        }
      }),
    )
  },

  /** Writes until the disk takes no more, and tells what the store knows then. */
  async fill() {
    const { first } = await store.reserveIds({ count: 2, partition: 0 })
    await store.commit({
      writes: [writeOf(contextOf(first, 1, { indexKeys: ['before'], due: 5 }), { log: ['before'] })],
    })
    let version = 1
    let failure = ''
    while (failure === '') {
      const write = writeOf(
        contextOf(first, version + 1, {
          indexKeys: ['before', `v${version + 1}`],
          due: 5,
          parts: { big: 'x'.repeat(200_000 * version) },
        }),
        { log: ['more'] },
      )
      const born = writeOf(contextOf(first + 1, version, { indexKeys: ['other'], parts: { big: 'y'.repeat(200_000) } }))
      const [one] = await Promise.allSettled([store.commit({ writes: [write] }), store.commit({ writes: [born] })])
      if (one?.status === 'rejected') failure = String(one.reason)
      else version++
    }
    const small = await store
      .commit({ writes: [writeOf(contextOf(first, version + 1, { indexKeys: ['small'] }), { log: ['small'] })] })
      .catch(String)
    tell(
      JSON.stringify({
        failure,
        version,
        small,
        stored: (await store.load({ id: first }))?.version,
        before: (await listed(store, { all: ['before'], limit: 9 })).length,
        lost: (await listed(store, { all: [`v${version + 1}`], limit: 9 })).length,
        other: (await store.load({ id: first + 1 }))?.version,
        log: (await store.log({ id: first, limit: 1 }))[0],
      }),
    )
    await store.close()
  },
}

await tasks[task ?? '']?.()
