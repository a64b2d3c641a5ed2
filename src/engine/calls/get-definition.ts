// engine/calls: `getDefinition` shows the source of a loaded service, or of the one that a context was started with.
import { check } from '../../api/check.ts'
import { GET_DEFINITION, type DefinitionRequest } from '../../api/get-definition.ts'
import { notFound } from '../../model/failure.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { contextIdOf } from './address.ts'
import { readContext, requireRole, serviceNamed, type CallEnv } from './call-env.ts'

/** See `FluxApi`. */
export async function getDefinition(env: CallEnv, request: DefinitionRequest): Promise<JsonObject> {
  const address = check(GET_DEFINITION, request)
  if (address.contextId === undefined && address.key === undefined) {
    const flux = serviceNamed(env, address)
    requireRole(env, flux, 'read')
    return flux.source
  }
  const contextId = await contextIdOf(env, address, 'read')
  const { source, lost } = (await readContext(env, contextId)).flux
  if (lost !== null) throw notFound(`the definition that context ${contextId} was started with can't be shown: ${lost}`)
  return source
}
