// The store in memory keeps what the port promises: in the tests of the engine it stands in for the real ones.
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import type { OpenStore } from './contract-support.ts'
import { storeContract } from './contract.ts'
import { Memory } from '../../src/store/memory/memory.ts'
import { MemoryStore } from '../../src/store/memory/memory-store.ts'

/** Milliseconds. */
const SILENCE_MS = 1000

storeContract('memory', async () => open(1, SILENCE_MS))
storeContract('memory, in 5 partitions', async () => open(5, SILENCE_MS))
storeContract('memory, of one server at a time', async () => open(1, null))

function open(partitions: number, silence: number | null): Awaited<ReturnType<OpenStore>> {
  const clock = new SimulatedClock()
  const memory = new Memory({ now: () => clock.now(), partitions, silence })
  let store = new MemoryStore(memory)
  return {
    store,
    now: () => clock.now(),
    lapse: async (milliseconds) => clock.jump(milliseconds),
    async reopen() {
      await store.close()
      store = new MemoryStore(memory)
      return store
    },
    async pass() {
      for (let part = 0; part < 3; part += 1) {
        clock.jump(SILENCE_MS / 2)
        await store.heartbeat({ owner: 'me' })
      }
    },
    close: () => store.close(),
  }
}
