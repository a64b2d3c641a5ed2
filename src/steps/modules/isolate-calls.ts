// steps: performs the API calls of isolated functions in the server, and returns the outcome as data.
import { FluxError } from '../../model/failure.ts'
import type { StepFlux } from '../../ports/steps.ts'
import { describeThrown } from '../processes/remote-error.ts'
import type { FromIsolate, ToIsolate } from './isolate-process.ts'

/**
 * Performs a call of an isolated function. Never rejects.
 * @param flux null when the function has ended
 */
export async function answerCall(
  { call, method, request }: FromIsolate & { kind: 'call' },
  flux: StepFlux | null,
): Promise<ToIsolate> {
  try {
    if (!flux) throw new Error('the function has ended: it can make no more calls')
    const answer: unknown = await Reflect.apply(Reflect.get(flux, method), flux, [JSON.parse(request)])
    return { kind: 'answer', call, json: JSON.stringify(answer ?? null) }
  } catch (error) {
    return {
      kind: 'refusal',
      call,
      failure: error instanceof FluxError ? error.failure : null,
      thrown: describeThrown(error),
    }
  }
}
