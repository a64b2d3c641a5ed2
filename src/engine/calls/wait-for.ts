// engine/calls: `waitFor` holds the request until a context gets somewhere.
import type { CheckedCall } from '../../api/calls.ts'
import type { ContextView } from '../../api/contexts.ts'
import type { CompiledFlux } from '../../definitions/flux.ts'
import { isFinished } from '../../model/context.ts'
import { FluxError, invalid, malformed } from '../../model/failure.ts'
import { suggestion } from '../../model/nearest.ts'
import type { ContextRecord, Move } from '../../model/record.ts'
import { describeInputErrors } from '../interpreter/describe.ts'
import { HEAD } from '../record/decode.ts'
import { hasEntered, standsSo, type Condition } from '../waits/condition.ts'
import type { HeldRequest, WaitOutcome } from '../waits/waits.ts'
import { contextIdOf } from './address.ts'
import type { CallEnv } from './call-env.ts'
import { readContext } from './contexts.ts'
import { checkedTags } from './requests.ts'

/** States that one call may wait for. */
const MAX_STATES = 1000

/**
 * See `FluxApi`. @throws FluxError `waitTimeout`, `conflict`, `notFound`, `invalid` for states that the definition lacks,
 * `overloaded`, `unavailable`; what `signal` says
 */
export async function waitFor(
  env: CallEnv,
  request: CheckedCall<'waitFor'>,
  signal: AbortSignal | undefined,
): Promise<ContextView> {
  const { status = [], state = [], tag, timeout, ...address } = request
  const tags = checkedTags(tag, '/tag', env.tagLimits)
  if (status.length + state.length + tags.length === 0) throw malformed('no status, state or tag to wait for is given')
  // What may be waited for is small: it is kept as long as the request is held.
  if (state.length > MAX_STATES) throw malformed(`more than ${MAX_STATES} states are given`)
  const wanted = { statuses: [...new Set(status)], stateNames: state, tags, timeout: timeout * 1000 }
  const { contextId } = address
  const wait = env.waits.join(contextId ?? (await contextIdOf(env, address, 'read')), env)
  try {
    const outcome = await begin(env, wait, wanted, signal)
    return await conclude(env, wait, outcome)
  } finally {
    env.waits.leave(wait)
  }
}

interface Wanted extends Omit<Condition, 'states'> {
  readonly stateNames: readonly string[]
  /** Milliseconds. */
  readonly timeout: number
}

/** No async function: it would keep what was read for as long as the request is held. */
const begin = (
  env: CallEnv,
  wait: HeldRequest,
  { statuses, stateNames, tags, timeout }: Wanted,
  signal: AbortSignal | undefined,
): Promise<WaitOutcome> =>
  readContext(env, { contextId: wait.id }, HEAD, ({ record, flux }) => {
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
