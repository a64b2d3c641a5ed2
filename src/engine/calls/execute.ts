// engine/calls: `execute` starts a context of a loaded service, and answers once the start is committed.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ExecuteAnswer, ExecuteRequest } from '../../api/execute.ts'
import { holderIn } from '../start-key.ts'
import { admitted, isRefusable, requireRole, serviceNamed, type CallEnv } from './call-env.ts'
import { executeRequest } from './requests.ts'

/** See `FluxApi`. */
export async function execute(env: CallEnv, request: ExecuteRequest): Promise<ExecuteAnswer> {
  const wanted = executeRequest(request, env.tagLimits)
  if (wanted.isLarge) await nextTurn()
  const flux = serviceNamed(env, wanted)
  requireRole(env, flux, 'invoke')
  const { startState, input, untyped, waits, tags, key } = wanted
  const existing = wanted.existing === 'replace' ? { caller: env.caller } : wanted.existing
  try {
    const { record, replaced } = await admitted(env, input, () =>
      env.mailboxes.start(
        { flux, startState, input, untyped, unknown: 'refuse', tags, trigger: null, key, existing },
        { isCall: isRefusable(env, waits) },
      ),
    )
    const { id: contextId } = record
    const message = `started '${flux.fluxName}' as context ${contextId}`
    return { message, contextId, started: true, ...(replaced && { replaced }) }
  } catch (error) {
    const holder = existing === 'use' ? holderIn(error) : null
    if (holder === null) throw error
    return { message: `context ${holder} of '${flux.fluxName}' has the key already`, contextId: holder, started: false }
  }
}
