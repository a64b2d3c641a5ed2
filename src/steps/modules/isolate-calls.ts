// steps: what an isolated function asks of the server is done here, and its outcome is sent back as data.
import { FluxError } from '../../model/failure.ts'
import type { Flux } from '../../ports/step-runner.ts'
import { describeThrown } from '../processes/remote-error.ts'
import type { FromIsolate, ToIsolate } from './isolate-process.ts'

/**
 * Makes a call of a function. It never rejects.
 * @param flux null when the function has ended
 */
export async function answerCall(
  { call, method, request }: FromIsolate & { kind: 'call' },
  flux: Flux | null,
): Promise<ToIsolate> {
  try {
    if (!flux) throw new Error('the function has ended: it can make no more calls')
    const answer: unknown = await Reflect.apply(flux[method], flux, [JSON.parse(request)])
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
