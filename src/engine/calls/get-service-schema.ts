// engine/calls: `getServiceSchema` shows the JSON Schemas of a loaded service: of the inputs of a start, and of its outputs.
import type { CheckedCall } from '../../api/calls.ts'
import type { ServiceSchemaView } from '../../api/services.ts'
import { outputSchema, startSchema } from '../../definitions/json-schema/values-schema.ts'
import { requireRole, type CallEnv } from './call-env.ts'
import { serviceNamed } from './named-service.ts'

/** See `FluxApi`. */
export async function getServiceSchema(
  env: CallEnv,
  request: CheckedCall<'getServiceSchema'>,
): Promise<ServiceSchemaView> {
  const flux = serviceNamed(env, request)
  requireRole(env, flux, 'read')
  const { package: owner, fluxName, hash: definition } = flux
  return { package: owner, fluxName, definition, input: startSchema(flux), output: outputSchema(flux) }
}
