// testing: secrets that a test gives.
import { SecretRedactor } from '../model/secret-redactor.ts'
import type { ServiceSecrets } from '../ports/secrets.ts'

/** Values of `$secrets`, by name. They may change later. */
export const secretsOf = (values: { readonly [name: string]: string }): ServiceSecrets => ({
  get: (name) => values[name] ?? null,
  fault: (name) => ({ reason: `there is no secret ${name}`, isTwofold: false }),
  redactor: () => SecretRedactor.ofSecrets(Object.values(values)),
})
