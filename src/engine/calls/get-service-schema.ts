// engine/calls: `getServiceSchema` shows the JSON Schemas of a loaded service: of the inputs of a start, and of its outputs.
import { check } from '../../api/check.ts'
import { GET_SERVICE_SCHEMA, type SchemaRequest, type ServiceSchemaView } from '../../api/get-service-schema.ts'
import { outputSchema, startSchema } from '../../definitions/json-schema/values-schema.ts'
import { requireRole, serviceNamed, type CallEnv } from './call-env.ts'

/** See `FluxApi`. */
export async function getServiceSchema(env: CallEnv, request: SchemaRequest): Promise<ServiceSchemaView> {
  const flux = serviceNamed(env, check(GET_SERVICE_SCHEMA, request))
  requireRole(env, flux, 'read')
  const { package: owner, fluxName, hash: definition } = flux
  return { package: owner, fluxName, definition, input: startSchema(flux), output: outputSchema(flux) }
}
