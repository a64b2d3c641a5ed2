// The store of the simulation keeps what the port promises: it stands in for the real ones.
import { SimulatedClock } from '../support/simulated-clock.ts'
import type { OpenStore } from '../store/contract-support.ts'
import { storeContract } from '../store/contract.ts'
import { Memory } from './memory.ts'
import { MemoryStore } from './memory-store.ts'

/** Milliseconds. */
const SILENCE_MS = 1000

storeContract("the simulation's memory", async () => open(1, SILENCE_MS))
storeContract("the simulation's memory, in 5 partitions", async () => open(5, SILENCE_MS))
storeContract("the simulation's memory, of one server at a time", async () => open(1, null))

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
