// engine/calls: `getMachine` shows a service as the configuration of a machine of XState.
import type { CheckedCall } from '../../api/calls.ts'
import type { JsonObject } from '../../model/json/value.ts'
import { pictureOf } from '../interpreter/picture.ts'
import type { CallEnv } from './call-env.ts'
import { definitionNamed } from './get-definition.ts'

/** See `FluxApi`. */
export async function getMachine(env: CallEnv, request: CheckedCall<'getMachine'>): Promise<JsonObject> {
  return pictureOf(await definitionNamed(env, request))
}
