// testing: an engine on a store in memory and a clock that stands still, and the engines that follow it after a crash.
import { localAlarm } from '../alarms/local.ts'
import { createEngine, type EngineParts } from '../engine/engine.ts'
import { STORE_ID_ROW } from '../engine/contexts/ids.ts'
import { drawnFrom } from '../engine/idempotency/kept-answer.ts'
import { createWebhookApp } from '../http/app.ts'
import { limitsOf, MAX_PARTS, memoryOf } from '../main/limits.ts'
import { SecretRedactor } from '../model/secret-redactor.ts'
import type { Clock } from '../ports/clock.ts'
import { atEachLevel, type Log } from '../ports/log.ts'
import type { ServiceSecrets } from '../ports/secrets.ts'
import { readSettings } from '../settings.ts'
import { Memory } from '../store/memory/memory.ts'
import { MemoryStore } from '../store/memory/memory-store.ts'
import type { SimulatedClock } from './simulated-clock.ts'

/** Those of a server, if nothing is set. */
export const SETTINGS = readSettings({})

/** Values of `$secrets`, by name. They may change later. */
export const secretsOf = (values: { readonly [name: string]: string }): ServiceSecrets => ({
  get: (name) => values[name] ?? null,
  fault: (name) => ({ reason: `there is no secret ${name}`, isTwofold: false }),
  redactor: () => SecretRedactor.ofSecrets(Object.values(values)),
})

/** The parts of an engine of a test, with the limits of a server. Nothing is deleted, unless a retention is given. */
export const engineParts = (
  given: Pick<EngineParts, 'store' | 'catalog' | 'runner' | 'clock' | 'log' | 'webhookSender'> & Partial<EngineParts>,
): EngineParts => ({
  ...limitsOf(SETTINGS),
  alarm: localAlarm({ ...given, maxSleepMs: Infinity }),
  memory: memoryOf(SETTINGS),
  others: null,
  retention: Infinity,
  ...given,
})

export interface WorldParts extends Pick<EngineParts, 'catalog' | 'runner' | 'log' | 'signals' | 'webhookSender'> {
  readonly clock: SimulatedClock
  readonly secrets: ServiceSecrets
  /** What is drawn by chance follows from it. */
  readonly seed: number
}

export type World = Awaited<ReturnType<typeof openWorld>>

export async function openWorld({ seed, clock, log, secrets, ...parts }: WorldParts) {
  const memory = new Memory({ now: () => clock.now(), silence: null })
  // It is part of the ids of webhooks.
  memory.rows.write([{ ...STORE_ID_ROW, value: 'test', expiresAt: null }])
  const { random, uuid } = drawnFrom({ seed: String(seed), now: 0 }, 'test')()

  /** An engine whose timers, log and store are its own, so that nothing of it is left when it ends. */
  function begin() {
    let isAlive = true
    const store = new MemoryStore(memory)
    const own: Clock = {
      now: () => clock.now(),
      after: (milliseconds, callback) =>
        clock.after(milliseconds, () => {
          if (isAlive) callback()
        }),
    }
    const ownLog: Log = atEachLevel((level) => (...line) => {
      if (isAlive) log[level](...line)
    })
    const engine = createEngine(engineParts({ ...parts, secrets, store, clock: own, log: ownLog, random, uuid }))
    const kill = () => {
      isAlive = false
      void store.close()
    }
    const { requests: inFlight, ...budgets } = memoryOf(SETTINGS)
    const { webhooks } = engine
    const appParts = { ...SETTINGS, ...budgets, inFlight, maxParts: MAX_PARTS, webhooks, clock, log, secrets }
    return { engine, api: engine.local(), webhookApp: () => createWebhookApp(appParts), kill }
  }

  let present = begin()
  await present.engine.start()
  return {
    present: () => present,
    /** As after kill -9: what runs ends without a trace, and another engine takes over. */
    async crash() {
      await clock.idle()
      present.kill()
      memory.reopen()
      present = begin()
      await present.engine.start()
      await clock.idle()
    },
    /** In order, if that is of use to a step that is under way: it takes longer than many a test. */
    async close() {
      const { steps } = await present.engine.health()
      if (steps.some(({ taken }) => taken > 0)) await present.engine.close({ grace: 0 })
      present.kill()
    },
  }
}
