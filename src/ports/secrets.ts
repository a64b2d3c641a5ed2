// ports: the secrets that definitions refer to as `$secrets.NAME`.
import type { SecretRedactor } from '../model/secret-redactor.ts'

export interface ServiceSecrets {
  /** The value, never empty; null: there is none. */
  get(name: string): string | null
  /** Why there is no value: what is set wrongly, or what may be set; without any value. */
  fault(name: string): SecretFault
  /** Hides the values; null: there is nothing to hide. The same one until a value changes. */
  redactor(): SecretRedactor
}

export interface SecretFault {
  readonly reason: string
  /** Whether the secret is set in two ways, which is wrong wherever the services run. */
  readonly isTwofold: boolean
}
