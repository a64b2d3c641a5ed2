// engine/calls: `getMachine` shows a service as the configuration of a machine of XState.
import { check } from '../../api/check.ts'
import { GET_MACHINE, type MachineRequest } from '../../api/get-machine.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { pictureOf } from '../interpreter/picture.ts'
import type { CallEnv } from './call-env.ts'
import { definitionNamed } from './get-definition.ts'

/** See `FluxApi`. */
export async function getMachine(env: CallEnv, request: MachineRequest): Promise<JsonObject> {
  return pictureOf(await definitionNamed(env, check(GET_MACHINE, request)))
}
