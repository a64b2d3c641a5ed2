// Money that is sent back, in memory. A real one would call a bank and hand it the step key, so that the bank pays once however often it is asked.
import type { Flux } from 'actorflux'

const refunds = new Map<string, number>()

export function refund({ amount }: { amount: number }, { stepKey }: Flux) {
  refunds.set(stepKey, amount)
  return { refund: `refund-${stepKey}`, amount }
}
