// engine/calls: `waitFor` holds the request until a context gets somewhere.
import type { CheckedCall } from '../../api/calls.ts'
import type { ContextView } from '../../api/contexts.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { isFinished } from '../../model/context.ts'
import { FluxError, invalid } from '../../model/failure.ts'
import { suggestion } from '../../model/nearest.ts'
import type { ContextRecord, Move } from '../../model/record.ts'
import { HEAD } from '../record/decode.ts'
import { hasEntered, standsSo, type Condition } from '../waits/condition.ts'
import type { HeldRequest, WaitOutcome } from '../waits/waits.ts'
import { contextIdOf } from './address.ts'
import { readContext, type CallEnv } from './call-env.ts'
import { describeInputErrors } from '../interpreter/describe.ts'
import { waitRequest } from './requests.ts'

/**
 * See `FluxApi`. @throws FluxError `waitTimeout`, `conflict`, `notFound`, `invalid` for states that the definition lacks,
 * `overloaded`, `unavailable`; what `signal` says
 */
export async function waitFor(
  env: CallEnv,
  request: CheckedCall<'waitFor'>,
  signal: AbortSignal | undefined,
): Promise<ContextView> {
  const wanted = waitRequest(request, env.tagLimits)
  const { contextId } = wanted.address
  const wait = env.waits.join(contextId ?? (await contextIdOf(env, wanted.address, 'read')), env)
  try {
    const outcome = await begin(env, wait, wanted, signal)
    return await conclude(env, wait, outcome)
  } finally {
    env.waits.leave(wait)
  }
}

/** No async function: it would keep what was read for as long as the request is held. */
const begin = (
  env: CallEnv,
  wait: HeldRequest,
  { statuses, stateNames, tags, timeout }: ReturnType<typeof waitRequest>,
  signal: AbortSignal | undefined,
): Promise<WaitOutcome> =>
  readContext(env, wait.id, HEAD, ({ record, flux }) => {
    const condition = { statuses, states: statesOf(flux, stateNames), tags }
    return { record, condition }
  }).then(({ record, condition }) => env.waits.hold(wait, record, { condition, timeout, signal }))

function statesOf({ fluxName, stateIndex }: CompiledFlux, names: readonly string[]): number[] {
  const errors = names.flatMap((name, at) =>
    stateIndex.has(name)
      ? []
      : [{ pointer: `/state/${at}`, detail: `is no state of '${fluxName}'${suggestion(name, stateIndex.keys())}` }],
  )
  if (errors.length > 0) throw invalid(describeInputErrors(errors), errors)
  return [...new Set(names.flatMap((name) => stateIndex.get(name) ?? []))]
}

async function conclude({ shown }: CallEnv, wait: HeldRequest, outcome: WaitOutcome): Promise<ContextView> {
  const { record, moves, view } = await shown.show(wait.id)
  if (outcome === 'there' || (wait.condition && isThere(wait.condition, wait.seen, record, moves))) return view
  const { id, status } = record
  if (isFinished(status))
    throw new FluxError({ kind: 'conflict', detail: `context ${id} has ended: ${status}`, context: view })
  throw new FluxError({ kind: 'waitTimeout', detail: `context ${id} did not get there in time`, context: view })
}

/** Another server may have brought it there, and that was not heard. */
const isThere = (condition: Condition, seen: number | null, record: ContextRecord, moves: readonly Move[]): boolean =>
  standsSo(condition, record) || hasEntered(condition, moves, record.moves - (seen ?? record.moves))
