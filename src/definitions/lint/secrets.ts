// definitions: checks that the secrets exist to which services refer, and can be used where they are.
import type { ServiceSecrets } from '../../ports/secrets.ts'
import type { Report } from '../report.ts'

export interface SecretCheck {
  readonly secrets: Pick<ServiceSecrets, 'get' | 'fault'>
  /**
   * Whether the services are to run with these secrets. Otherwise they may run elsewhere, so that a missing secret is a
   * warning, and values are not judged.
   */
  readonly isServing: boolean
}

export function checkSecrets(report: Report, { secrets, isServing }: SecretCheck): void {
  for (const { pointer, name, faultOf } of report.secrets) {
    const value = secrets.get(name)
    if (value === null) {
      const { reason, isTwofold } = secrets.fault(name)
      if (isServing || isTwofold) report.fault(pointer, reason)
      else report.warn(pointer, reason)
      continue
    }
    const fault = isServing ? faultOf(value) : null
    if (fault !== null) report.fault(pointer, `the secret ${name} can't be used here: ${fault}`)
  }
}
