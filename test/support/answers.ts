// What calls tell of their answers besides, kept for tests that have the answers alone.
import { apiOf, type Calls, type FluxApi, type Told } from '../../src/api/calls.ts'

const tolds = new WeakMap<object, Told<object>>()

/** The methods of those calls. */
export const notedApi = (calls: Calls): FluxApi =>
  apiOf({
    ...calls,
    async ask(name, request, more) {
      const told = await calls.ask(name, request, more)
      if (told.replayed || told.ended) tolds.set(told.answer, told)
      return told
    },
  })

/** Whether that answer was given before. */
export const isReplayed = (answer: unknown): boolean =>
  typeof answer === 'object' && answer !== null && tolds.get(answer)?.replayed === true

/** When the event of an accepted one was sent to all, as far as its server does it; null: it is no such answer. */
export const endOfAccepted = (answer: object): Promise<void> | null => tolds.get(answer)?.ended ?? null
