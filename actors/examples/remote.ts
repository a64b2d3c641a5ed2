// A system that is not always there. A real `ask` would call it, and pass `flux.signal` on, so that the call ends when the step times out.
import type { Flux } from 'actorflux'

class NotThere extends Error {
  override readonly name = 'NotThere'
}

export function ask({ failures }: { failures: number }, flux: Flux) {
  flux.log.info('asking', { attempt: flux.attempt })
  if (flux.attempt <= failures) throw new NotThere(`no answer at attempt ${flux.attempt}`)
  return { answer: '42', attempts: flux.attempt }
}
