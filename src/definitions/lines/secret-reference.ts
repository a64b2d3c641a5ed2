// definitions: references to secrets where a file must have one: only "$secrets.NAME", never the secret itself.
import type { Json } from '../../model/json/value.ts'
import { referredSecret, SECRETS, secretNameFault } from '../../model/secret-reference.ts'
import type { Report, SecretReference } from '../report.ts'

/**
 * NAME of the reference; null after a fault. No message contains what was written, which may be a secret.
 *
 * @param faultOf why a value can't be used here, known only where services are run
 */
export function compileReference(
  source: Json | undefined,
  pointer: string,
  report: Report,
  faultOf: SecretReference['faultOf'],
): string | null {
  const name = typeof source === 'string' ? referredSecret(source) : null
  if (name === null) {
    report.fault(pointer, 'must be "$secrets.NAME": a secret itself would be shown with the definition')
    return null
  }
  const fault = secretNameFault(name)
  if (fault !== null) {
    report.fault(pointer, fault)
    return null
  }
  report.refer({ pointer, name, faultOf })
  return name
}

/** The fault of an expression that names `$secrets` where none is visible. */
export const NO_SECRETS =
  '$secrets is visible only in "verify" of a webhook, in "onEnd", and in the inputs of an invokeCode'

/** The fault of another use of the name. */
export const RESERVED = `${SECRETS} stands for the secrets, and for nothing else`
