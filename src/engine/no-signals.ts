// engine: tells nobody what it does, where nobody asks.
import type { Signals } from '../ports/signals.ts'

const nothing = (): void => {}

export const NO_SIGNALS: Signals = {
  event: nothing,
  moves: nothing,
  step: nothing,
  stepBegan: nothing,
  stepEnded: nothing,
  commit: nothing,
  conflict: nothing,
  lateness: nothing,
  depth: nothing,
  delivery: nothing,
  unmatchedDelivery: nothing,
}
