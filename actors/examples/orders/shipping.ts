// Parcels that only get a number here. A real one would call a carrier and hand it the step key.
import type { Flux } from 'actorflux'

class NoRoute extends Error {
  override readonly name = 'NoRoute'
}

export function ship({ country }: { country: string }, { stepKey }: Flux) {
  if (country === 'Atlantis') throw new NoRoute('no ship goes to Atlantis')
  return { tracking: `${country}-${stepKey}` }
}

/** Tells the other services, in process: no HTTP in between. If the step runs twice, so does what the event starts. */
export async function announce({ orderId, tracking }: { orderId: string; tracking: string }, flux: Flux) {
  const { executions } = await flux.sendEvent({
    event: 'orderShipped',
    input: { orderId, tracking },
    tags: [`order-${orderId}`],
  })
  return { started: executions.length }
}
